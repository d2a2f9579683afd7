"""ONNX Runtime, measured (see `measured`); `onnxruntime:2` measures with two threads."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from onnx import TensorProto

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.layouts import is_conversion, is_laid
from egraph_opt.cost_models.measured import MARGIN, SECONDS, STAGES, VIEW, MeasuredRuntime
from egraph_opt.cost_models.onnxruntime_layout import BLOCK, measured_as, without_profiler
from egraph_opt.cost_models.onnxruntime_layout import price as layout_price
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.store import Store
from egraph_opt.measurement.timing import Measurement

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


class OnnxRuntime(MeasuredRuntime):
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

    def __init__(
        self,
        variant: str = "",
        *,
        level: str = "all",
        provider: str = "CPUExecutionProvider",
        seconds: float = SECONDS,
        store: Store | None = None,
    ) -> None:
        runtime = OrtRuntime(int(variant or 1), level, provider)
        super().__init__(runtime, variant, seconds=seconds, store=store)

    def measured_as(self, view: NodeView) -> NodeView:
        return measured_as(view)

    def also_measured(self, view: NodeView) -> Iterator[NodeView]:
        if (found := _behind_sum(view)) is not None:
            yield found

    def micros(self, answer: Measurement) -> float:
        ends = (answer.entering > 0) + (answer.leaving > 0)
        return without_profiler(super().micros(answer), answer.kernels + ends)

    def of_layout(self, node: NodeView) -> float | None:
        return layout_price(node, self.known) if is_conversion(node) or is_laid(node) else None

    def beyond(self, node: NodeView, own: float) -> float:
        """What is added where the runtime fuses a node with the one before to something slower than both.

        A price does not know what stands before.  So it is twice what views between the two are priced at:
        then those are written.
        """
        merged = _behind_sum(node)
        answer = None if merged is None else self.known(merged)
        if answer is None or self.micros(answer) < 2 * own:
            return 0.0
        return 2 * (2 * VIEW + MARGIN * own)

    def kernel_name(self, node: NodeView) -> str:
        """Conversions of layouts have the runtime's names."""
        return _REORDERS.get(node.op_type, "") if is_conversion(node) else super().kernel_name(node)


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
