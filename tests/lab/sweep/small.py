"""A small model that flips from one graph to another, and a cost model that makes it."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import parser

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
small (float[4, 8] x, float[4, 8] z) => (float[4, 8] y)
{
    n = Neg (z)
    a = Add (x, n)
    y = Relu (a)
}
"""

COSTS = '''
import os
import signal
import time
from pathlib import Path

from egraph_opt import CostModel, NodeView, parameter

HERE = Path(__file__).parent


class Trade(CostModel):
    """Sub is Neg and Add in one, which is worth it up to 2 us."""

    name = "trade"
    unit = "us"
    sub_us = parameter(1.0, "us per Sub", least=0.01, most=100.0)
    idle_us = parameter(1.0, "us per nothing", most=10.0)
    stride = parameter(2, "elements", least=1, most=64)
    mode = parameter("plain", "rule", choices=["plain", "odd"])
    by_type = parameter({"Neg": 1.0, "Add": 1.0}, "us per node", most=50.0)
    named = parameter(["Relu"], "operators", choices=["Relu", "Neg"])

    def cost(self, node: NodeView) -> float:
        if node.op_type == "Sub":
            return self.sub_us * (10 if self.mode == "odd" else 1)
        return self.by_type.get(node.op_type, 1.0 + 0.01 * self.stride) + node.body_cost


class Limited(Trade):
    """The same, with a limit that laws look at."""

    name = "limited"
    window = parameter(8, "elements", least=1, most=64)

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.limits = {"pool_window": self.window}


class Slow(Trade):
    """The same, as much later as a file says."""

    name = "slow"

    def cost(self, node: NodeView) -> float:
        time.sleep(float((HERE / "pause").read_text()))
        return super().cost(node)


class Failing(Trade):
    """The same, for cheap Subs only."""

    name = "failing"

    def cost(self, node: NodeView) -> float:
        return super().cost(node) / (self.sub_us < 2.0)


class Deadly(Trade):
    """Ends the process that asks, as often as a file says."""

    name = "deadly"

    def cost(self, node: NodeView) -> float:
        lives = HERE / "lives"
        left = int(lives.read_text())
        if left and self.sub_us > 2.0:
            lives.write_text(str(left - 1))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().cost(node)
'''

SPEC = """
models = ["small.onnx"]

[[cost]]
model = "costs.py:Trade"
grid = { sub_us = [0.5, 1.0, 1.9, 2.1, 3.0], mode = ["plain", "odd"] }
"""


def write_example(folder: Path, spec: str = SPEC) -> Path:
    """The model, its cost models and a sweep of them; the path of the sweep."""
    onnx.save(parser.parse_model(MODEL), folder / "small.onnx")
    (folder / "costs.py").write_text(COSTS, encoding="utf-8")
    path = folder / "spec.toml"
    path.write_text(spec, encoding="utf-8")
    return path
