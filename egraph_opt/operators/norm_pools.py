"""Pools that are norms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import Int, Tensor
from egraph_opt.operators.windows import PoolWindow, settings_of, window_of

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def _lp_pool_form(opset: int, attributes: tuple[int, PoolWindow], facts: tuple[Fact, ...]) -> OnnxForm | None:
    power, window = attributes
    settings = settings_of(window) | {"p": power}
    if any(d != 1 for d in window.dilations):
        if opset < 18:
            return None
        settings["dilations"] = window.dilations
    if window.ceil_mode:
        if opset < 18:
            return None
        settings["ceil_mode"] = 1
    return OnnxForm("LpPool", (0,), tuple(sorted(settings.items())))


@operator(form=_lp_pool_form)
def lp_pool(power: Int, x: Tensor, window: PoolWindow) -> Tensor:
    """The p-norm of what is in a window; pads are zeros."""


@lowers("LpPool")
def _lower_lp_pool(node: NodeReader) -> TermSpec | None:
    window, power = window_of(node), node.attribute("p")
    return (
        None if window is None or not isinstance(power, int) else TermSpec("lp_pool", (power, window), (0,))
    )
