"""What an Einsum is on Ascend: a product of matrices, with the Transposes that bring its operands in order.

It has no kernel of its own: spelled so or as MatMul, the same work costs the same.
"""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import ascend_cube, counting
from egraph_opt.cost_models.ascend_device import Device
from egraph_opt.facts.fact import Fact


def einsum_time(device: Device, node: NodeView, price: Callable[[NodeView], float]) -> float:
    """A product with Transposes around it; any other is taken for one whose operands are all turned."""
    parts = kernels(node)
    if parts is not None:
        return math.fsum(map(price, parts))
    bytes_ = sum(2 * device.bytes_of(fact) for fact in node.inputs)
    turning = device.rearrange(bytes_, device.soc.transpose_efficiency)
    return ascend_cube.other_product(device, node) + device.soc.fixed_transpose_us + turning


def kernels(node: NodeView) -> tuple[NodeView, ...] | None:
    """The nodes that it is; None where it is no product of two operands, or their shapes are not known."""
    a, b, y = node.input(0), node.input(1), node.output()
    if len(node.inputs) != 2 or a is None or b is None or y is None or a.shape is None or b.shape is None:
        return None
    terms, out = _spelled(node.text("equation"), (len(a.shape), len(b.shape)))
    (left, a), (right, b) = _repeated_apart((terms[0], a), (terms[-1], b))
    terms = [left, right]
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


POINTS = "..."


def _spelled(equation: str, ranks: tuple[int, ...]) -> tuple[list[str], str]:
    """Letters of the operands and of the result, those of an ellipsis and of a result left out as well."""
    left, arrow, out = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = sorted(set(string.ascii_letters) - set(equation), reverse=True)
    extents = [max(rank - len(term.replace(POINTS, "")), 0) for term, rank in zip(terms, ranks, strict=False)]
    widest = max((n for term, n in zip(terms, extents, strict=False) if POINTS in term), default=0)
    behind = "".join(letters[:widest])
    if not arrow:
        counts = Counter(left.replace(POINTS, "").replace(",", ""))
        out = POINTS + "".join(sorted(letter for letter, count in counts.items() if count == 1))
    spelled = [term.replace(POINTS, behind[widest - n :]) for term, n in zip(terms, extents, strict=False)]
    return spelled, out.replace(POINTS, behind)


def _repeated_apart(*operands: tuple[str, Fact]) -> Iterator[tuple[str, Fact]]:
    """Operands without the axes of one element that an ellipsis repeats as often as the other has them."""
    extents = [dict(zip(term, counting.dims(fact), strict=False)) for term, fact in operands]
    for (term, fact), own, other in zip(operands, extents, reversed(extents), strict=True):
        kept = [k for k, letter in enumerate(term) if not (own.get(letter) == 1 != other.get(letter, 1))]
        if len(kept) == len(term) or len(own) != len(term):
            yield term, fact
        else:
            shape = counting.dims(fact)
            yield "".join(term[k] for k in kept), replace(fact, shape=tuple(shape[k] for k in kept))


def _turned(given: str, wanted: list[str], fact: Fact) -> Iterator[NodeView]:
    """The Transpose that brings axes in another order; constants are turned offline."""
    if fact.const or list(given) == wanted:
        return
    shape = dict(zip(given, counting.dims(fact), strict=True))
    perm = tuple(given.index(axis) for axis in wanted)
    result = Fact(fact.dtype, tuple(shape[axis] for axis in wanted))
    yield NodeView("Transpose", "", {"perm": perm}, (Fact(fact.dtype, tuple(shape.values())),), (result,))
