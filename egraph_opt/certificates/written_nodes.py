"""The nodes of a result are those that were chosen: each of one, and reading what that needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.selection import SelectionProblem
from egraph_opt.graph.walks import captured_values
from egraph_opt.imports import onnx_ir as ir


class Accounted(NamedTuple):
    """Nodes of a result.

    Attributes:
        chosen: how many chosen nodes are written as.
        others: how many others there are, which hand on what chosen ones make: Identity.
        unwritten: chosen nodes that cost something, and are no node of the result: conversions of layout,
            say, which a target's compiler inserts.
    """

    chosen: int
    others: int
    unwritten: int


def check_written(
    problem: SelectionProblem,
    chosen: Sequence[int],
    written: Sequence[Sequence[str]],
    running: Sequence[ir.Node],
) -> Accounted:
    """Check that nodes of a result are those of chosen nodes.

    A chosen node may be written as several nodes, or as none (an output of a node of several, say).  What its
    nodes read of others it needs, and what it needs they read, by themselves or through others.

    Args:
        running: the nodes of the result that compute something from inputs.

    Raises:
        CertificateError: they are not; the message names a tensor.
    """
    maker = {value.name: node for node in running for value in node.outputs if value.name}
    owner: dict[ir.Node, int] = {}
    for number, names in zip(chosen, written, strict=True):
        for name in names:
            node = maker.get(name)
            if node is None:
                raise CertificateError(f"no node of the result makes {name!r}, as a chosen node should")
            if owner.setdefault(node, number) != number:
                raise CertificateError(f"two chosen nodes make {name!r}")
    other = next((node for node in running if node not in owner and node.op_type != "Identity"), None)
    if other is not None:
        name = next((value.name for value in other.outputs if value.name), "")
        raise CertificateError(f"the node that makes {name!r} is none of those that were chosen")
    read = _read(running, owner)
    wanted = _needed(problem, chosen, set(owner.values()))
    for node, number in owner.items():
        missing = wanted[number] - read[number]
        if read[number] - wanted[number] or (missing and not missing <= _behind(number, read)):
            name = next(value.name for value in node.outputs if value.name)
            raise CertificateError(f"the nodes that make {name!r} read others than what was chosen needs")
    unwritten = sum(
        problem.cost[number] > 0 and not names for number, names in zip(chosen, written, strict=True)
    )
    return Accounted(len(owner), len(running) - len(owner), unwritten)


def _read(running: Sequence[ir.Node], owner: dict[ir.Node, int]) -> dict[int, set[int]]:
    """Per chosen node the others whose nodes its nodes read, through nodes that are nobody's."""
    behind: dict[ir.Node, set[int]] = {}
    found: dict[int, set[int]] = {number: set() for number in owner.values()}
    for node in running:  # in order: what a node reads comes before it
        read: set[int] = set()
        for value in (*node.inputs, *captured_values(node)):
            source = None if value is None else value.producer()
            if source is not None and source in owner:
                read.add(owner[source])
            elif source is not None:
                read |= behind.get(source, set())
        if node in owner:
            found[owner[node]] |= read - {owner[node]}
        else:
            behind[node] = read
    return found


def _behind(number: int, read: dict[int, set[int]]) -> set[int]:
    """All that the nodes of a chosen node read, directly or not."""
    seen: set[int] = set()
    pending = [number]
    while pending:
        new = read[pending.pop()] - seen
        seen |= new
        pending += sorted(new)
    return seen


def _needed(problem: SelectionProblem, chosen: Sequence[int], written: set[int]) -> dict[int, set[int]]:
    """Per chosen node the others that it needs, through those that are not written."""
    choice = {problem.owner[node]: node for node in chosen}
    found: dict[int, set[int]] = {}
    for node in chosen:
        pending, seen = [node], {node}
        found[node] = set()
        while pending:
            for child in problem.children[pending.pop()]:
                below = choice[child]
                if below in written:
                    found[node].add(below)
                elif below not in seen:
                    seen.add(below)
                    pending.append(below)
    return found
