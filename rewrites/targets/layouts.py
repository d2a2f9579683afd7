"""Tensors in another layout: where operators convert to it and back, and what stays in it between them.

    Kernel(x) -> FromLayout(Kernel'(ToLayout(x)))
    ToLayout(FromLayout(z)) -> z
    f(FromLayout(z)) -> FromLayout(f'(z))

A target whose kernels want another order of elements than ONNX has converts wherever such a kernel meets
another one.  The conversions are pseudo-operators that cost models price and rebuilding drops; an operator
that works in a layout is `laid`.  Extraction decides where a chain begins and ends.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import absent, assign, auxiliary, eq, guard, hosted, rule, table, union
from egraph_opt.laws.sorts import String, Tensor, Tensors, Unit
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, OnnxForm, Step, operator
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.terms import cons, nil

Kernel = Annotated[tuple[str, tuple[Any, ...], int, bool], attribute_sort("Kernel")]
"""What is computed in a layout: operator, its attributes, how many operands it has, and whether the first of
them is in the layout, too."""

PSEUDO = "layouts are the target's own; rebuilding drops them"


def _conversion(op_type: str) -> Callable[..., OnnxForm]:
    def form(opset: int, attributes: tuple[str], facts: tuple[Fact, ...]) -> OnnxForm:
        return OnnxForm(op_type, (0,), (("layout", attributes[0]),), PSEUDO_DOMAIN)

    return form


def _nothing(attributes: tuple[str]) -> tuple[Step, ...]:
    return ()


@operator(form=_conversion("ToLayout"), expand=_nothing, in_layout=True)
def to_layout(layout: String, x: Tensor) -> Tensor:
    """x, converted to a layout."""


@operator(form=_conversion("FromLayout"), expand=_nothing)
def from_layout(layout: String, x: Tensor) -> Tensor:
    """x, converted from a layout to ONNX's own."""


def _kernel_form(op_type: str) -> Callable[..., OnnxForm]:
    def form(opset: int, attributes: tuple[str, Kernel], facts: tuple[Fact, ...]) -> OnnxForm:
        layout, (name, settings, _, enters) = attributes
        described = (("enters", int(enters)), ("kernel", name), ("layout", layout), ("settings", settings))
        return OnnxForm(op_type, tuple(range(len(facts))), described, PSEUDO_DOMAIN)

    return form


def _expand_laid(attributes: tuple[str, Kernel]) -> tuple[Step, ...]:
    """The operator itself: what the opset does not have is expanded further."""
    _, (name, settings, operands, _) = attributes
    return (Step(name, settings, tuple(range(operands))),)


@operator(form=_kernel_form("Laid"), expand=_expand_laid, in_layout=True)
def laid(layout: String, kernel: Kernel, operands: Tensors) -> Tensor:
    """An operator whose result is in a layout, and so are its operands; its weights are as its target wants
    them."""


@operator(form=_kernel_form("Unlaid"), expand=_expand_laid)
def unlaid(layout: String, kernel: Kernel, operands: Tensors) -> Tensor:
    """An operator whose operands are in a layout, and which writes its result in ONNX's own."""


@table()
def all_laid(layout: String, xs: Tensors) -> Tensors:
    """What tensors were before they were converted from a layout: nothing where one of them was not."""


@auxiliary()
def laid_lists(layout: String, z: Tensor, rest: Tensors, zs: Tensors, xs: Tensors):
    """Fills `all_laid`."""
    whole = cons(from_layout(layout, z), nil())
    yield rule(eq(xs, whole), then=assign(all_laid(layout, xs), cons(z, nil())))
    longer = cons(from_layout(layout, z), rest)
    found = (eq(xs, longer), eq(zs, all_laid(layout, rest)))
    yield rule(*found, then=assign(all_laid(layout, xs), cons(z, zs)))


@table()
def demanded(layout: String, xs: Tensors) -> Unit:
    """Tensors that are asked for in a layout."""


@table()
def entered(layout: String, xs: Tensors) -> Tensors:
    """Tensors that are demanded in a layout, each converted; constants are beforehand."""


@hosted()
def is_known(x: Fact) -> bool:
    """A constant, or nothing."""
    return x.const or x == ABSENT


@auxiliary()
def entering(layout: String, x: Tensor, rest: Tensors, zs: Tensors, xs: Tensors):
    """Fills `entered`, and says of whose rest tensors are demanded."""
    yield rule(demanded(layout, nil()), then=assign(entered(layout, nil()), nil()))
    yield rule(eq(xs, cons(x, rest)), demanded(layout, xs), then=demanded(layout, rest))
    found = (eq(xs, cons(x, rest)), demanded(layout, xs), eq(zs, entered(layout, rest)))
    yield rule(*found, is_known(x), then=assign(entered(layout, xs), cons(x, zs)))
    inside = cons(to_layout(layout, x), zs)
    yield rule(*found, absent(is_known(x)), then=assign(entered(layout, xs), inside))


def laid_behind(
    found: Any, kernel: Any, operands: Any, *, y: Any, layout: Any, entry: Any, wanted: Any = ()
) -> Iterator[Any]:
    """The rules of a kernel that works in a layout: its tensors are demanded there, then it is laid.

    Args:
        found: what holds of y, which the kernel makes.
        wanted: where there is demand for it, and in which layout.
        operands: those of the laid kernel.
        entry: which tensors enter the layout, and what they are there, as `operands` have it.
    """
    xs, zs = entry
    yield rule(found, wanted, guard(kernel), then=demanded(layout, xs), because=PSEUDO)
    moved = from_layout(layout, laid(layout, kernel, operands))
    operands_there = eq(zs, entered(layout, xs))
    yield rule(found, guard(wanted), operands_there, then=union(y, moved), because=PSEUDO)
