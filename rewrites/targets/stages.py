"""Element-wise stages: what a kernel computes element by element, behind a cube operator or by itself.

A kernel begins with a value (the result of a cube operator, or what is read from memory), which its stages
change one after the other.  Here is how stages are written down, which there are, and what they stand for;
the kernels are in `fused_cube` and `vector_kernel`.

No laws here.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted
from egraph_opt.laws.sorts import Settings
from egraph_opt.operators.declaration import COMMUTATIVE, Earlier, Step
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.reductions import REDUCTIONS
from egraph_opt.rewrites.conditions.values import broadcasts_into

Stage = tuple[str, tuple[Any, ...], str, int]
"""A stage: ONNX operator, its attributes, its other operand and that operand's position.  The operand is ""
where there is none, "value" or "constant" for a tensor from outside, "first" for the value that the kernel
begins with, "result" for that of the stage before, which is then both."""

Stages = Annotated[tuple[Stage, ...], attribute_sort("Stages")]

OUTSIDE = ("value", "constant")

PSEUDO = "a kernel is expanded when the graph is rebuilt"

UNARY = frozenset(
    ["Abs", "Ceil", "Clip", "Elu", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Neg",
     "Relu", "Selu", "Sigmoid", "Softplus", "Sqrt", "Tanh"]
)  # fmt: skip
BINARY = frozenset(["Add", "Div", "Mul", "PRelu", "Pow", "Sub"])


# --- what they stand for ---------------------------------------------------------------------------------


def steps_of(stages: Stages, first: int | Earlier, before: int, operands: int) -> Iterator[Step]:
    """The operators of a kernel's stages.

    Args:
        first: what the kernel begins with.
        before: how many steps there are already; the last of them makes `first`, if there are any.
        operands: how many operands of the kernel stand before those of the stages, of which the last stage's
            is the first.
    """
    result, values = first, sum(source in OUTSIDE for _, _, source, _ in stages)
    for number, (op, own, source, position) in enumerate(stages):
        if source in OUTSIDE:
            values -= 1
        other = {"first": first, "result": result}.get(source, operands + values)
        yield _step((op, own, source, position), result, other)
        result = Earlier(before + number)


def _step(stage: Stage, result: int | Earlier, other: int | Earlier) -> Step:
    op, own, source, position = stage
    if source:
        return Step("binary", (op,), (other, result) if position == 0 else (result, other))
    if op == "Cast":
        return Step("cast", own, (result,))
    return Step("reduce", (op, *own), (result,)) if op in REDUCTIONS else Step("unary", (op, own), (result,))


# --- which there are -------------------------------------------------------------------------------------


@hosted()
def then_unary(stages: Stages, op: str, settings: Settings, most: int) -> Stages | None:
    """The stages with a unary operator behind them."""
    return (*stages, (op, settings, "", 0)) if op in UNARY and len(stages) < most else None


@hosted()
def then_binary(stages: Stages, op: str, side: int, other: Fact, most: int) -> Stages | None:
    """The stages with a binary operator behind them.

    Of tensors that are computed a kernel takes one more (the residual of a block); patterns with two are not
    documented.
    """
    if op not in BINARY or len(stages) >= most or (op == "PRelu" and side == 0):  # there it is the slope
        return None
    source = "constant" if other.const else "value"
    if source == "value" and takes_value(stages):
        return None
    return (*stages, (op, (), source, _side(op, side)))


@hosted()
def then_gate(stages: Stages, op: str, side: int, most: int) -> Stages | None:
    """The stages with a binary operator behind them that takes what the kernel begins with again."""
    if op not in BINARY or not stages or len(stages) >= most:
        return None
    return (*stages, (op, (), "first", _side(op, side)))


def takes_value(stages: Stages) -> bool:
    """Whether a stage takes another tensor that is computed."""
    return any(source == "value" for _, _, source, _ in stages)


def _side(op: str, side: int) -> int:
    """One position for the other operand of a commutative operator: x + y and y + x are one kernel."""
    return 1 if op in COMMUTATIVE else side


@hosted()
def keeps_result(other: Fact, result: Fact) -> bool:
    """The other operand may be smaller than the result."""
    return other.dtype == result.dtype and broadcasts_into(other.shape, result.shape)
