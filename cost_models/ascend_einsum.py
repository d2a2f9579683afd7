"""What an Einsum is on Ascend: a product of matrices, with the Transposes that bring its operands in order.

It has no kernel of its own: the compiler makes a graph of it (EinsumPass, hiascend atlasrr_30_0149), in
which the factors of a product may be swapped.  Spelled so or as MatMul, Mul and ReduceSum, it costs the same.
"""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import ascend_cube, counting
from egraph_opt.cost_models.ascend_device import Device
from egraph_opt.facts.fact import Fact

Operand = tuple[str, Fact]
"""The letters of a tensor's axes, and the tensor."""

Nodes = tuple[NodeView, ...]


def einsum_time(device: Device, node: NodeView, price: Callable[[NodeView], float]) -> float:
    """The cheapest of the graphs that it is; where none is known, a product of which all is turned."""
    graphs = kernels(node)
    if graphs:
        return min(math.fsum(map(price, nodes)) for nodes in graphs)
    bytes_ = sum(2 * device.bytes_of(fact) for fact in node.inputs)
    turning = device.rearrange(bytes_, device.soc.transpose_efficiency)
    return ascend_cube.other_product(device, node) + device.soc.fixed_transpose_us + turning


def kernels(node: NodeView) -> tuple[Nodes, ...]:
    """The nodes that it is, in several ways; none where it takes diagonals, or shapes are not known."""
    facts, y = node.inputs, node.output()
    if not 1 <= len(facts) <= 2 or y is None:
        return ()
    known = [fact for fact in facts if fact is not None and fact.shape is not None]
    if len(known) < len(facts):
        return ()
    terms, out = _spelled(node.text("equation"), tuple(len(fact.shape or ()) for fact in known))
    if len(terms) != len(known):
        return ()
    operands = list(zip(terms, known, strict=True))
    if len(operands) == 2:
        operands = list(_repeated_apart(*operands))
    if not all(map(_has_own_axes, operands)) or not set(out) <= set("".join(terms)):
        return ()
    operands, sums = _summed_alone(operands, out)
    if len(operands) == 1:
        return ((*sums, *_turned(*operands[0], list(out))),)
    left, right = operands
    inner = [axis for axis in left[0] if axis in right[0] and axis not in out]
    if not inner:
        return ((*sums, *_pointwise(operands, out, y)),)
    orders = ((left, right), (right, left))
    return tuple((*sums, *_product(*order, out, y)) for order in orders)


def _has_own_axes(operand: Operand) -> bool:
    """Whether each axis has a letter of its own."""
    term, fact = operand
    return len(set(term)) == len(term) and len(fact.shape or ()) == len(term)


def _extents(operands: Sequence[Operand]) -> dict[str, int]:
    return {axis: n for term, fact in operands for axis, n in zip(term, counting.dims(fact), strict=True)}


def _summed_alone(operands: Sequence[Operand], out: str) -> tuple[list[Operand], Nodes]:
    """Operands without the axes that one alone has and the result has not, and the sums over these."""
    rest: list[Operand] = []
    sums: list[NodeView] = []
    for k, (term, fact) in enumerate(operands):
        others = "".join(text for n, (text, _) in enumerate(operands) if n != k)
        axes = tuple(n for n, axis in enumerate(term) if axis not in out and axis not in others)
        if not axes:
            rest.append((term, fact))
            continue
        kept = [n for n in range(len(term)) if n not in axes]
        total = Fact(fact.dtype, tuple(counting.dims(fact)[n] for n in kept), const=fact.const)
        rest.append(("".join(term[n] for n in kept), total))
        if not fact.const:
            sums.append(NodeView("ReduceSum", "", {"axes": axes, "keepdims": 0}, (fact,), (total,)))
    return rest, tuple(sums)


def _pointwise(operands: Sequence[Operand], out: str, y: Fact) -> Iterator[NodeView]:
    """A product of elements, whose operands have their axes in the order of the result."""
    views: list[Fact] = []
    for term, fact in operands:
        yield from _turned(term, fact, [axis for axis in out if axis in term])
        sizes = _extents([(term, fact)])
        views.append(Fact(fact.dtype, tuple(sizes.get(axis, 1) for axis in out), const=fact.const))
    yield NodeView("Mul", "", {}, tuple(views), (y,))


def _product(left: Operand, right: Operand, out: str, y: Fact) -> Iterator[NodeView]:
    """A product of matrices, for each axis of a batch; without one, Gemm takes factors that are turned."""
    a, b, sizes = left[0], right[0], _extents((left, right))
    batch = [axis for axis in out if axis in a and axis in b]
    rows = [axis for axis in out if axis in a and axis not in b]
    columns = [axis for axis in out if axis in b and axis not in a]
    inner = [axis for axis in a if axis in b and axis not in out]
    factors, turned = [], []
    for (term, fact), groups in ((left, (rows, inner)), (right, (inner, columns))):
        first, second = groups
        by_product = not batch and bool(first and second) and list(term) == [*second, *first]
        if by_product:
            first, second = second, first
        else:
            yield from _turned(term, fact, [*batch, *first, *second])
        factors.append(_matrices(fact, (batch, first, second), sizes))
        turned.append(int(by_product))
    op = "Gemm" if any(turned) else "MatMul"
    settings = dict(zip(("transA", "transB"), turned, strict=True)) if any(turned) else {}
    yield NodeView(op, "", settings, tuple(factors), (_matrices(y, (batch, rows, columns), sizes),))
    yield from _turned("".join([*batch, *rows, *columns]), y, list(out))


def _matrices(fact: Fact, groups: Sequence[list[str]], sizes: Mapping[str, int]) -> Fact:
    """A tensor whose axes are groups of others; the first is of batches, and none where it is empty."""
    dims = tuple(counting.product(sizes[axis] for axis in group) for group in groups)
    return Fact(fact.dtype, dims if groups[0] else dims[1:], const=fact.const)


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


def _turned(given: str, fact: Fact, wanted: list[str]) -> Iterator[NodeView]:
    """The Transpose that brings axes in another order; constants are turned offline."""
    if fact.const or list(given) == wanted:
        return
    shape = dict(zip(given, counting.dims(fact), strict=True))
    perm = tuple(given.index(axis) for axis in wanted)
    result = Fact(fact.dtype, tuple(shape[axis] for axis in wanted))
    yield NodeView("Transpose", "", {"perm": perm}, (Fact(fact.dtype, tuple(shape.values())),), (result,))
