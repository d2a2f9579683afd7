"""Where a result differs from the model, by which laws, and what that saves: for programs and for people."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from egraph_opt.foreign_text import printable, printable_lines
from egraph_opt.report.text import number_text

WIDTH = 80

NOT_RECORDED = (
    "inferred: which law made two tensors equal is not recorded; this is the shortest chain that could have"
)
"""What is said of laws that an e-node does not name."""

NO_LAW = "no law: constants computed, equal nodes joined, or branches decided"


@dataclass(frozen=True)
class LawOfDifference:
    """A law that a difference rests on.

    Attributes:
        key: `ruleset.name`.
        formula: in words of mathematics.
        recorded: it wrote a node or a constant of the result, which the e-graph has recorded; else it is part
            of the shortest chain of laws that leads from the model's node to the chosen one.
    """

    key: str
    formula: str
    recorded: bool


@dataclass(frozen=True)
class NodeLine:
    """A node as a line of text.

    Attributes:
        name: of the node; may be empty.
        tensors: that it computes.
        text: the line.
        law: that wrote it, "" of a node of the model.
        cost: what is paid for it; of a fused kernel all at its last node.
    """

    name: str
    tensors: tuple[str, ...]
    text: str
    law: str = ""
    cost: float = 0.0


@dataclass(frozen=True)
class NextBest:
    """What the tensor of a difference could have been computed by instead."""

    tensor: str
    text: str
    law: str
    difference: float
    proved: bool


@dataclass(frozen=True)
class ExplainedDifference:
    """A region of the model and the region of the result that computes the same.

    Attributes:
        within: the nodes in whose bodies it is.
        gives: the tensors that both compute.
        before, after: nodes.
        constants: new ones by name and type, and what changed in those of the same name.
        laws: those recorded first.
        cost_before, cost_after: of the nodes, in the unit of the explanation.
        outputs: of one graph only that it computes.
        weights: the constants that its nodes read, on either side.
    """

    within: tuple[str, ...]
    gives: tuple[str, ...]
    before: tuple[NodeLine, ...]
    after: tuple[NodeLine, ...]
    constants: tuple[str, ...]
    laws: tuple[LawOfDifference, ...]
    cost_before: float
    cost_after: float
    next_best: NextBest | None = None
    outputs: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """What it computes, and where."""
        one_sided = (
            f"output {', '.join(map(printable, self.outputs))} of one model only" if self.outputs else ""
        )
        gives = ", ".join(map(printable, self.gives)) or one_sided or "nothing that is left"
        return f"{gives} in {printable(' / '.join(self.within))}" if self.within else gives

    @property
    def saved(self) -> float:
        return self.cost_before - self.cost_after

    def names(self) -> set[str]:
        """The nodes and tensors that it is about."""
        lines = (*self.before, *self.after)
        return {
            *self.gives,
            *self.weights,
            *(line.name for line in lines),
            *(t for line in lines for t in line.tensors),
        }


@dataclass(frozen=True)
class Contribution:
    """What the laws of a ruleset did: matches, nodes of the result, and what they saved."""

    ruleset: str
    matches: int
    used: int
    saved: float


@dataclass(frozen=True)
class Explanation:
    """Why a result is equal to its model, and what that is worth.

    Attributes:
        model: the name of the cost model, with its `unit`.
        headline: what was done.
        differences: those that save most first.
        kept: nodes that are as they were.
        repriced: what is saved at nodes that are in both, and cost less (or more) because of what is around
            them, and by conversions of formats.
        contributions: the ruleset that saved most first.
        about: the node or tensor that was asked for, "" for all.
        unchanged: what is said of it where it is part of no difference.
        knows_laws: it is known by which laws the differences came, of which there may be none.
        around: differences that are in no node: opsets, inputs, outputs, defaults.
    """

    model: str
    unit: str
    headline: str
    differences: tuple[ExplainedDifference, ...]
    kept: int
    repriced: float = 0.0
    contributions: tuple[Contribution, ...] = ()
    about: str = ""
    knows_laws: bool = True
    around: tuple[str, ...] = ()
    unchanged: str = ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The text, at most 80 columns wide where names are no longer."""
        found = wrapped(self.headline)
        for text in self.around:
            found += wrapped(text, "  ", "      ")
        if self.about and not self.differences:
            return [*found, *wrapped(f"{printable(self.about)} is {self.unchanged}")]
        for number, difference in enumerate(self.differences, start=1):
            found += ["", *self._difference(number, difference)]
        if not self.about:
            found += ["", *self._whole()]
        if any(not law.recorded for difference in self.differences for law in difference.laws):
            found += wrapped(NOT_RECORDED)
        return found

    def _difference(self, number: int, difference: ExplainedDifference) -> Iterator[str]:
        heading = f"{difference.heading}{self._saved(difference)}"
        yield from wrapped(f"{number} of {len(self.differences)}: {heading}")
        for side, nodes in (("before", difference.before), ("after", difference.after)):
            yield f"  {side}"
            for line in nodes:
                note = f"  [{line.law}]" if line.law else ""
                yield from wrapped(f"{line.text}{note}", "    ", "        ")
            if not nodes:
                yield "    (nothing)"
        for text in difference.constants:
            yield from wrapped(f"with {text}", "    ", "        ")
        if self.knows_laws:
            yield from self._laws(difference.laws)
        if difference.next_best is not None:
            best = difference.next_best
            more = f"+{number_text(best.difference)} {self.unit}{'' if best.proved else ' (not proved)'}"
            yield from wrapped(f"next best {best.tensor}: {more}: {best.text} [{best.law}]", "  ", "    ")

    def _saved(self, difference: ExplainedDifference) -> str:
        if not (math.isfinite(difference.cost_before) and math.isfinite(difference.cost_after)):
            return ""
        before, after = number_text(difference.cost_before), number_text(difference.cost_after)
        return f": {before} -> {after} {self.unit}"

    @staticmethod
    def _laws(laws: Sequence[LawOfDifference]) -> Iterator[str]:
        if not laws:
            yield f"  {NO_LAW}"
        for recorded in (True, False):
            group = [law for law in laws if law.recorded is recorded]
            for law in group:
                how = "by" if recorded else "inferred"
                yield from wrapped(f"{how} {law.key}: {law.formula}", "  ", "      ")

    def _whole(self) -> Iterator[str]:
        unchanged = f"{self.kept:,} {'node is' if self.kept == 1 else 'nodes are'} as before"
        yield unchanged
        if abs(self.repriced) > 1e-9 and math.isfinite(self.repriced):
            more = "saved" if self.repriced > 0 else "more"
            yield from wrapped(
                f"{number_text(abs(self.repriced))} {self.unit} {more} at nodes that are in both and in"
                " conversions of formats, by what is around them now"
                f"{' or in their bodies' if any(entry.within for entry in self.differences) else ''}"
            )
        if self.contributions:
            yield f"{'ruleset':<32}{'matches':>10}{'nodes used':>12}{self.unit + ' saved':>16}"
        for row in self.contributions:
            yield f"{row.ruleset:<32}{row.matches:>10,}{row.used:>12,}{number_text(row.saved):>16}"


def wrapped(text: str, first: str = "", others: str = "  ") -> list[str]:
    """A text in lines of 80 columns, of which names that would break or steer them are escaped."""
    return textwrap.wrap(
        printable_lines(text), WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
