"""A model whose e-graph is saturated: priced and extracted any number of times, kept in a file."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from egraph_opt.cost import DEFAULT_COST
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost.repricing import key_of
from egraph_opt.egraph.storage import Stored, StoredRegion, fingerprint, read_saturated, write_saturated
from egraph_opt.errors import EgraphOptError, ExtractionError, ModelReadError, TargetMismatchError
from egraph_opt.extraction.registry import ExtractorLike
from egraph_opt.extraction.strategies.budget import OnInterrupt, interruptible
from egraph_opt.facts.assumption import Assumption, Assumptions
from egraph_opt.graph.node_counts import NodeCount
from egraph_opt.laws.selection import all_laws
from egraph_opt.measurement.runner import Runner
from egraph_opt.memory.objective import ObjectiveLike, objective_of
from egraph_opt.model.reading import LoadedModel
from egraph_opt.pipeline.assumptions import assumptions_for
from egraph_opt.pipeline.egraph_forms import PricedEgraph
from egraph_opt.pipeline.extraction import Request, search_limits, unchanged
from egraph_opt.pipeline.law_questions import LawQuestion
from egraph_opt.pipeline.limits import Clock, Limits, Progress, reading, total
from egraph_opt.pipeline.original import GivenModel, settled
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted, extract_region
from egraph_opt.pipeline.restarts import Again
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.size_points import SizePoint, SizesLike, prepare, size_points
from egraph_opt.pipeline.sizes import points_of, true_sizes
from egraph_opt.pipeline.stored_region import restored
from egraph_opt.pipeline.target import SaturatedFor
from egraph_opt.pipeline.tensor_alternatives import TensorAlternative, tensor_alternatives
from egraph_opt.pipeline.timed_choice import extract_and_verify, good_graphs
from egraph_opt.report.explanation import Explanation
from egraph_opt.report.figures import RewriteReport
from egraph_opt.report.law_answer import LawAnswer

Assume = Mapping[str, Any] | None
Points = Mapping[str, int]
NOTHING: Points = MappingProxyType({})


@dataclass(frozen=True)
class Saturated:
    """A model whose e-graph is saturated: ready to be priced and extracted, any number of times.

    Attributes:
        region: the saturated graph, or None where nothing can be done, for the `reason` given.
        counts: the nodes of the model as it came.
        constant_bytes: of all its constants.
        saturated_for: what took part, and therefore under which cost models it may be priced.
        assume: least and largest value by name of input or symbolic dim: the e-graph is right within them.
        legalize: results are to be made what the target's compiler takes, outside the standard.
        again: saturates a graph that was chosen, as `optimize` does.
        strict: what goes wrong while that is done is raised.
        required: what became of the laws that were required, which were applied before.
        failure: the reason is something that went wrong inside.
    """

    loaded: LoadedModel
    region: Region | None
    counts: NodeCount
    constant_bytes: int
    limits: Limits
    saturated_for: SaturatedFor
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    reason: str = ""
    assume: Assumptions = field(default_factory=dict)
    legalize: bool = False
    again: Again | None = field(default=None, repr=False, compare=False)
    strict: bool = field(default=False, repr=False, compare=False)
    required: tuple[RewriteReport, ...] = ()
    failure: bool = field(default=False, repr=False, compare=False)
    _sizes: dict[Any, Mapping[str, int]] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        source = self.loaded.source
        if self.region is None:
            return f"<Saturated {source}: {self.reason}>"
        parts = self.region.walk()
        e_nodes = sum(part.snapshot.n_nodes for part in parts)
        return f"<Saturated {source}: {self.counts.runtime} run-time nodes, {e_nodes:,} e-nodes>"

    @property
    def original(self) -> GivenModel:
        """The model as it came, and what was found on the way here."""
        return GivenModel(
            self.loaded,
            self.counts,
            self.constant_bytes,
            self.limits,
            self.saturated_for.exactness,
            self.seconds,
            self.warnings,
            self.reason,
            self.legalize,
            self.strict,
            self.required,
            self.saturated_for.left_out,
            self.saturated_for.limits,
        )

    def mismatch(self, cost: str | CostModel) -> str:
        """Which rulesets and limits of a cost model took no part in saturation; "" where all did.

        Cost models with the same rulesets and limits share an e-graph, as do those that have neither.
        """
        return self.saturated_for.mismatch(cost_model(cost))

    def _model(self, cost: str | CostModel, assume: Assume = None) -> CostModel:
        model = cost_model(cost)
        if self.region is not None and (lacking := self.saturated_for.mismatch(model)):
            raise TargetMismatchError(
                f"{self.loaded.source}: was saturated {lacking}, so that {model.name!r} would miss graphs:"
                " saturate it again with this cost model as `target`"
            )
        return settled(model, self.region.original if self.region else (), lambda: self.points(model, assume))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to a `.npz` file, which `load` reads in another process.

        The model goes in too, unless its weights are in files of their own: then its path does.

        Raises:
            OSError: the file cannot be written.
            EgraphOptError: laws were required, which changed the model before it was saturated.
        """
        if self.required:
            raise EgraphOptError(
                f"{self.loaded.source}: is not the model that was saturated, since laws were required of it,"
                " and a file would not know it again: optimize it at once"
            )
        came = self.loaded.original
        inside = not self.loaded.external
        model = came.read_bytes() if isinstance(came, Path) and inside else None
        if model is None and not isinstance(came, Path):
            model = self.loaded.runnable().SerializeToString()  # type: ignore[union-attr]
        regions = [
            StoredRegion(region.snapshot, region.saturation, fingerprint(region.lowered))
            for region in (self.region.walk() if self.region else ())
        ]
        header = {
            "limits": asdict(self.limits),
            **self.saturated_for.as_header(),
            "seconds": dict(self.seconds),
            "warnings": list(self.warnings),
            "reason": self.reason,
            "assume": {name: list(said) for name, said in self.assume.items()},
            "legalize": self.legalize,
        }
        place = None if model is not None else os.path.abspath(str(came))
        return write_saturated(path, Stored(model, place, header, regions))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Saturated:
        """Read what `save` wrote.

        Raises:
            ModelReadError: it is no such file, or the model is not where it was, or not what it was.
        """
        all_laws()  # they bring operators of their own
        stored = read_saturated(path)
        try:
            return cls(*restored(str(path), stored))
        except EgraphOptError:
            raise
        except Exception as error:  # of settings of any kind
            raise ModelReadError(f"{path}: not a saturated model: {type(error).__name__}: {error}") from error

    def extract(
        self,
        cost: str | CostModel = DEFAULT_COST,
        *,
        extractor: ExtractorLike = "auto",
        objective: ObjectiveLike = "cost",
        assume: Assume = None,
        verify: bool = True,
        strict: bool = False,
        seed: int = 0,
        progress: Progress | None = None,
        warm: Extracted | None = None,
        on_interrupt: OnInterrupt = "best",
        measure: bool | int | Runner | None = None,
        restarts: bool = False,
        metadata: bool = True,
        sizes: SizesLike | None = None,
    ) -> Result:
        """Choose the cheapest graph under a cost model, rebuild and verify it.

        What `assume` says comes on top of what `saturate` was given, and has to stay within it.
        `extractor`, `objective`, `measure` and `sizes` are those of `optimize`.  `warm` is what `solve`
        chose, to start from.  Ctrl-C during the choice ends it with the best found so far, which a warning
        says, or with `on_interrupt="raise"` raises KeyboardInterrupt.  With `restarts` the chosen graph is
        saturated again, as `optimize` does, as long as it gets cheaper by that.

        Raises:
            UnknownCostModelError: no cost model of that name.
            TargetMismatchError: it brings rulesets or limits that took no part in saturation.
            ObjectiveError: no such objective.
            InputShapeError: sizes of no input.
            ExtractionError: a price that is negative or no number.
            VerificationError: with strict, where the outputs differ.
        """
        region, clock = self.region, Clock(progress)
        clock("price" if region is not None and self.limits.seconds else "")
        model, wanted = self._model(cost, assume), objective_of(objective)
        if region is None or self.limits.seconds == 0:
            return unchanged(self.original, model)
        asked = replace(
            self._request(model, assume, sizes, clock),
            objective=wanted,
            extractor=extractor,
            seed=seed,
            warm=warm,
            on_interrupt=on_interrupt,
            verify=verify,
            strict=strict,
            measure=model.confirm if measure is None else measure,
            again=self.again if restarts else None,
            metadata=metadata,
        )
        return extract_and_verify(self.original, region, asked, clock)

    def _request(
        self, model: CostModel, assume: Assume, sizes: SizesLike | None = None, clock: Clock | None = None
    ) -> Request:
        """What is asked of a cost model at some sizes."""
        ranges, clock = self._ranges(assume), clock or Clock(None)
        found = size_points(self.loaded, sizes, ranges, lambda said: self.points(model, assume, said))
        clock("")
        return Request(
            model=model,
            objective=objective_of("cost"),
            ranges=ranges,
            points=found[0].points,
            deadline=self._deadline(model, found, clock),
            end=time.monotonic() + max(self.limits.seconds - self._spent(clock), 0.0),
            sizes=tuple(found),
        )

    def explain(self, cost: str | CostModel = DEFAULT_COST, node: str | None = None) -> Explanation:
        """`Result.explain` of the result, which is not verified.

        Raises:
            UnknownTensorError: there is no such name; suggests the nearest.
            UnknownCostModelError, TargetMismatchError, ExtractionError: as in `extract`.
        """
        return self.extract(cost, verify=False, restarts=self.again is not None).explain(node)

    def explain_law(self, law: str, cost: str | CostModel = DEFAULT_COST, at: str | None = None) -> LawAnswer:
        """What became of a law (`ruleset.name`): used, declined, or which condition failed where.

        Args:
            at: a tensor or a node of the model or of the result; only there.

        Raises:
            UnknownLawError, UnknownTensorError: there is no such law or name; others as in `solve`.
        """
        model = self._model(cost)
        found = self.solve(model, on_interrupt="raise")
        assert self.region is not None  # or `solve` would have raised
        key = key_of(model, self.points(model), self.limits.fold_bytes)
        asked = (self.loaded.model, self.region, found, self.saturated_for, self.limits, model.unit, key)
        return LawQuestion(*asked, partial(self.extract, model, verify=False, warm=found)).answer(law, at)

    def best(
        self, count: int, cost: str | CostModel = DEFAULT_COST, *, assume: Assume = None
    ) -> list[Result]:
        """Good graphs, none twice, to be timed or looked at: the cheapest first, which is verified.

        The others are the cheapest where whatever the original does not have is priced higher or lower.
        """
        model = self._model(cost, assume)
        if self.region is None or self.limits.seconds == 0:
            return [unchanged(self.original, model)]
        request = replace(self._request(model, assume), measure=count)
        return list(good_graphs(self.original, self.region, request, Clock(None)).by_request.values())

    def solve(
        self,
        cost: str | CostModel = DEFAULT_COST,
        *,
        extractor: ExtractorLike = "auto",
        assume: Assume = None,
        seed: int = 0,
        warm: Extracted | None = None,
        on_interrupt: OnInterrupt = "best",
    ) -> Extracted:
        """Choose the cheapest graph under a cost model and stop there, for tuning of cost models.

        What does not depend on prices is worked out once and kept (`Region.cache`), so that the next cost
        model is answered in a fraction of the time.  `warm` is the last answer, from which the search starts
        where it is better than the original graph.  (`extract` may choose again with fewer folded constants,
        where those would make the file too large.)

        Returns:
            Its `solution` has cost, bound and gap; `fusion_saving` is to be taken off the original's cost.

        Raises:
            UnknownCostModelError: no cost model of that name.
            TargetMismatchError: it brings rulesets or limits that took no part in saturation.
            ExtractionError: a price that is negative or no number, or a model that nothing can be done for.
        """
        model = self._model(cost, assume)
        if self.region is None:
            raise ExtractionError(f"{self.loaded.source}: there is nothing to choose from: {self.reason}")
        sizes = [SizePoint(self.points(model, assume), 1.0, {})]
        deadline = self._deadline(model, sizes, Clock(None))
        with interruptible(on_interrupt) as stop:
            return extract_region(
                self.region,
                model,
                sizes,
                search=search_limits(self.limits, extractor, seed, stop, deadline),
                fold_bytes=self.limits.fold_bytes,
                clock=lambda stage: None,
                warm=warm,
            )

    def priced(
        self, cost: str | CostModel = DEFAULT_COST, *, assume: Assume = None, seed: int = 0
    ) -> PricedEgraph:
        """The e-graph with its costs and what is chosen of it, for other programs: `to_json`, `to_dot`.

        Raises:
            UnknownCostModelError, TargetMismatchError, ExtractionError: as in `solve`.
        """
        model = self._model(cost)
        found = self.solve(model, assume=assume, seed=seed)
        assert self.region is not None  # or `solve` would have raised
        return PricedEgraph(
            self.region.compiled(key_of(model, self.points(model, assume), self.limits.fold_bytes)), found
        )

    def _deadline(self, model: CostModel, sizes: Sequence[SizePoint], clock: Clock) -> float:
        """When a choice that begins now has to end; what a model measures first has a limit of its own."""
        if model.runtime is not None and self.region is not None:
            clock("price")
            prepare(model, self.region, sizes, self.limits.fold_bytes, clock.share)
        return self.limits.choice_deadline(self._spent(clock), reading(self.seconds))

    def _spent(self, *clocks: Clock) -> float:
        """Seconds of all stages that have ended."""
        return math.fsum(total(self.seconds, *(clock.seconds for clock in clocks)).values())

    def _ranges(self, assume: Assume) -> dict[str, Assumption]:
        return {**self.assume, **assumptions_for(self.loaded, assume)}

    def points(self, model: CostModel, assume: Assume = None, said: Points = NOTHING) -> Points:
        """What symbolic dims are priced at: a number by name; `said` is what the user wants of some."""
        region = self.region
        points = points_of(region.inputs if region else (), self._ranges(assume), said)
        key = (model.runtime, tuple(points.items()))
        if region is not None and key not in self._sizes:
            end = self.limits.run_deadline(self._spent())
            self._sizes[key] = true_sizes(self.loaded, region, points, self.limits, model.runtime, end=end)
        return self._sizes.get(key, points)

    def alternatives(
        self,
        cost: str | CostModel,
        name: str,
        *,
        extractor: ExtractorLike = "auto",
        assume: Assume = None,
        seed: int = 0,
    ) -> list[TensorAlternative]:
        """What could compute a tensor, and what the cheapest graph with each would cost.

        Args:
            cost: a cost model or the name of one.
            name: of a tensor or a node, of the model (its bodies too) or of what `extract` makes of it.
            extractor, assume, seed: as in `extract`.

        Returns:
            The chosen way first, then the others, cheapest first; not to compute the tensor at all is one of
            them where that is possible.  Of a tensor of a body, costs are those of the body.

        Raises:
            UnknownTensorError: there is no such name; suggests the nearest.
            UnknownCostModelError, TargetMismatchError, ExtractionError: as in `solve`.
        """
        model = self._model(cost, assume)
        found = self.solve(model, extractor=extractor, assume=assume, seed=seed, on_interrupt="raise")
        assert self.region is not None  # or `solve` would have raised
        key = key_of(model, self.points(model, assume), self.limits.fold_bytes)
        return tensor_alternatives(self.region, found, key, self.loaded.model, name)
