"""Prices that prove the bound of a case: from landmark cuts, or from a relaxation's multipliers made exact.

A solver's multipliers are off by its tolerances.  They are refined as Gleixner, Steffy and Wolter refine
linear programs ("Iterative refinement for linear programming", 2016): what is left of the costs, computed in
exact integers and magnified, is given to the solver as costs again, and what it answers is a correction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from egraph_opt.certificates.lower_bound import Payments, SelectionPart, Supposed
from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.programs.cut_separation import separate_cuts
from egraph_opt.extraction.programs.cutting_planes import mutual_pairs
from egraph_opt.extraction.programs.landmark_cuts import LandmarkCuts, landmark_cuts
from egraph_opt.extraction.programs.linear import CycleCut, cycle_cut_rows, cycle_cuts, structural_rows
from egraph_opt.extraction.programs.program import Relaxation
from egraph_opt.extraction.programs.solver import Effort
from egraph_opt.extraction.structure import Floats
from egraph_opt.forking import cached_property

SEPARATIONS = 60
"""Relaxations of a case, each with more cuts."""

MAGNIFIED = 1e8
"""How much larger the costs of each refinement are than those before."""

LARGEST = 1e6
"""What is left of a cost counts as this, at most, where it is magnified."""

REFINEMENTS = 3

ENOUGH = 1e-10
"""The share of a goal that need not be proved: sums of prices that should be equal differ by less."""


@dataclass(eq=False)
class PieceInUnits(Piece):
    """A piece whose prices are the exact costs.

    Attributes:
        units: the cost of each node.
    """

    units: list[int] = field(default_factory=list)

    @cached_property
    def price(self) -> list[int]:
        return self.units

    @cached_property
    def unit(self) -> float:
        largest = max(self.units, default=0)
        return max(self.cost) / largest if largest else 1.0

    def rounded(self) -> Piece:
        """The piece at prices of 12 digits."""
        return Piece(
            *(self.classes, self.nodes, self.owner, self.options, self.children, self.cost),
            *(self.tie, self.kept, self.roots, self.incumbent),
        )


def piece_of(part: SelectionPart, supposed: Supposed) -> PieceInUnits:
    """What is left of a part in a case, without nodes that others make needless and what no root reaches.

    Prices prove as much of the whole case, with rare exceptions: a needless node costs no less than another
    one, and needs all that this needs.
    """
    problem, classes = part.problem, list(supposed.options)
    local = {here: k for k, here in enumerate(classes)}
    nodes = [node for here in classes for node in supposed.options[here]]
    below = [[local[child] for child in problem.children[node] if child in local] for node in nodes]
    whole = ExtractionProblem(
        node_class=np.array([local[problem.owner[node]] for node in nodes], np.int32),
        child_ptr=np.cumsum([0, *map(len, below)]).astype(np.int32),
        child=np.array([child for row in below for child in row], np.int32),
        cost=np.array([problem.cost[node] / problem.scale for node in nodes]),
        roots=np.array(sorted(local[here] for here in supposed.used), np.int32),
        n_classes=len(classes),
    )
    found = PieceInUnits([], [], [], [], [], [], [], [], [], None)
    for piece in presolve(whole, None).pieces:
        base, first = len(found.classes), len(found.nodes)
        found.classes += [classes[here] for here in piece.classes]
        found.nodes += [nodes[node] for node in piece.nodes]
        found.owner += [base + here for here in piece.owner]
        found.options += [[first + node for node in row] for row in piece.options]
        found.children += [tuple(base + child for child in row) for row in piece.children]
        found.cost += piece.cost
        found.tie += [0.0] * len(piece.nodes)
        found.kept += [False] * len(piece.nodes)
        found.roots += [base + root for root in piece.roots]
    found.units += [problem.cost[node] for node in found.nodes]
    return found


class SetNumbers:
    """The numbers of sets of a part, which are added when they are first used."""

    def __init__(self, part: SelectionPart) -> None:
        self._part = part
        self._known: dict[CycleCut, int] = {}

    def inside(self, piece: Piece) -> list[CycleCut]:
        """All that were used, as far as they are within a piece."""
        local = {here: k for k, here in enumerate(piece.classes)}
        cuts = []
        for giver, members in self._known:
            left = tuple(sorted(local[here] for here in members if here in local))
            if giver in local:
                cuts.append((local[giver], left))
        return cuts

    def of(self, piece: Piece, cut: CycleCut) -> int:
        """The number of a cut of a piece."""
        giver, members = cut
        found = piece.classes[giver], tuple(piece.classes[here] for here in members)
        if found not in self._known:
            self._known[found] = len(self._part.sets)
            self._part.add_sets([found])
        return self._known[found]


def by_landmarks(
    part: SelectionPart,
    supposed: Supposed,
    piece: PieceInUnits,
    sets: SetNumbers,
    *,
    enough: int,
    late: Callable[[], bool],
) -> Payments:
    """Rewards of landmark cuts.

    At rounded costs, where sums that should be equal are, cuts are better.  Where they are enough, those at
    exact costs may prove the goal to the last digit.

    Args:
        enough: a bound that is.
    """
    rounded = piece.rounded()
    payments = _rewards(part, piece, sets, landmark_cuts(rounded, late), rounded.unit * part.problem.scale)
    bound = part.bound(supposed, payments)
    if bound < enough:
        return payments
    exact = _rewards(part, piece, sets, landmark_cuts(piece, late), 1.0)
    return exact if part.bound(supposed, exact) > bound else payments


def _rewards(
    part: SelectionPart, piece: PieceInUnits, sets: SetNumbers, cuts: LandmarkCuts, unit: float
) -> Payments:
    """Landmark cuts as rewards; amounts are counted in so many units of cost."""
    top, bottom = unit.as_integer_ratio()
    rewards: defaultdict[int, int] = defaultdict(int)
    for cut, amount in zip(cuts.cuts, cuts.amounts, strict=True):
        rewards[sets.of(piece, cut)] += amount * part.fineness * top // bottom
    return Payments((), tuple(rewards.items()))


class RelaxedPart:
    """The linear program of a piece, for one case after another.

    Attributes:
        known: the cuts that it has.
    """

    def __init__(self, part: SelectionPart, piece: PieceInUnits, sets: SetNumbers, seconds: float) -> None:
        self._part, self.piece, self._sets = part, piece, sets
        cuts = [*sets.inside(piece), *cycle_cuts(mutual_pairs(piece))]
        self.known: dict[CycleCut, None] = dict.fromkeys(cuts)
        usable = np.ones(len(piece.nodes), np.bool_)
        self._structure = structural_rows(piece, usable)
        rows = [self._structure, cycle_cut_rows(piece, self.known)]
        self._plain = piece.rounded()
        self._relaxation = Relaxation(self._plain, rows, usable, Effort(seconds=seconds))

    def solve(self, supposed: Supposed, goal: int) -> tuple[Payments, Floats] | None:
        """Prices of a case, and relaxed values of nodes and classes; None where the solver has none."""
        piece, program = self.piece, self._relaxation.program
        n = len(piece.nodes)
        upper, lower = np.zeros(len(program.cost)), np.zeros(len(program.cost))
        left = {node for nodes in supposed.options.values() for node in nodes}
        upper[:n] = [node in left for node in piece.nodes]
        upper[n:] = [bool(supposed.options[here]) for here in piece.classes]
        lower[n:] = [here in supposed.used for here in piece.classes]
        self._relaxation.bound(lower, upper)
        enough = (1 - ENOUGH) * goal / (self._part.fineness * self._part.problem.scale) / self._plain.unit
        found = separate_cuts(self._plain, self._relaxation, self.known, rounds=SEPARATIONS, goal=enough)
        if found.values is None or found.multipliers is None:
            return None
        return self._exact(found.multipliers, supposed, goal), found.values

    def _exact(self, multipliers: Floats, supposed: Supposed, goal: int) -> Payments:
        """Multipliers as prices, refined while that raises the bound to the goal."""
        rows = self._whole(multipliers, self._relaxation.program.scale)
        best, scale = self._payments(rows), 1.0
        bound = self._part.bound(supposed, best)
        for _ in range(REFINEMENTS):
            near = bound < goal and goal - bound <= 1e-6 * goal
            if not near:
                break
            scale *= MAGNIFIED
            unit = self._relaxation.program.scale / scale
            per_unit = self._part.fineness * self._part.problem.scale
            cost = np.array([_clipped(left, per_unit, unit) for left in self._left(rows)])
            correction = self._relaxation.multipliers_at(cost)
            if not len(correction) or not np.isfinite(correction).all():
                break
            more = self._whole(correction, unit)
            rows = [a + b for a, b in zip(rows, more, strict=False)]
            found = self._payments(rows)
            now = self._part.bound(supposed, found)
            if now > bound:
                bound, best = now, found
        return best

    def _whole(self, multipliers: Floats, unit: float) -> list[int]:
        """Multipliers of the rows in fractions of units of cost."""
        fine = self._part.fineness * self._part.problem.scale
        rows = [0] * self._relaxation.program.n_rows
        for k in np.flatnonzero(multipliers).tolist():
            top, bottom = (float(multipliers[k]) * unit).as_integer_ratio()
            rows[k] = (2 * top * fine + bottom) // (2 * bottom)
        return rows

    def _left(self, rows: list[int]) -> list[int]:
        """What multipliers leave of the cost of each column."""
        piece, program = self.piece, self._relaxation.program
        left = [cost * self._part.fineness for cost in piece.units] + [0] * len(piece.classes)
        entries = (part.tolist() for part in program.entries)
        for row, column, value in zip(*entries, strict=True):
            if rows[row]:
                left[column] -= rows[row] if value > 0 else -rows[row]
        return left

    def _payments(self, rows: list[int]) -> Payments:
        piece, m = self.piece, len(self.piece.classes)
        structural = len(self._structure.lower)
        owner: dict[int, tuple[int, int]] = {}
        n = len(piece.nodes)
        for row, column in zip(self._structure.row.tolist(), self._structure.column.tolist(), strict=True):
            if row >= m and rows[row] < 0:
                class_, child = owner.get(row, (-1, -1))
                owner[row] = (piece.owner[column], child) if column < n else (class_, column - n)
        pays = [(piece.classes[a], piece.classes[b], -rows[row]) for row, (a, b) in sorted(owner.items())]
        rewards = [
            (self._sets.of(piece, cut), -rows[structural + k])
            for k, cut in enumerate(self.known)
            if structural + k < len(rows) and rows[structural + k] < 0
        ]
        return Payments(tuple(pays), tuple(rewards))


def _clipped(left: int, per_unit: int, unit: float) -> float:
    """What is left of a cost, magnified."""
    value = left / per_unit / unit
    return max(-LARGEST, min(LARGEST, value))
