"""OpenVINO, measured (see `measured`); `openvino:2` measures with two threads."""

from __future__ import annotations

from types import MappingProxyType

from egraph_opt.cost_models.measured import SECONDS, STAGES, MeasuredRuntime
from egraph_opt.measurement.runtimes.openvino import OpenVinoRuntime
from egraph_opt.measurement.store import Store
from egraph_opt.measurement.timing import Measurement

DISPATCH = 0.5
"""Microseconds between kernels, which its profile does not show."""


class OpenVino(MeasuredRuntime):
    """Microseconds in OpenVINO on this machine's processor.

    Its kernels take most layouts, so that what it converts around a node that is alone costs nothing within
    a model.

    Args:
        variant: threads of an inference, as text; 1 if empty.
        precision: of products, such as "f32"; "" for what the runtime takes by itself.
        seconds: how long to measure; 0 for what is known from before, and estimates.
        store: where measurements are kept; by default a file in the user's cache folder.

    Raises:
        LimitsError: less than one thread, or less than no time.
        CostModelError: OpenVINO is not installed.
        UnknownSettingError: no such precision.
    """

    name = "openvino"
    rulesets = ("ascend.fusion",)
    limits = MappingProxyType({"fused_stages": STAGES, "lift_conv1d": 1})
    pseudo_operators = frozenset(("fused_cube", "layer_norm", "rms_norm", "scores", "attention"))

    def __init__(
        self, variant: str = "", *, precision: str = "", seconds: float = SECONDS, store: Store | None = None
    ) -> None:
        runtime = OpenVinoRuntime(int(variant or 1), precision)
        super().__init__(runtime, variant, seconds=seconds, store=store)

    def micros(self, answer: Measurement) -> float:
        return answer.micros + DISPATCH * answer.kernels
