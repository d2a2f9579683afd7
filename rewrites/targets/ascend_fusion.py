"""What the compilers of Ascend fuse: a cube operator (Conv, ConvTranspose, MatMul, Gemm) and what follows it.

Here are the laws of what follows; those of the cube operator are in `fused_cube`.

f(Kernel[..](xs)) -> Kernel[.., f](xs)
Kernel[..](xs) + y -> Kernel[.., +](xs, y)
Kernel[..](xs) * Conv(xs) -> Kernel[.., * Conv](xs)

Sources: Ascend/mstt op_fusion_pass.yaml; Ascend/msadvisor CUBE_operator_fuse_rules.csv.  What a chip fuses of
it, its cost model says: the ruleset runs for cost models that publish the limit `fused_stages`.
"""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Operands, guard, hosted, kernel, laws_of, ne, rewrite
from egraph_opt.laws.sorts import Int, Settings, String, Tensor, Tensors
from egraph_opt.operators import binary, unary
from egraph_opt.operators.terms import cons, limit, nil
from egraph_opt.rewrites.conditions.chains import standing, stands
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.targets.fused_cube import Cube, all_constant, example_products, fused_cube
from egraph_opt.rewrites.targets.stages import (
    PSEUDO,
    Stages,
    keeps_result,
    then_binary,
    then_gate,
    then_unary,
)

law = laws_of("ascend.fusion", numerics="bitwise", kind="fuse", serves="target")


@hosted()
def stays_outside(cube: Cube, operands: tuple[Fact, ...], stages: Stages, op: str, other: Fact) -> bool:
    """No other law makes the other operand, or the stage before, part of the cube operator's weights.

    There it is for one element a channel: the kernel of those is enough (x + 3 may belong to an activation).
    """
    if stages or not other.const:
        return cube[0] == "matmul" or len(stages) != 1 or stages[0][2] != "constant"
    if op not in ("Add", "Sub", "Mul", "Div") or not all_constant(operands[1], operands[-1]):
        return True
    if cube[0] == "matmul" and op in ("Add", "Sub"):
        return True
    extents = [d for d in other.shape or () if d != 1]
    return not (len(extents) == 1 or (not extents and op != "Add"))


_REQUIRED = ("ascend.fusion.cube_kernel",)


def _unary_examples(rng):
    g = Operands(rng)
    image, product = example_products(g)
    for op, settings in (
        ("Relu", ()),
        ("Clip", (("max", 6.0), ("min", 0.0))),
        ("LeakyRelu", (("alpha", 0.1),)),
    ):
        yield g.fires(unary(op, settings, image), fused_stages=2)
        yield g.fires(unary(op, settings, product), fused_stages=2)
    yield g.near_miss(unary("Sin", (), image), why="no compiler fuses Sin", fused_stages=2)
    yield g.near_miss(unary("Relu", (), g.input(("N", 3, 4, 4))), why="no cube operator", fused_stages=2)


@law(source="Ascend/msadvisor CUBE_operator_fuse_rules.csv", examples=_unary_examples, required=_REQUIRED)
def unary_stage(op: String, s: Settings, k: Cube, e: Stages, xs: Tensors, ys: Tensors):
    """f(Kernel[..](xs)) = Kernel[.., f](xs)"""
    inner = fused_cube(k, e, xs, ys)
    left, wider = unary(op, s, inner), then_unary(e, op, s, limit("fused_stages"))
    yield rewrite(left, fused_cube(k, wider, xs, ys), guard(ne(left, inner)), because=PSEUDO)


def _binary_examples(rng):
    g = Operands(rng)
    image, product = example_products(g)
    residual = g.input(("N", 4, "L", 5))
    for op, left, right, fires in (
        ("Sub", image, residual, True),
        ("PRelu", image, residual, True),
        ("PRelu", product, g.random(4), True),
        ("Add", product, g.random(4), True),
        ("Sub", g.random(4, 5, 5), example_products(g, rows=5)[0], True),
        ("Mul", g.input((1, 4)), product, True),
        ("Add", image, g.constant(np.float32(3)), True),
        ("Add", product, g.input((3, 2, 1, 4)), False),  # the rank is higher
        ("Add", example_products(g, rows=1)[1], g.input((2, 7, 4)), False),  # the result is larger
        ("Mul", product, g.random(4), False),  # it goes into the weights
        ("Add", image, g.random(1, 4, 1, 1), False),
        ("Greater", product, g.random(4), False),
    ):
        term = binary(op, left, right)
        yield (
            g.fires(term, fused_stages=2)
            if fires
            else g.near_miss(term, why="no stage of it", fused_stages=2)
        )


@law(
    source="Ascend/mstt op_fusion_pass.yaml (TbeConvAddFusion, MatMul and BMM with Elementwise)",
    examples=_binary_examples,
    required=_REQUIRED,
    uses=(either_side, standing),
)
def binary_stage(op: String, y: Tensor, k: Cube, e: Stages, xs: Tensors, ys: Tensors, i: Int):
    """Kernel[..](xs) + y = Kernel[.., +](xs, y)

    y broadcasts into the kernel's result; Sub, Mul, Div, Pow and PRelu likewise, on either side.  Scales and
    shifts of channels right behind a cube operator are left to the laws that fold them into its weights.
    """
    inner = fused_cube(k, e, xs, ys)
    left = beside(op, y, inner, i)
    wider = fused_cube(k, then_binary(e, op, i, y, limit("fused_stages")), xs, cons(y, ys))
    demand = guard(ne(left, inner), stays_outside(k, xs, e, op, y), stands(op, inner, y))
    yield rewrite(left, wider, kernel(keeps_result(y, inner)), demand, because=PSEUDO)


def _gate_examples(rng):
    g = Operands(rng)
    for product in example_products(g):
        gate = unary("Sigmoid", (), product)
        yield g.fires(product * gate, fused_stages=2)
        yield g.fires(gate * product, fused_stages=2)
        yield g.fires(product * (product + g.constant(np.float32(3))), fused_stages=2)
        yield g.near_miss(product * gate, why="stages are used up", fused_stages=1)
    yield g.near_miss(example_products(g)[1] * gate, why="two cube operators", fused_stages=2)


@law(
    source="Ascend/mstt op_fusion_pass.yaml (Conv + Sigmoid + Mul, hard-swish)",
    examples=_gate_examples,
    required=(*_REQUIRED, "ascend.fusion.binary_stage", "ascend.fusion.unary_stage"),
    uses=(either_side,),
)
def gate_stage(op: String, k: Cube, e: Stages, xs: Tensors, ys: Tensors, i: Int):
    """Kernel[..](xs) * Conv(xs) = Kernel[.., * Conv](xs)

    Activations that are spelled out use the cube operator's result twice: Mul(y, Sigmoid(y)), or
    Mul(y, Clip(Add(y, 3))).
    """
    inner, bare = fused_cube(k, e, xs, ys), fused_cube(k, (), xs, nil())
    left = beside(op, bare, inner, i)
    wider = fused_cube(k, then_gate(e, op, i, limit("fused_stages")), xs, ys)
    yield rewrite(left, wider, guard(ne(left, inner)), because=PSEUDO)
