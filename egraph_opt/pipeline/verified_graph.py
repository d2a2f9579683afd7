"""The last stages: the rebuilt graph is verified, then legalized where that is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import onnx
import onnx_ir as ir

from egraph_opt.facts.assumption import Assumptions
from egraph_opt.laws.exactness import EXACTNESSES, REAL, Exactness, allows
from egraph_opt.laws.selection import ASSUME, LEGALIZE, all_laws
from egraph_opt.model.metadata import marked
from egraph_opt.model.reading import LoadedModel
from egraph_opt.model.writing import to_proto
from egraph_opt.rebuild.legalization import legalize
from egraph_opt.report.figures import RewriteReport
from egraph_opt.verification.budget import RunBudget
from egraph_opt.verification.checking import REFUSED
from egraph_opt.verification.course import Promise
from egraph_opt.verification.isolated import verify_apart as check_outputs
from egraph_opt.verification.result import SKIPPED, Verification


@dataclass(frozen=True)
class Checks:
    """What is done with a result.

    Attributes:
        verify: compare it with the original.
        assume: least and largest value by name of input or symbolic dim.
        seed: of the inputs.
        changing: laws that took part and change values; where there are any, values may differ.
        legalize: run the passes that leave the standard.
        exactness: what the laws that took part keep.
        granted: laws took for granted what nobody proved, such as that integers are small.
        end: when to be done, as `time.monotonic` has it.
        budget: of memory and time for runs.
    """

    verify: bool
    assume: Assumptions
    seed: int
    changing: tuple[str, ...]
    legalize: bool
    exactness: Exactness = REAL
    granted: bool = False
    end: float = math.inf
    budget: RunBudget | None = None


@dataclass(frozen=True)
class Finished:
    """A result as it is handed out.

    Attributes:
        proto: the model; weights that are in files are still there, by absolute locations.
        loaded: what it was made from, with the metadata that belongs around the result.
        legalized: per pass that changed something, how many nodes.
    """

    proto: onnx.ModelProto
    loaded: LoadedModel
    verification: Verification
    legalized: Mapping[str, int]

    @property
    def rewrites(self) -> tuple[RewriteReport, ...]:
        """The passes that were used, as the report has them."""
        return tuple(
            RewriteReport(LEGALIZE, name, count, count) for name, count in sorted(self.legalized.items())
        )


def finish(rebuilt: ir.Model, loaded: LoadedModel, checks: Checks, clock: Callable[[str], None]) -> Finished:
    """Verify a rebuilt model, then legalize it, which changes `rebuilt`; one that is wrong stays as it is."""
    proto = to_proto(rebuilt, loaded, embed=False)
    clock("verify")
    verification = _verified(proto, loaded, checks) if checks.verify else SKIPPED
    if verification.detail.startswith(REFUSED) and _forget_shapes(rebuilt):
        proto = to_proto(rebuilt, loaded, embed=False)
        verification = _verified(proto, loaded, checks)
    clock("rebuild")
    changed = legalize(rebuilt) if checks.legalize and verification.status != "failed" else {}
    if changed:
        names = ", ".join(f"{LEGALIZE}.{name}" for name in changed)
        checked = "; verified before that" if checks.verify else ""
        remark = f"outside the standard now: {names}{checked}"
        details = [part for part in (verification.detail, remark) if part]
        verification = replace(verification, detail="; ".join(details))
        loaded = replace(loaded, metadata=marked(loaded.metadata, changed))
        proto = to_proto(rebuilt, loaded, embed=False)
    clock("")
    return Finished(proto, loaded, verification, changed)


def _verified(proto: onnx.ModelProto, loaded: LoadedModel, checks: Checks) -> Verification:
    return check_outputs(
        loaded.original,
        proto,
        checks.budget or RunBudget(),
        seed=checks.seed,
        assume=checks.assume,
        approximate=bool(checks.changing),
        promise=Promise(checks.exactness, names=True, small_integers=checks.granted),
        end=checks.end,
    )


def _forget_shapes(model: ir.Model) -> bool:
    """Leave out the shapes of values inside, which are ours: whether there were any.

    Where a model breaks the standard and runs, ONNX's inference sees it as soon as it knows enough.
    """
    found = False
    for node in model.graph.all_nodes():
        for value in node.outputs:
            if value.shape is not None and not value.is_graph_output():
                value.shape, found = None, True
    return found


def value_changing(matched: Iterable[str]) -> tuple[str, ...]:
    """Of these laws (`ruleset.name`) those that change values, sorted."""
    inexact = {entry.key for entry in all_laws() if not entry.exact}
    return tuple(sorted(inexact.intersection(matched)))


def promised(asked: Exactness, matched: Iterable[str]) -> Exactness:
    """What a result keeps: what was asked for, or more where no law of a weaker class matched."""
    classes = {entry.numerics for entry in all_laws() if entry.key in set(matched)}
    kept = (exactness for exactness in EXACTNESSES if all(allows(exactness, found) for found in classes))
    return min((asked, next(kept, REAL)), key=EXACTNESSES.index)


def granted(matched: Iterable[str]) -> list[str]:
    """What a user has to know of laws that take for granted what nobody proved."""
    laws = sorted(key for key in set(matched) if key.partition(".")[0] == ASSUME)
    return [f"right only where what {', '.join(laws)} took for granted is true"] if laws else []


def warnings_of(verification: Verification, changing: Iterable[str]) -> list[str]:
    """What a user has to know of a verification."""
    if verification.status == "not_comparable":
        return [f"not compared with the original: {verification.detail}"]
    if verification.status == "failed":
        return [f"the optimized model failed verification and is not used: {verification.detail}"]
    if verification.status == "approximate":
        return [f"values differ from the original's, as {', '.join(changing)} may do: {verification.detail}"]
    return []
