"""What a user has to know of prices under `ascend`: which of them are guesses, and what was assumed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

import onnx

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import ascend_control, ascend_cube, ascend_host, ascend_types, counting
from egraph_opt.cost_models.ascend_device import CHIP_FLOATS
from egraph_opt.cost_models.ascend_soc import Soc
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import PSEUDO_DOMAIN

SHOWN = 5
"""Names that a remark tells."""

_FREE = counting.LEAVES | counting.QUERIES | counting.CONTROL


def remarks(soc: Soc, views: Sequence[NodeView]) -> tuple[str, ...]:
    """A sentence for each kind of guess among the prices of some nodes."""
    found = (
        _operators(soc, views),
        _types(soc, views),
        _lists(soc, views),
        _shapes(views),
        _counted(views),
        _loops(soc, views),
    )
    return tuple(chain.from_iterable(found))


def _operators(soc: Soc, views: Iterable[NodeView]) -> Iterator[str]:
    unknown = [view for view in views if not is_known(soc, view)]
    if unknown:
        names = _listed(f"{view.domain}.{view.op_type}" if view.domain else view.op_type for view in unknown)
        yield f"operators that ascend does not know, priced as an addition for each element: {names}"


def is_known(soc: Soc, node: NodeView) -> bool:
    """Whether the price of an operator comes from what is known of it."""
    if node.domain not in ("", "ai.onnx"):
        return node.domain == PSEUDO_DOMAIN
    if node.op_type in soc.vector_steps or node.op_type in soc.types or counting.is_counted(node.op_type):
        return True
    if node.op_type in ascend_cube.CONVOLUTIONS or node.op_type in ascend_cube.PRODUCTS:
        return True
    return any(node.op_type in ops for ops, _ in soc.aicpu_rules)


def _types(soc: Soc, views: Iterable[NodeView]) -> Iterator[str]:
    """Floats are computed in the chip's own type, others on the AI CPU."""
    found: dict[int, list[NodeView]] = {}
    for view in views:
        if view.op_type not in _FREE and not counting.is_view(view):
            for dtype in {fact.dtype for fact in _facts(view)} - soc.kernel_types - {0}:
                found.setdefault(dtype, []).append(view)
    for dtype, nodes in sorted(found.items()):
        name = onnx.TensorProto.DataType.Name(dtype).lower()
        how = "as float16" if dtype in CHIP_FLOATS else "on the AI CPU"
        users = _listed(view.op_type for view in nodes)
        yield f"the chip has no kernels for {name}, priced {how}: {users}"


def _lists(soc: Soc, views: Iterable[NodeView]) -> Iterator[str]:
    """Whose lists say where integers run, on a chip that they do not name."""
    if soc.has_types:
        return
    views = [view for view in views if ascend_types.is_listed(soc, view) and not view.domain]
    others = [view for view in views if any(fact.dtype not in CHIP_FLOATS for fact in _facts(view))]
    if others:
        names = _listed(view.op_type for view in others)
        yield f"no list of types names the chip, those for all chips are taken, mostly the 910A's: {names}"


def _shapes(views: Sequence[NodeView]) -> Iterator[str]:
    priced = [view for view in views if view.op_type not in _FREE and not counting.is_view(view)]
    unknown = [view for view in priced if _has_unknown_shape(view)]
    if unknown:
        names = _listed(view.op_type for view in unknown)
        counted = f"{len(unknown)} of {len(priced)} prices"
        yield f"{counted} are of shapes that are not known, a dim of which counts as 1: {names}"


def _counted(views: Iterable[NodeView]) -> Iterator[str]:
    """Sizes that only the elements of a tensor decide, and all that is computed of such tensors."""
    found = {
        f"{view.op_type} [{', '.join(map(str, view.outputs[0].shape))}]"
        for view in views
        if view.op_type in ascend_host.COUNTING and not view.domain
        if view.outputs and view.outputs[0] is not None and view.outputs[0].shape is not None
    }
    if found:
        yield (
            "how much these find depends on data, and so does the price of what follows; "
            f"priced is what one run of the original shows, other data may take longer: {_listed(found)}"
        )


def _has_unknown_shape(node: NodeView) -> bool:
    """Of outputs that nobody uses nothing is known."""
    inputs = (fact for fact in node.inputs if fact is not None)
    return any(map(_is_unknown, inputs)) or (bool(node.outputs) and all(map(_is_unknown, node.outputs)))


def _is_unknown(fact: Fact) -> bool:
    return fact.shape is None or None in fact.shape


def _loops(soc: Soc, views: Iterable[NodeView]) -> Iterator[str]:
    loops = [view for view in views if view.op_type in ascend_control.LOOPS and not view.domain]
    unknown = [view for view in loops if ascend_control.iterations(view) is None]
    if unknown:
        names = _listed(view.op_type for view in unknown)
        assumed = f"{soc.loop_iterations} iterations are assumed (loop_iterations)"
        yield f"{len(unknown)} of {len(loops)} loops do not say how often they run, {assumed}: {names}"


def _facts(node: NodeView) -> Iterator[Fact]:
    """What decides which unit runs a node."""
    return (fact for fact in (node.input(0), node.output()) if fact is not None)


def _listed(names: Iterable[str]) -> str:
    known: Collection[str] = sorted(set(names))
    return ", ".join([*known][:SHOWN]) + (", ..." if len(known) > SHOWN else "")
