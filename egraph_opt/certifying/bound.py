"""The lower bound of a choice with its evidence, made in a given time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.certificates.cases import PartEvidence, bound_of_parts, payments_of, with_payments
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.lower_bound import Payments, SelectionPart
from egraph_opt.certificates.selection import SelectionProblem
from egraph_opt.certificates.stated_bound import StatedBound
from egraph_opt.certificates.written_nodes import check_written
from egraph_opt.certifying.part_proof import proof_of
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.problem import ExtractionProblem, choosable
from egraph_opt.extraction.structure import Ints, entries, pointers, reached

SECONDS = 20.0
"""For the evidence, where the caller does not say."""

FINE_BITS = 24
"""The least bits by which a unit of cost is divided for prices, which are rounded: there are thousands."""

COST_BITS = 44
"""The least bits that the greatest cost has, in fractions of units."""


@dataclass(frozen=True)
class Selected:
    """What was chosen of an e-graph.

    Attributes:
        problem: what there was to choose from, with all costs.
        choice: a solution of finite cost, per class a node or -1.
        written: per chosen node names of tensors of the result that its nodes make.
        cost_model, unit: what costs are of, and in.
        bodies: how many bodies are priced as they were chosen.
        seconds: for the evidence.
    """

    problem: ExtractionProblem
    choice: Ints
    written: Mapping[int, Sequence[str]]
    cost_model: str
    unit: str
    bodies: int
    seconds: float


def stated_bound(selected: Selected, running: Sequence[ir.Node]) -> dict[str, Any]:
    """What a certificate says of cost, as JSON.

    Args:
        running: the nodes of the result that compute something from inputs.
    """
    made = bound_of(selected.problem, selected.choice, selected.seconds)
    names = {value.name for node in running for value in node.outputs}
    written = [
        tuple(name for name in selected.written.get(made.nodes[node], ()) if name in names)
        for node in made.chosen
    ]
    try:
        check_written(made.problem, made.chosen, written, running)
        shown: tuple[tuple[str, ...], ...] | None = tuple(written)
    except CertificateError:  # what is written after the choice, or otherwise than it is priced
        shown = None
    return StatedBound(
        cost_model=selected.cost_model,
        unit=selected.unit,
        bodies=selected.bodies,
        problem=made.problem,
        chosen=made.chosen,
        written=shown,
        fineness=made.fineness,
        bound=made.bound,
        parts=made.parts,
    ).to_json()


@dataclass(frozen=True)
class MadeBound:
    """A problem as a certificate states it, the chosen nodes, and evidence.

    Attributes:
        nodes: of each node its number in the problem that it was made of.
        chosen: numbers of nodes, as the certificate has them.
        fineness: fractions of units that prices are counted in.
        bound: what the evidence proves.
    """

    problem: SelectionProblem
    nodes: tuple[int, ...]
    chosen: tuple[int, ...]
    fineness: int
    parts: tuple[PartEvidence, ...]
    bound: Fraction


def bound_of(problem: ExtractionProblem, choice: Ints, seconds: float = SECONDS) -> MadeBound:
    """State a problem and prove how cheap its solutions are at most.

    What no solution can have is left out: what cannot be built at a finite cost, or needs its own class, and
    what no root reaches.

    Args:
        choice: a solution of finite cost, per class a node or -1.
    """
    deadline = time.monotonic() + seconds
    nodes, classes = _stated(problem)
    number = np.full(problem.n_classes, -1, np.int32)
    number[classes] = np.arange(len(classes), dtype=np.int32)
    options: list[list[tuple[float, list[int]]]] = [[] for _ in classes]
    for node in nodes.tolist():
        below = number[problem.children(node)].tolist()
        options[number[problem.node_class[node]]].append((float(problem.cost[node]), below))
    selection = SelectionProblem.of(options, number[np.unique(problem.roots)].tolist())
    place = {node: k for k, node in enumerate(nodes.tolist())}
    chosen = tuple(sorted(place[node] for node in choice[choice >= 0].tolist()))
    bits = COST_BITS - max(selection.cost, default=0).bit_length()
    fineness = 2 ** max(FINE_BITS, bits)
    parts = _parts(selection, problem, choice, number)
    choice_of = {selection.owner[node]: node for node in chosen}
    proofs = []
    for k, part in enumerate(parts):
        now = time.monotonic()
        share = max(1.0 / (len(parts) - k), 0.5)
        goal = fineness * sum(selection.cost[choice_of[here]] for here in part if here in choice_of)
        until = now + share * (deadline - now)
        proofs.append(proof_of(SelectionPart(selection, part, fineness), goal, until))
    fineness, proofs = _coarser(fineness, proofs)
    bound = bound_of_parts(selection, proofs, fineness)
    return MadeBound(selection, tuple(nodes.tolist()), chosen, fineness, tuple(proofs), bound)


def _stated(problem: ExtractionProblem) -> tuple[Ints, Ints]:
    """The nodes, by class, and classes that solutions can have."""
    owners, possible = problem.owners(), choosable(problem)
    possible[owners[problem.node_class[owners] == problem.child]] = False
    can = np.flatnonzero(possible).astype(np.int32)
    at, owner = entries(problem.child_ptr, can)
    above = problem.node_class[can[owner]]
    order = np.argsort(above, kind="stable")
    ptr = pointers(above, problem.n_classes)
    seen = reached(problem.roots, ptr, problem.child[at][order])
    nodes = can[seen[problem.node_class[can]]]
    nodes = nodes[np.argsort(problem.node_class[nodes], kind="stable")]
    return nodes, np.unique(problem.node_class[nodes])


def _parts(
    selection: SelectionProblem, problem: ExtractionProblem, choice: Ints, number: Ints
) -> list[tuple[int, ...]]:
    """The classes that depend on each other when nodes that others make needless are left out."""
    pieces = presolve(problem, choice).pieces
    return [tuple(number[piece.classes].tolist()) for piece in pieces]


def _coarser(fineness: int, proofs: list[PartEvidence]) -> tuple[int, list[PartEvidence]]:
    """The same evidence in the largest fractions of units that all prices are whole in."""
    amounts = [amount for proof in proofs for amount in _amounts(proof)]
    by = math.gcd(fineness, *amounts)
    return fineness // by, [_divided(proof, by) for proof in proofs]


def _amounts(proof: PartEvidence) -> Iterable[int]:
    yield proof.goal
    for payments in map(payments_of, proof.cases):
        if payments is not None:
            yield from (price for _, _, price in payments.pays)
            yield from (reward for _, reward in payments.rewards)


def _divided(proof: PartEvidence, by: int) -> PartEvidence:
    def divided(payments: Payments) -> Payments:
        return Payments(
            tuple((here, child, price // by) for here, child, price in payments.pays),
            tuple((number, reward // by) for number, reward in payments.rewards),
        )

    cases = tuple(with_payments(case, divided) for case in proof.cases)
    return replace(proof, goal=proof.goal // by, cases=cases)
