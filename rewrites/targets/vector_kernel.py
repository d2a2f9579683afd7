"""Kernels of Ascend's vector units: element-wise stages on one value, and a reduction behind them.

g(f(x)) -> Kernel[f, g](x)
Kernel[..](x) + y -> Kernel[.., +](x, y)
Kernel[..](x) * x -> Kernel[.., * first](x)
ReduceSum(Kernel[..](x)) -> Kernel[.., ReduceSum](x)

A kernel is launched once, and the values between its stages stay on the chip.  It says what is executed at
once, not what is computed, and is expanded when the graph is rebuilt; whoever needs an inner value pays for
that again.  So all laws run one way.  As there is a kernel for every part of a chain that is no longer than
the target's limit, n operators in a row have n times that limit of them.

Sources: Ascend/mstt op_fusion_pass.yaml (Eltwise + Eltwise, Eltwise + Cast, Cast + Eltwise, and Eltwise +
Reduce); MindSpore's passes for Ascend, buffer_fusion/eltwise_fusion_pass.cc: one operator of two computed
operands, and up to six of one behind it.  The ruleset runs for cost models that publish `vector_stages`.
"""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Operands,
    absent,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    ne,
    rewrite,
    rule,
    shorthand,
    table,
)
from egraph_opt.laws.algebra import relu, sigmoid, tanh
from egraph_opt.laws.sorts import Axes, DataType, Flag, Int, Number, Settings, String, Tensor, Tensors
from egraph_opt.operators import binary, cast, reduce, unary
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, OnnxForm, Step, operator
from egraph_opt.operators.reductions import REDUCTIONS
from egraph_opt.operators.terms import cons, limit, listed, nil
from egraph_opt.rewrites.conditions.chains import standing, stands
from egraph_opt.rewrites.conditions.formats import CHIP_FLOATS, runs
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.targets.stages import (
    BINARY,
    PSEUDO,
    UNARY,
    Stages,
    keeps_result,
    steps_of,
    takes_value,
    then_binary,
    then_gate,
)

law = laws_of("ascend.vector", numerics="bitwise", kind="fuse", serves="target")

FUNCTIONS = UNARY | {"Cos", "Erf", "Floor", "Mish", "Reciprocal", "Round", "Sign", "Sin", "Swish"}
"""Behind a cube operator fewer are documented."""

_CASTS = CHIP_FLOATS | {TensorProto.BOOL, TensorProto.INT32, TensorProto.INT64}


def _expand(attributes: tuple[Stages]) -> tuple[Step, ...]:
    return tuple(steps_of(attributes[0], 0, 0, 1))


def _form(opset: int, attributes: tuple[Stages], facts: tuple[Fact, ...]) -> OnnxForm:
    """VectorKernel: what it begins with, then the operands of its stages in their order."""
    others = tuple(reversed(range(1, len(facts))))
    return OnnxForm("VectorKernel", (0, *others), (("stages", attributes[0]),), PSEUDO_DOMAIN)


@operator(form=_form, expand=_expand)
def vector_kernel(stages: Stages, x: Tensor, others: Tensors) -> Tensor:
    """One kernel: `stages` on x, whose operands from outside are `others`, the last one first."""


# --- single stages ---------------------------------------------------------------------------------------


@shorthand
def staged(stage: Stages, x: Tensor, others: Tensors) -> Tensor:
    """An element-wise operator on x, as a stage of a kernel; `others` is its other operand, if any."""


@shorthand
def begun(stage: Stages, x: Tensor, others: Tensors) -> Tensor:
    """The same, as the first stage: of two computed operands of one shape a kernel begins with the left one,
    since both are read, and what is computed is the same."""


@hosted()
def function_stage(op: str, settings: Settings, x: Fact) -> Stages | None:
    return ((op, settings, "", 0),) if op in FUNCTIONS and runs(x) else None


@hosted()
def binary_stage(op: str, side: int, x: Fact, other: Fact) -> Stages | None:
    """A binary operator whose other operand may be smaller than x."""
    return then_binary((), op, side, other, 1) if runs(x) and keeps_result(other, x) else None


@hosted()
def square_stage(op: str, x: Fact) -> Stages | None:
    """A binary operator of which x is both operands."""
    return ((op, (), "result", 1),) if op in BINARY and runs(x) else None


@hosted()
def cast_stage(to: int, x: Fact) -> Stages | None:
    """A Cast to floats or from floats, and to another type."""
    known = {x.dtype, to} <= _CASTS and x.dtype != to and not CHIP_FLOATS.isdisjoint((x.dtype, to))
    return (("Cast", (to,), "", 0),) if known and not x.const else None


@hosted()
def begins(side: int, x: Fact, other: Fact) -> bool:
    """Whether a kernel begins with x and not with the other operand."""
    return side == 1 or other.const or other.shape != x.shape


@auxiliary(standing)
def single_stages(op: String, s: Settings, x: Tensor, y: Tensor, to: DataType):
    """Says what `staged` and `begun` are."""
    demand = guard(limit("vector_stages"))
    for stands_for in (staged, begun):
        yield rewrite(unary(op, s, x), stands_for(function_stage(op, s, x), x, nil()), demand)
        yield rewrite(cast(x, to), stands_for(cast_stage(to, x), x, nil()), demand)
        # Without the table in front egglog 14 may call the host for matches whose fact it has not looked up.
        square = stands_for(square_stage(op, x), x, nil())
        yield rewrite(binary(op, x, x), square, demand, guard(stands(op, x, x)))
        for side, both in enumerate((binary(op, y, x), binary(op, x, y))):
            first = (begins(side, x, y),) if stands_for is begun else ()
            other = stands_for(binary_stage(op, side, x, y), x, listed(y))
            yield rewrite(both, other, demand, ne(x, y), guard(stands(op, x, y)), *first)


@hosted()
def cheaper(stage: Stages, other: Stages) -> Stages:
    """The stages that take less, of as many that compute the same; the first of equal ones."""
    return min(stage, other, key=_expense)


_EXPENSIVE = ("Div", "Sigmoid", "Tanh", "Pow", "Erf")
"""Stages that take several times what others do, in their order."""


def _expense(stages: Stages) -> list[int]:
    """The expensive stages, the most expensive one first."""
    return sorted((_EXPENSIVE.index(op) for op, *_ in stages if op in _EXPENSIVE), reverse=True)


@table()
def spelled(y: Tensor, x: Tensor) -> Stages:
    """The stage that makes y of x, as it was first found: as the original spells it, if that has it."""


@table(merge=cheaper)
def cheapest(y: Tensor, x: Tensor) -> Stages:
    """The stage that makes y of x and takes least.

    Laws spell x + c in a dozen ways; kernels of all of them, six stages long, would be millions.
    """


@table(merge=cheaper)
def reaching(y: Tensor, x: Tensor, count: Number) -> Stages:
    """The kernel of so many stages that makes y of x and takes least: only that is made longer."""


@table(merge="first")
def operands(e: Stages, y: Tensor, x: Tensor, computed: Tensors) -> Tensors:
    """The operands of stages that make y of x, the first ones found of all that are constants: views of one
    constant, say.  `computed` are the operands where some of them are computed, else nothing."""


@hosted()
def stage_count(stages: Stages) -> Number:
    return len(stages)


@hosted()
def are_constant(others: tuple[Fact, ...]) -> bool:
    return all(other.const for other in others)


@auxiliary(single_stages)
def choosing(e: Stages, x: Tensor, y: Tensor, ys: Tensors):
    """Fills `spelled`, `cheapest`, `reaching` and `operands`."""
    for found in (staged(e, x, ys), begun(e, x, ys)):
        yield rule(eq(y, found), then=(assign(spelled(y, x), e), assign(cheapest(y, x), e)))
    yield rule(eq(y, vector_kernel(e, x, ys)), then=assign(reaching(y, x, stage_count(e)), e))
    for found in (staged(e, x, ys), begun(e, x, ys), vector_kernel(e, x, ys)):
        yield rule(eq(y, found), are_constant(ys), then=assign(operands(e, y, x, nil()), ys))
        yield rule(eq(y, found), absent(are_constant(ys)), then=assign(operands(e, y, x, ys), ys))


# --- kernels ---------------------------------------------------------------------------------------------


@hosted()
def joined_stages(stages: Stages, more: Stages, most: int) -> Stages | None:
    """Stages behind others; of other tensors that are computed a kernel takes one."""
    both = (*stages, *more)
    return both if len(both) <= most and not (takes_value(stages) and takes_value(more)) else None


@hosted()
def then_reduction(stages: Stages, kind: str, axes: Axes, keepdims: Flag, most: int) -> Stages | None:
    """The stages with a reduction behind them, after which there is no further one."""
    ended = stages[-1][0] in REDUCTIONS
    return None if ended or len(stages) >= most else (*stages, (kind, (axes, keepdims), "", 0))


_MOST = {"vector_stages": 3}


def _chain_examples(rng):
    g = Operands(rng)
    x, z = g.input(("N", 4, "L")), g.input(("N", 4, "L"))
    column, number = g.random(4, 1), g.constant(np.float32(3))
    for term in (
        relu(sigmoid(x)),
        relu(sigmoid(tanh(x))),
        relu(x - z),
        relu(z - x) * column,
        binary("Pow", tanh(x), number) + g.input((4, 1)),
        relu(x) * relu(x),
        cast(relu(x), TensorProto.FLOAT16),
        relu(cast(g.input((3, 2), TensorProto.INT32), TensorProto.FLOAT)),
    ):
        yield g.fires(term, **_MOST)
    yield g.near_miss(relu(sigmoid(x)), why="the target has no kernels of several")
    yield g.near_miss(relu(sigmoid(x)), why="stages are used up", vector_stages=1)
    yield g.near_miss(relu(x), why="a single operator", **_MOST)
    yield g.near_miss(relu(unary("Acos", (), x)), why="not computed by the vector units", **_MOST)
    yield g.near_miss(x - z - g.input((4, 1)), why="three computed tensors", **_MOST)


_ELEMENTWISE = "Ascend/mstt op_fusion_pass.yaml; MindSpore, buffer_fusion/eltwise_fusion_pass.cc"


@law(source=_ELEMENTWISE, uses=(choosing,), examples=_chain_examples)
def chain(d: Stages, e: Stages, x: Tensor, y: Tensor, ys: Tensors, vs: Tensors, zs: Tensors):
    """g(Kernel[.., f](x)) = Kernel[.., f, g](x), where f alone is a kernel, too"""
    longer = joined_stages(e, d, limit("vector_stages"))
    for chosen in (spelled, cheapest):
        first, before = begun(e, x, ys), vector_kernel(e, x, ys)
        for inner, known in (
            (first, guard(ne(first, x), eq(e, chosen(first, x)))),
            (before, guard(eq(e, reaching(before, x, stage_count(e))))),
        ):
            for others, everything in ((nil(), ys), (listed(y), cons(y, ys))):
                left = staged(d, inner, others)
                wider = vector_kernel(longer, x, everything)
                last = guard(ne(left, inner), eq(d, chosen(left, inner)))
                one = guard(eq(ys, operands(e, inner, x, vs)), eq(others, operands(d, left, inner, zs)))
                yield rewrite(left, wider, *known, *last, *one, because=PSEUDO)


def _gate_examples(rng):
    g = Operands(rng)
    x, number = g.input(("N", 4)), g.constant(np.float32(3))
    for term in (x * sigmoid(x), tanh(relu(x)) - x, x / (relu(x) + number)):
        yield g.fires(term, **_MOST)
    yield g.near_miss(x * sigmoid(g.input(("N", 4))), why="the gate of another tensor", **_MOST)
    for gated in (relu(x), relu(sigmoid(x))):
        yield g.near_miss(binary("Greater", gated, x), why="not computed by the vector units", **_MOST)
    yield g.near_miss(x * unary("Acos", (), x), why="not computed by the vector units", **_MOST)
    yield g.near_miss(x * sigmoid(x), why="stages are used up", vector_stages=1)


_REQUIRED = ("ascend.vector.chain",)


@law(source=_ELEMENTWISE, uses=(single_stages, either_side), examples=_gate_examples, required=_REQUIRED)
def gate(op: String, e: Stages, x: Tensor, ys: Tensors, i: Int):
    """Kernel[..](x) * x = Kernel[.., * first](x)

    What an activation opens for itself is read once.
    """
    for inner in (begun(e, x, ys), vector_kernel(e, x, ys)):
        left = beside(op, x, inner, i)
        wider = vector_kernel(then_gate(e, op, i, limit("vector_stages")), x, ys)
        yield rewrite(left, wider, guard(ne(left, inner)), because=PSEUDO)


def _prologue_examples(rng):
    g = Operands(rng)
    x, z = g.input(("N", 4, "L")), g.input(("N", 4, "L"))
    for term in (x * x, relu(x) * relu(x), x - z, relu(x - z)):
        for kind, axes, keepdims in (("ReduceMean", (1,), 1), ("ReduceSum", (1, 2), 0)):
            yield g.fires(reduce(kind, term, axes, keepdims), **_MOST)
    yield g.near_miss(reduce("ReduceMax", x, (1,), 1), why="nothing before it", **_MOST)
    acos = unary("Acos", (), x)
    yield g.near_miss(reduce("ReduceMax", acos, (1,), 1), why="not computed by the vector units", **_MOST)
    yield g.near_miss(reduce("ReduceMax", relu(x), (1,), 1), why="stages are used up", vector_stages=1)


@law(
    source="Ascend/mstt op_fusion_pass.yaml (Eltwise + Reduce)",
    uses=(choosing,),
    examples=_prologue_examples,
    required=_REQUIRED,
)
def prologue(kind: String, a: Axes, k: Flag, e: Stages, x: Tensor, ys: Tensors, vs: Tensors):
    """ReduceSum(Kernel[..](x)) = Kernel[.., ReduceSum](x), other reductions likewise"""
    first, before = begun(e, x, ys), vector_kernel(e, x, ys)
    for inner, known in ((first, ()), (before, guard(eq(e, reaching(before, x, stage_count(e)))))):
        reduced, wider = reduce(kind, inner, a, k), then_reduction(e, kind, a, k, limit("vector_stages"))
        one = guard(ne(reduced, inner), eq(ys, operands(e, inner, x, vs)))
        yield rewrite(reduced, vector_kernel(wider, x, ys), *known, *one, because=PSEUDO)
