"""ONNX Runtime, measured: what each node takes on this machine, timed once and kept.

Every distinct node that the e-graph offers is run as a model of its own under the runtime's profiler, with
the optimisations that the runtime will apply to the result.  A pseudo-operator is measured as the nodes that
it stands for: what the runtime fuses of them costs what the fused kernel costs, and what it does not fuse
what its parts do, without anybody having to say which.  `onnxruntime:2` measures with two threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from types import MappingProxyType

from onnx import TensorProto

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.layouts import is_conversion, is_laid
from egraph_opt.cost_models.onnxruntime_layout import BLOCK, measured_as, without_profiler
from egraph_opt.cost_models.onnxruntime_layout import price as layout_price
from egraph_opt.errors import LimitsError
from egraph_opt.graph.runtime import RuntimeSetting
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


APPLIED = MappingProxyType(
    {
        "activations.gelu": frozenset(("Mul",)),
        "convolution.scale_after_conv": frozenset(("BatchNormalization",)),
        "convolution.shift_after_conv": frozenset(("BatchNormalization",)),
        "gemm.product_and_sum": frozenset(("Add",)),
        "normalization.centred": frozenset(("Add", "Mul")),
        "normalization.root_mean_square": frozenset(("Mul", "Div")),
    }
)
"""What the runtime makes of a model by itself (its `optimizer/*_fusion.cc`), beside pseudo-operators."""


class OnnxRuntime(CostModel):
    """Microseconds in ONNX Runtime on this machine.

    Args:
        variant: threads within an operator, as text; 1 if empty.
        level: of the runtime's own optimisations: disable, basic, extended, all.
        provider: execution provider.
        seconds: how long to measure; 0 for what is known from before, and estimates.
        store: where measurements are kept; by default a file in the user's cache folder.

    Raises:
        LimitsError: less than one thread, or less than no time.
        UnknownSettingError: no such level, or a provider that is not available here.
    """

    name = "onnxruntime"
    unit = "us"
    rulesets = ("ascend.fusion", "onnxruntime.bytes", "onnxruntime.layout", "onnxruntime.spelling")
    limits = MappingProxyType(
        {"blocked_channels": BLOCK, "byte_kernels": 1, "fused_stages": STAGES, "lift_conv1d": 1}
    )
    pseudo_operators = frozenset(
        (
            "byte_kernel",
            "fused_cube",
            "unary",
            "layer_norm",
            "shifted_layer_norm",
            "rms_norm",
            "scores",
            "attention",
            "masked_attention",
            "to_layout",
            "from_layout",
            "laid",
        )
    )
    applied = APPLIED
    margin = MARGIN
    confirm = 4
    setting: RuntimeSetting

    def __init__(
        self,
        variant: str = "",
        *,
        level: str = "all",
        provider: str = "CPUExecutionProvider",
        seconds: float = SECONDS,
        store: Store | None = None,
    ) -> None:
        self.setting = RuntimeSetting(int(variant or 1), level, provider)
        self.setting.check()
        if not seconds >= 0:
            raise LimitsError(f"seconds={seconds}: must be 0 or more")
        if variant:
            self.name = f"onnxruntime:{variant}"
        self.seconds = seconds
        self.store = store or Store(default_path())
        self.estimator = Estimator()
        self._learned: set[str] = set()

    @cached_property
    def place(self) -> Place:
        """What its measurements hold for; the runtime is loaded to ask for its version."""
        return Place.here(self.setting)

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        return tuple(str(threads) for threads in range(1, (os.cpu_count() or 1) + 1))

    def prepare(self, views: Sequence[NodeView], progress: Callable[[float], None]) -> None:
        merged = [found for view in views if (found := _behind_sum(view)) is not None]
        wanted = (measured_as(view) for view in (*views, *merged) if not counting.is_view(view))
        keys = {specimen_key(view): view for view in wanted}
        self.store.refresh(self.place, keys)
        known = self.store.known(self.place)
        waiting: list[Specimen] = []
        refused: dict[str, Refusal] = {}
        for key, view in keys.items():
            if key not in known:
                try:
                    waiting.append(specimen_of(view))
                except UnmeasurableError as error:
                    refused[key] = Refusal(str(error))
        self.store.add(self.place, refused)
        if waiting and self.seconds > 0:
            for answers in measured(waiting, self.setting, self.seconds, progress):
                self.store.add(self.place, answers)
        for key, view in keys.items():
            answer = known.get(key)
            if isinstance(answer, Measurement) and key not in self._learned:
                self._learned.add(key)
                self.estimator.learn([(view.op_type, _size(view), self._price(answer))])

    def _price(self, answer: Measurement) -> float:
        ends = (answer.entering > 0) + (answer.leaving > 0)
        return without_profiler(answer.micros + answer.entering + answer.leaving, answer.kernels + ends)

    def _known(self, view: NodeView) -> Measurement | None:
        answer = self.store.known(self.place).get(specimen_key(view))
        return answer if isinstance(answer, Measurement) else None

    def _at_risk(self, node: NodeView, own: float) -> float:
        """What is added where the runtime fuses a node with the one before to something slower than both.

        A price does not know what stands before.  So it is twice what views between the two are priced at:
        then those are written.
        """
        merged = _behind_sum(node)
        answer = None if merged is None else self._known(merged)
        if answer is None or self._price(answer) < 2 * own:
            return 0.0
        return 2 * (2 * VIEW + MARGIN * own)

    def remarks(self, views: Sequence[NodeView]) -> Sequence[str]:
        """How many prices are estimates, and of which operators."""
        priced = [v for v in views if v.op_type not in counting.LEAVES and not counting.is_view(v)]
        keys = {specimen_key(view): view for view in map(measured_as, priced)}
        missing = [view for view in keys.values() if self._known(view) is None]
        if not missing:
            return ()
        names = sorted({view.op_type for view in missing})
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return (f"{len(missing)} of {len(keys)} prices are estimated, not measured: {shown}",)

    def kernel_name(self, node: NodeView) -> str:
        """Conversions of layouts have the runtime's names."""
        return _REORDERS.get(node.op_type, "") if is_conversion(node) else super().kernel_name(node)

    def of_bodies(self, node: NodeView, costs: Sequence[float]) -> float:
        """Of two branches one runs: the slower one, since nobody knows which."""
        return max(costs, default=0.0) if node.op_type == "If" else super().of_bodies(node, costs)

    def cost(self, node: NodeView) -> float:
        if node.op_type in counting.LEAVES and not node.domain:
            return 0.0
        if counting.is_view(node):
            return VIEW
        if is_conversion(node) or is_laid(node):
            return layout_price(node, self._known)
        answer = self._known(node)
        if answer is not None:
            own = self._price(answer) + self._at_risk(node, self._price(answer))
        elif node.parts is not None:
            own = sum(self.cost(part) for part in node.parts.nodes)
        elif node.outputs and all(fact.shape and 0 in fact.shape for fact in node.outputs):
            own = LEAST  # no kernel runs for nothing
        else:
            own = self.estimator.estimate(node.op_type, _size(node))
        return own + node.body_cost


_REORDERS = {"ToLayout": "ReorderInput", "FromLayout": "ReorderOutput"}


def _behind_sum(view: NodeView) -> NodeView | None:
    """What the runtime makes of a normalisation of rows that follows a sum which nobody else uses."""
    rows = view.inputs[0] if view.op_type == "LayerNormalization" and len(view.inputs) > 1 else None
    along = view.attributes.get("axis", -1), view.attributes.get("axes", (2,))
    if rows is None or rows.rank != 3 or rows.dtype != TensorProto.FLOAT or along not in _LAST:
        return None
    settings = MappingProxyType({"epsilon": view.attributes.get("epsilon", 1e-5)})
    inputs = (rows, rows, *view.inputs[1:])
    return NodeView(
        "SkipLayerNormalization", "com.microsoft", settings, inputs, view.outputs, opset=view.opset
    )


_LAST = ((-1, (2,)), (2, (2,)))
"""Axis and axes of a normalisation along the last of three."""


def _size(view: NodeView) -> Size:
    nodes = (view,) if view.parts is None else view.parts.nodes
    return Size(sum(map(counting.flops, nodes)), sum(map(counting.traffic, nodes)))
