"""What an Einsum is on Ascend: a product of matrices, with the Transposes that bring its operands in order.

It has no kernel of its own: spelled so or as MatMul, the same work costs the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.facts.fact import Fact


def kernels(node: NodeView) -> tuple[NodeView, ...] | None:
    """The nodes that it is; None where it is no product of two operands, or their shapes are not known."""
    equation = node.text("equation").replace(" ", "")
    left, arrow, out = equation.partition("->")
    terms = left.split(",")
    a, b, y = node.input(0), node.input(1), node.output()
    if not arrow or len(terms) != 2 or a is None or b is None or y is None or "." in equation:
        return None
    extents: dict[str, int] = {}
    for term, fact in ((terms[0], a), (terms[1], b)):
        if len(set(term)) != len(term) or fact.shape is None or len(fact.shape) != len(term):
            return None
        extents.update(zip(term, counting.dims(fact), strict=True))
    if not set(terms[0]) ^ set(terms[1]) <= set(out) <= extents.keys():
        return None  # an axis that is summed in one operand alone
    batch = [axis for axis in out if axis in terms[0] and axis in terms[1]]
    rows = [axis for axis in out if axis in terms[0] and axis not in terms[1]]
    columns = [axis for axis in out if axis in terms[1] and axis not in terms[0]]
    inner = [axis for axis in terms[0] if axis in terms[1] and axis not in out]
    if not inner:
        return None  # an outer product, or one of elements
    shapes = [
        tuple(counting.product(extents[axis] for axis in group) for group in groups)
        for groups in ((batch, rows, inner), (batch, inner, columns), (batch, rows, columns))
    ]
    if not batch:
        shapes = [shape[1:] for shape in shapes]
    x, w, z = (
        Fact(fact.dtype, shape, const=fact.const) for fact, shape in zip((a, b, y), shapes, strict=True)
    )
    orders = ((terms[0], [*batch, *rows, *inner], a), (terms[1], [*batch, *inner, *columns], b))
    turned = [step for given, wanted, fact in orders for step in _turned(given, wanted, fact)]
    written = _turned("".join([*batch, *rows, *columns]), list(out), y)
    return (*turned, NodeView("MatMul", "", {}, (x, w), (z,)), *written)


def _turned(given: str, wanted: list[str], fact: Fact) -> Iterator[NodeView]:
    """The Transpose that brings axes in another order; constants are turned offline."""
    if fact.const or list(given) == wanted:
        return
    shape = dict(zip(given, counting.dims(fact), strict=True))
    perm = tuple(given.index(axis) for axis in wanted)
    result = Fact(fact.dtype, tuple(shape[axis] for axis in wanted))
    yield NodeView("Transpose", "", {"perm": perm}, (Fact(fact.dtype, tuple(shape.values())),), (result,))
