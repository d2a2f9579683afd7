"""A model whose graphs are chosen by prices and compared by a clock."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from egraph_opt.cost.model import CostModel
from egraph_opt.errors import TimingError
from egraph_opt.graph.timed_runtime import Runtime, complaint_of
from egraph_opt.lab.sweep.repricer import Repricer, graph_key
from egraph_opt.measurement.whole import Latency, latencies
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.saturated import Saturated


@dataclass(frozen=True)
class Speed:
    """How fast a graph is beside another one, as logarithms of the ratio of their times.

    Attributes:
        gain: above 0 where it is faster.
        error: half of the width of its 95 % interval, downwards.
    """

    gain: float
    error: float

    @staticmethod
    def of(latency: Latency) -> Speed:
        gain = math.log(latency.speedup)
        return Speed(gain, max(gain - math.log(max(latency.low, 1e-9)), 0.0))


class Subject:
    """A saturated model: what cost models choose of it, and how fast that runs.

    A graph is rebuilt, verified and timed beside the original the first time that it is chosen.
    """

    def __init__(self, name: str, saturated: Saturated, runtime: Runtime, seconds: float) -> None:
        self.name, self.saturated, self.runtime, self.seconds = name, saturated, runtime, seconds
        self.repricer = Repricer(saturated)
        self._chosen: dict[str, str] = {}
        self._graphs: dict[str, tuple[CostModel, Extracted]] = {}
        self._results: dict[str, Result] = {}
        self.speeds: dict[str, Speed] = {}

    def prices(self, model: CostModel) -> str:
        """A hash of all its prices."""
        return self.repricer.prices(model)

    def choose(self, model: CostModel) -> str:
        """The key of the graph that a cost model chooses; prices that were seen are not solved again.

        Raises:
            TargetMismatchError: the e-graph lacks what the cost model brings.
        """
        prices = self.prices(model)
        if prices not in self._chosen:
            extracted = self.saturated.solve(model, on_interrupt="raise")
            key = graph_key(extracted)
            self._chosen[prices] = key
            self._graphs.setdefault(key, (model, extracted))
        return self._chosen[prices]

    def speed(self, key: str) -> Speed:
        """How fast a chosen graph is beside the original.

        Raises:
            TimingError: the runtime cannot run it.
        """
        if key not in self.speeds:
            (self.speeds[key],) = self.compare(None, [key], self.seconds)
        return self.speeds[key]

    def compare(self, base: str | None, keys: Sequence[str], seconds: float) -> list[Speed]:
        """How fast chosen graphs are beside another one, or beside the original, timed in turns.

        Raises:
            TimingError: the runtime cannot run one of them.
        """
        original, proto = self._original()
        with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
            place = {
                key: str(self._result(key).save(Path(folder) / f"{key}.onnx"))
                for key in dict.fromkeys([*keys, *([] if base is None else [base])])
            }
            models = [original if base is None else place[base], *(place[key] for key in keys)]
            points = self.saturated.points(self._graphs[keys[0]][0])
            try:
                timed = latencies(models, self.runtime, points, proto, seconds=seconds)
            except Exception as error:  # the runtime raises what it likes
                raise TimingError(
                    f"{self.name}: onnxruntime cannot time it: {complaint_of(error)}"
                ) from error
        return [Speed.of(latency) for latency in timed[1:]]

    def _original(self) -> tuple[bytes | str, onnx.ModelProto]:
        """The original for the runtime, and its interface."""
        source = self.saturated.loaded.runnable()
        if isinstance(source, Path):
            return str(source), onnx.load(source, load_external_data=False)
        return source.SerializeToString(), source

    def _result(self, key: str) -> Result:
        if key not in self._results:
            model, extracted = self._graphs[key]
            self._results[key] = self.saturated.extract(
                model, warm=extracted, measure=0, on_interrupt="raise"
            )
        return self._results[key]
