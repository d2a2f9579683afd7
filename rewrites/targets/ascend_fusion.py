"""What the compilers of Ascend fuse: a cube operator (Conv, ConvTranspose, MatMul, Gemm) and what follows it.

A kernel is one cube operator with element-wise stages on its result, written as one pseudo-operator whose
operands are the outer ones of all.  It says what is executed at once, not what is computed, and is erased
when the graph is rebuilt; whoever needs an inner value pays for that again.

    Conv(x, w, b) = Kernel[Conv](x, w, b)
    f(Kernel[..](xs)) = Kernel[.., f](xs)
    Kernel[..](xs) + y = Kernel[.., +](xs, y)
    Kernel[..](xs) * Conv(xs) = Kernel[.., * Conv](xs)

Sources: Ascend/mstt op_fusion_pass.yaml; Ascend/msadvisor CUBE_operator_fuse_rules.csv.  What a chip fuses of
it, its cost model says: the ruleset runs for cost models that publish the limit `fused_stages`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import Equal, PyObject, String, closure, eq, holds, i64, let, ne, rewrite, rule, set_
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    ConvWindow,
    GemmSettings,
    OnnxForm,
    binary,
    conv,
    conv_transpose,
    gemm,
    matmul,
    none,
    operator,
    operator_named,
    unary,
)
from egraph_opt.operators.declaration import COMMUTATIVE, PSEUDO_DOMAIN, Earlier, Step
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, facts, limit, nil

Cube = tuple[str, tuple[Any, ...]]
"""An operator of the cube unit: name and attributes."""

Stage = tuple[str, tuple[Any, ...], str, int]
"""An element-wise stage: ONNX operator, its attributes, its other operand and that operand's position.  The
operand is "" where there is none, "value" or "constant" for a tensor from outside, "cube" for the cube
operator's own result."""

OUTSIDE = ("value", "constant")

UNARY = frozenset(
    ["Abs", "Ceil", "Clip", "Elu", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Neg",
     "Relu", "Selu", "Sigmoid", "Softplus", "Sqrt", "Tanh"]
)  # fmt: skip
BINARY = frozenset(["Add", "Div", "Mul", "PRelu", "Pow", "Sub"])

_OPERANDS = {"conv": 3, "conv_transpose": 3, "gemm": 3, "matmul": 2}
_FLOATS = frozenset((1, 10, 16))


def _expand(attributes: tuple[Cube, tuple[Stage, ...]]) -> tuple[Step, ...]:
    (name, settings), stages = attributes
    first = _OPERANDS[name]
    steps = [Step(name, settings, tuple(range(first)))]
    values = sum(source in OUTSIDE for _, _, source, _ in stages)
    for op, own, source, position in stages:
        result = Earlier(len(steps) - 1)
        if not source:
            steps.append(Step("unary", (op, own), (result,)))
            continue
        other: int | Earlier = Earlier(0)
        if source in OUTSIDE:
            values -= 1
            other = first + values  # the last stage's operand stands first
        steps.append(Step("binary", (op,), (other, result) if position == 0 else (result, other)))
    return tuple(steps)


def _form(opset: int, attributes: tuple[Cube, tuple[Stage, ...]], facts: tuple[Fact, ...]) -> OnnxForm | None:
    """FusedCube: the cube operator's inputs, then those of the stages in their order.

    Attributes: `cube` (ONNX operator), `settings` (its attributes), `operands` (how many inputs are its own),
    `stages`.
    """
    (name, settings), stages = attributes
    first = _OPERANDS[name]
    cube = operator_named(name).form(opset, settings, facts[:first])  # type: ignore[misc]
    if cube is None:
        return None
    others = tuple(reversed(range(first, len(facts))))
    described = (
        ("cube", cube.op_type),
        ("operands", len(cube.inputs)),
        ("settings", cube.attributes),
        ("stages", stages),
    )
    return OnnxForm("FusedCube", (*cube.inputs, *others), described, PSEUDO_DOMAIN)


@operator(form=_form, expand=_expand)
def fused_cube(cube: PyObject, stages: PyObject, operands: Tensors, others: Tensors) -> Tensor:
    """One kernel: a `Cube` on `operands`, then `stages` (a tuple of `Stage`), whose operands from outside are
    `others`, the last one first."""


# --- the cube operator -----------------------------------------------------------------------------------


@hosted()
def image_cube(name: str, window: ConvWindow, x: Fact) -> Cube | None:
    """A convolution in two or three dimensions; in one there is a squeeze before what follows."""
    return (name, (window,)) if _runs(x) and x.rank is not None and x.rank >= 4 else None


@hosted()
def product_cube(x: Fact, y: Fact) -> Cube | None:
    return ("matmul", ()) if _runs(x) or _runs(y) else None


@hosted()
def gemm_cube(settings: GemmSettings, x: Fact, y: Fact) -> Cube | None:
    return ("gemm", (settings,)) if _runs(x) or _runs(y) else None


def _runs(x: Fact) -> bool:
    """A float value that is computed when the model runs."""
    return x.dtype in _FLOATS and not x.const


def _kernel_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 3, "L", 5)), g.random(4, 3, 3, 3), g.random(4)
    window = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
    yield g.fires(conv(x, w, b, window), fused_stages=1)
    yield g.fires(conv(x, w, none(), window), fused_stages=1)
    yield g.fires(
        conv_transpose(x, g.random(3, 4, 2, 2), b, ConvWindow((2, 2), (0,) * 4, (1, 1))), fused_stages=1
    )
    yield g.fires(matmul(g.input((2, "L", 3)), g.random(3, 4)), fused_stages=1)
    yield g.fires(gemm(g.input(("N", 3)), g.random(3, 4), b, GemmSettings()), fused_stages=1)
    yield g.near_miss(conv(x, w, b, window), why="the target fuses nothing")
    g = Operands(rng)
    y = g.input((2, 3, 9))
    yield g.near_miss(
        conv(y, g.random(4, 3, 3), none(), ConvWindow((1,), (1, 1), (1,))),
        why="one dimension",
        fused_stages=1,
    )


@egglog.function(egg_fn="fused_weights", merge=lambda old, new: old)
def weights(y: Tensor, x: Tensor, cube: PyObject) -> Tensors:
    """The operands with which a cube operator makes y of x: the first found, since constants cost nothing."""


@hosted(default=False)
def all_constant(w: Fact, b: Fact) -> bool:
    return w.const and (b.const or b == ABSENT)


@hosted(default=False)
def some_computed(w: Fact, b: Fact) -> bool:
    return not all_constant(w, b)


@law("ascend.fusion", numerics="bitwise", examples=_kernel_examples)
def cube_kernel(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, xs: Tensors, window: PyObject, cube: PyObject, n: i64
) -> Iterator[Any]:
    """Conv(x, w, b) = Kernel[Conv](x, w, b)

    The same for ConvTranspose, MatMul and Gemm.  Of all constant weights that give one value one will do:
    other laws spell them in a dozen ways.  Source: the definition of the pseudo-operator.
    """
    wanted = eq(n).to(limit("fused_stages"))
    two, three = cons(x, cons(w, nil())), cons(x, cons(w, cons(b, nil())))
    forms = [
        (conv(x, w, b, window), three, fact(b), let(cube, image_cube, PyObject("conv"), window, fact(x))),
        (
            conv_transpose(x, w, b, window),
            three,
            fact(b),
            let(cube, image_cube, PyObject("conv_transpose"), window, fact(x)),
        ),
        (matmul(x, w), two, PyObject(ABSENT), let(cube, product_cube, fact(x), fact(w))),
        (gemm(x, w, b, window), three, fact(b), let(cube, gemm_cube, window, fact(x), fact(w))),
    ]
    for product, operands, bias, running in forms:
        asked = (eq(y).to(product), wanted, *running)
        yield closure(*asked, holds(all_constant, fact(w), bias), then=set_(weights(y, x, cube)).to(operands))
        kernel = fused_cube(cube, (), operands, nil())
        yield rule(*asked, holds(some_computed, fact(w), bias), then=Equal(y, kernel))
    yield rule(eq(xs).to(weights(y, x, cube)), then=Equal(y, fused_cube(cube, (), xs, nil())))


# --- what follows it -------------------------------------------------------------------------------------


@hosted()
def then_unary(stages: tuple[Stage, ...], op: str, settings: tuple[Any, ...], most: int) -> Any:
    """The stages with a unary operator behind them."""
    return (*stages, (op, settings, "", 0)) if op in UNARY and len(stages) < most else None


@hosted()
def then_binary(
    cube: Cube,
    stages: tuple[Stage, ...],
    op: str,
    side: int,
    result: Fact,
    other: Fact,
    operands: tuple[Fact, ...],
    most: int,
) -> Any:
    """The stages with a binary operator behind them, whose other operand may be smaller than the result.

    Of tensors that are computed a kernel takes one more (the residual of a block); patterns with two are not
    documented.
    """
    if op not in BINARY or len(stages) >= most or (op == "PRelu" and side == 0):  # there it is the slope
        return None
    if cube[0] != "matmul" and len(stages) == 1 and stages[0][2] == "constant":
        return None  # the constant goes into the weights, unless an activation begins with it
    fits = other.dtype == result.dtype and _broadcasts_into(other, result)
    source = "constant" if other.const else "value"
    if source == "value":
        fits = fits and all(before != "value" for _, _, before, _ in stages)
    elif not stages:
        fits = fits and not _goes_into_weights(cube, operands, op, other)
    return (*stages, (op, (), source, _side(op, side))) if fits else None


@hosted()
def then_gate(stages: tuple[Stage, ...], op: str, side: int, most: int) -> Any:
    """The stages with a binary operator behind them that takes the cube operator's own result again."""
    if op not in BINARY or not stages or len(stages) >= most:
        return None
    return (*stages, (op, (), "cube", _side(op, side)))


def _side(op: str, side: int) -> int:
    """One position for the other operand of a commutative operator: x + y and y + x are one kernel."""
    return 1 if op in COMMUTATIVE else side


def _goes_into_weights(cube: Cube, operands: tuple[Fact, ...], op: str, other: Fact) -> bool:
    """Whether other laws make a constant of one element a channel part of the cube operator: then that is
    the kernel, and there is no need for another (x + 3 may belong to an activation)."""
    if op not in ("Add", "Sub", "Mul", "Div") or not all_constant(operands[1], operands[-1]):
        return False
    if cube[0] == "matmul" and op in ("Add", "Sub"):
        return False
    extents = [d for d in other.shape or () if d != 1]
    return len(extents) == 1 or (not extents and op != "Add")


def _broadcasts_into(other: Fact, result: Fact) -> bool:
    """Whether an element-wise operator on both has the result's shape."""
    if other.shape is None or result.shape is None or len(other.shape) > len(result.shape):
        return False
    tail = result.shape[len(result.shape) - len(other.shape) :]
    return all(a == 1 or symbolic.known_equal(a, b) for a, b in zip(other.shape, tail, strict=True))


def _products(g: Operands, rows: int | str = "L") -> tuple[Any, Any]:
    """An image's convolution and a matrix product."""
    window = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
    return (
        conv(g.input(("N", 3, rows, 5)), g.random(4, 3, 3, 3), g.random(4), window),
        matmul(g.input((2, rows, 3)), g.random(3, 4)),
    )


_PARTNERS = ("ascend.fusion.cube_kernel",)


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op, settings in (
        ("Relu", ()),
        ("Clip", (("max", 6.0), ("min", 0.0))),
        ("LeakyRelu", (("alpha", 0.1),)),
    ):
        g = Operands(rng)
        for product in _products(g):
            yield g.fires(unary(op, settings, product), fused_stages=2)
    g = Operands(rng)
    image, _ = _products(g)
    yield g.near_miss(unary("Sin", (), image), why="no compiler fuses Sin", fused_stages=2)
    yield g.near_miss(unary("Relu", (), g.input(("N", 3, 4, 4))), why="no cube operator", fused_stages=2)


@law("ascend.fusion", numerics="bitwise", examples=_unary_examples, required=_PARTNERS)
def unary_stage(
    op: String, s: PyObject, k: PyObject, e: PyObject, d: PyObject, xs: Tensors, ys: Tensors, n: i64
) -> Iterator[Any]:
    """f(Kernel[..](xs)) = Kernel[.., f](xs)

    Source: Ascend/msadvisor CUBE_operator_fuse_rules.csv.
    """
    kernel = fused_cube(k, e, xs, ys)
    yield rewrite(
        unary(op, s, kernel),
        fused_cube(k, d, xs, ys),
        eq(n).to(limit("fused_stages")),
        ne(unary(op, s, kernel)).to(kernel),
        let(d, then_unary, e, op, s, n),
    )


def _binary_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in ("Add", "Sub", "Mul", "PRelu"):
        g = Operands(rng)
        image, product = _products(g)
        yield g.fires(binary(op, image, g.input(("N", 4, "L", 5))), fused_stages=2)
        if op != "Mul":
            yield g.fires(binary(op, product, g.random(4)), fused_stages=2)
        if op != "PRelu":
            yield g.fires(binary(op, g.random(4, 5, 5), _products(g, rows=5)[0]), fused_stages=2)
            yield g.fires(binary(op, g.input((1, 4)), product), fused_stages=2)
    g = Operands(rng)
    image, product = _products(g, rows=1)
    yield g.near_miss(binary("Add", product, g.input((2, 7, 4))), why="the result is larger", fused_stages=2)
    yield g.near_miss(binary("Add", product, g.input((3, 2, 1, 4))), why="the rank is higher", fused_stages=2)
    for scale in (binary("Mul", product, g.random(4)), binary("Add", image, g.random(1, 4, 1, 1))):
        yield g.near_miss(scale, why="it goes into the weights", fused_stages=2)
    yield g.fires(binary("Add", image, g.constant(np.float32(3))), fused_stages=2)
    yield g.near_miss(binary("Greater", product, g.random(4)), why="no compiler fuses it", fused_stages=2)


@law("ascend.fusion", numerics="bitwise", examples=_binary_examples, required=_PARTNERS)
def binary_stage(
    op: String, y: Tensor, k: PyObject, e: PyObject, d: PyObject, xs: Tensors, ys: Tensors, n: i64
) -> Iterator[Any]:
    """Kernel[..](xs) + y = Kernel[.., +](xs, y)

    y broadcasts into the kernel's result; Sub, Mul, Div, Pow and PRelu likewise, on either side.  Scales and
    shifts of channels right behind a cube operator are left to the laws that fold them into its weights.
    Source: Ascend/mstt op_fusion_pass.yaml (TbeConvAddFusion, MatMul and BMM with Elementwise).
    """
    kernel = fused_cube(k, e, xs, ys)
    wider = fused_cube(k, d, xs, cons(y, ys))
    wanted = eq(n).to(limit("fused_stages"))
    for side, left in ((1, binary(op, kernel, y)), (0, binary(op, y, kernel))):
        known = (fact(kernel), fact(y), facts(xs))
        stages = let(d, then_binary, k, e, op, PyObject(side), *known, n)
        yield rewrite(left, wider, wanted, ne(left).to(kernel), stages)


def _gate_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for product in _products(g):
        yield g.fires(binary("Mul", product, unary("Sigmoid", (), product)), fused_stages=2)
        yield g.fires(binary("Mul", unary("Sigmoid", (), product), product), fused_stages=2)
        shifted = binary("Add", product, g.constant(np.float32(3)))
        yield g.fires(binary("Mul", product, shifted), fused_stages=2)
        other = matmul(g.input((2, "L", 3)), g.random(3, 4))
        yield g.near_miss(
            binary("Mul", unary("Relu", (), other), other), why="stages are used up", fused_stages=1
        )
    a, b = _products(g)[1], _products(g)[1]
    yield g.near_miss(binary("Mul", unary("Sigmoid", (), a), b), why="two cube operators", fused_stages=2)


@law(
    "ascend.fusion",
    numerics="bitwise",
    examples=_gate_examples,
    required=(*_PARTNERS, "ascend.fusion.binary_stage", "ascend.fusion.unary_stage"),
)
def gate_stage(
    op: String, k: PyObject, e: PyObject, d: PyObject, xs: Tensors, ys: Tensors, n: i64
) -> Iterator[Any]:
    """Kernel[..](xs) * Conv(xs) = Kernel[.., * Conv](xs)

    Activations that are spelled out use the cube operator's result twice: Mul(y, Sigmoid(y)), or
    Mul(y, Clip(Add(y, 3))).  Source: Ascend/mstt op_fusion_pass.yaml (Conv + Sigmoid + Mul, hard-swish).
    """
    kernel, bare = fused_cube(k, e, xs, ys), fused_cube(k, (), xs, nil())
    wanted = eq(n).to(limit("fused_stages"))
    for side, left in ((1, binary(op, kernel, bare)), (0, binary(op, bare, kernel))):
        yield rewrite(
            left,
            fused_cube(k, d, xs, ys),
            wanted,
            ne(left).to(kernel),
            let(d, then_gate, e, op, PyObject(side), n),
        )
