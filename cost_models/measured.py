"""What each node takes in a runtime on this machine, timed once and kept.

Every distinct node that the e-graph offers is run as a model of its own under the runtime's profiler, with
the optimisations that the runtime will apply to the result.  A pseudo-operator is measured as the nodes that
it stands for: what the runtime fuses of them costs what the fused kernel costs, and what it does not fuse
what its parts do, without anybody having to say which.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost_models import counting
from egraph_opt.errors import LimitsError
from egraph_opt.forking import cached_property
from egraph_opt.graph.timed_runtime import Runtime
from egraph_opt.measurement.estimates import LEAST, Estimator, Size
from egraph_opt.measurement.specimen import UnmeasurableError, specimen_key, specimen_of
from egraph_opt.measurement.store import Place, Store, default_path
from egraph_opt.measurement.timing import Measurement, Refusal, Specimen, measured

VIEW = 0.4
"""Microseconds of a view, dispatch included: within a model it copies nothing, timed alone it does."""

SECONDS = 60.0
"""How long an optimisation may measure, unless told otherwise."""

STAGES = 4
"""Element-wise operators that a kernel takes in behind its convolution or product."""

MARGIN = 0.04
"""Below this share a measured difference may be noise."""


class MeasuredRuntime(CostModel):
    """Microseconds in a runtime on this machine.

    Args:
        runtime: with its options.
        variant: what follows its name, if anything does.
        seconds: how long to measure; 0 for what is known from before, and estimates.
        store: where measurements are kept; by default a file in the user's cache folder.

    Raises:
        LimitsError: less than no time.
        EgraphOptError: the runtime is not there, see `Runtime.check`.
    """

    unit = "us"
    margin = MARGIN
    confirm = 4
    runtime: Runtime

    def __init__(
        self, runtime: Runtime, variant: str, *, seconds: float = SECONDS, store: Store | None = None
    ) -> None:
        runtime.check()
        if not seconds >= 0:
            raise LimitsError(f"seconds={seconds}: must be 0 or more")
        self.runtime, self.seconds = runtime, seconds
        if variant:
            self.name = f"{self.name}:{variant}"
        self.store = store or Store(default_path())
        self.estimator = Estimator()
        self._learned: set[str] = set()
        self._late: set[str] = set()  # there was no time for them: a price does not change during a choice

    @cached_property
    def place(self) -> Place:
        """What its measurements hold for; the runtime is loaded to ask for its version."""
        return Place.here(self.runtime)

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        return tuple(str(threads) for threads in range(1, (os.cpu_count() or 1) + 1))

    # --- what differs between runtimes ------------------------------------------------------------------

    def measured_as(self, view: NodeView) -> NodeView:
        """The view whose time tells what one costs."""
        return view

    def also_measured(self, view: NodeView) -> Iterator[NodeView]:
        """Other nodes that the price of one rests on."""
        yield from ()

    def micros(self, answer: Measurement) -> float:
        """Microseconds of a node within a model, of what it took alone."""
        return answer.micros + answer.entering + answer.leaving

    def in_model(self, micros: float, kernels: int) -> float:
        return self.micros(Measurement(micros, 0.0, 0.0, kernels, 0.0, 1))

    def of_layout(self, node: NodeView) -> float | None:
        """The price of a node that is about the runtime's own layout; None of others."""
        return None

    def beyond(self, node: NodeView, own: float) -> float:
        """What is added to the measured time of a node."""
        return 0.0

    # ----------------------------------------------------------------------------------------------------

    def prepare(self, views: Sequence[NodeView], progress: Callable[[float], None]) -> None:
        others = [found for view in views for found in self.also_measured(view)]
        wanted = (self.measured_as(view) for view in (*views, *others) if not counting.is_view(view))
        keys = {specimen_key(view): view for view in wanted}
        self.store.refresh(self.place, keys)
        known = self.store.known(self.place)
        waiting: list[Specimen] = []
        refused: dict[str, Refusal] = {}
        for key, view in keys.items():
            if key not in known and key not in self._late:
                try:
                    waiting.append(specimen_of(view))
                except UnmeasurableError as error:
                    refused[key] = Refusal(str(error))
        self.store.add(self.place, refused)
        if waiting and self.seconds > 0:
            for answers in measured(waiting, self.runtime, self.seconds, progress):
                self.store.add(self.place, answers)
            self._late.update(specimen.key for specimen in waiting if specimen.key not in known)
        for key, view in keys.items():
            answer = known.get(key)
            if isinstance(answer, Measurement) and key not in self._learned:
                self._learned.add(key)
                self.estimator.learn([(view.op_type, _size(view), self.micros(answer))])

    def known(self, view: NodeView) -> Measurement | None:
        """What was measured of a node."""
        answer = self.store.known(self.place).get(specimen_key(view))
        return answer if isinstance(answer, Measurement) else None

    def remarks(self, views: Sequence[NodeView]) -> Sequence[str]:
        """How many prices are estimates, and of which operators."""
        priced = [v for v in views if v.op_type not in counting.LEAVES and not counting.is_view(v)]
        keys = {specimen_key(view): view for view in map(self.measured_as, priced)}
        missing = [view for view in keys.values() if self.known(view) is None]
        if not missing:
            return ()
        names = sorted({view.op_type for view in missing})
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return (f"{len(missing)} of {len(keys)} prices are estimated, not measured: {shown}",)

    def of_bodies(self, node: NodeView, costs: Sequence[float]) -> float:
        """Of two branches one runs: the slower one, since nobody knows which."""
        return max(costs, default=0.0) if node.op_type == "If" else super().of_bodies(node, costs)

    def cost(self, node: NodeView) -> float:
        if node.op_type in counting.LEAVES and not node.domain:
            return 0.0
        if counting.is_view(node):
            return VIEW
        if (found := self.of_layout(node)) is not None:
            return found
        answer = self.known(node)
        if answer is not None:
            own = self.micros(answer) + self.beyond(node, self.micros(answer))
        elif node.parts is not None:
            own = sum(self.cost(part) for part in node.parts.nodes)
        elif node.outputs and all(fact.shape and 0 in fact.shape for fact in node.outputs):
            own = LEAST  # no kernel runs for nothing
        else:
            own = self.estimator.estimate(node.op_type, _size(node))
        return own + node.body_cost


def _size(view: NodeView) -> Size:
    nodes = (view,) if view.parts is None else view.parts.nodes
    return Size(sum(map(counting.flops, nodes)), sum(map(counting.traffic, nodes)))
