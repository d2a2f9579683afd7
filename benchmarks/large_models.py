"""The whole path at sizes up to 50,000 nodes: seconds by stage, growth, and how time grows.

    python benchmarks/large_models.py --blocks 160 --blocks 1600 --blocks 8333 --cost nodes

A block of six nodes is a 1-D convolution with Relu, a Sigmoid between two Transposes, and a sum over both.
Without verification, which runs the model and is not the optimiser's.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Annotated

import numpy as np
import onnx
import typer
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

from egraph_opt import optimize

CHANNELS, LENGTH = 8, 32


def blocks_of(count: int) -> onnx.ModelProto:
    """A network of so many blocks."""
    random = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"
    for k in range(count):
        weight = random.standard_normal((CHANNELS, CHANNELS, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(weight * np.float32(0.2), f"w{k}"))
        nodes += [
            helper.make_node("Conv", [x, f"w{k}"], [f"conv{k}"], pads=[1, 1]),
            helper.make_node("Relu", [f"conv{k}"], [f"relu{k}"]),
            helper.make_node("Transpose", [f"relu{k}"], [f"turned{k}"], perm=[0, 2, 1]),
            helper.make_node("Sigmoid", [f"turned{k}"], [f"sigmoid{k}"]),
            helper.make_node("Transpose", [f"sigmoid{k}"], [f"back{k}"], perm=[0, 2, 1]),
            helper.make_node("Add", [f"back{k}", x], [f"x{k}"]),
        ]
        x = f"x{k}"
    shape = [1, CHANNELS, LENGTH]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", x)]
    graph = helper.make_graph(nodes, "blocks", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main(
    blocks: Annotated[list[int] | None, typer.Option(help="How many blocks of six nodes.")] = None,
    cost: str = "nodes",
) -> None:
    """Optimise a network of each size and print a table."""
    stages = ("load", "lower", "saturate", "price", "extract", "rebuild")
    table = Table("nodes", "e-nodes", "stop", "cost", "after", "gap", "seconds", *stages)
    optimize(blocks_of(1), cost, verify=False)  # builds the rules
    sizes, times = [], []
    for count in blocks or [160, 1600, 8333]:
        model = blocks_of(count)
        start = time.perf_counter()
        report = optimize(model, cost, verify=False).report
        times.append(time.perf_counter() - start)
        sizes.append(len(model.graph.node))
        figures = f"{report.cost.before:.6g}", f"{report.cost.after:.6g}", f"{100 * report.cost.gap:.2f} %"
        grown = f"{report.saturation.nodes}", report.saturation.stop
        parts = [f"{report.seconds.get(stage, 0.0):.1f}" for stage in stages]
        table.add_row(f"{sizes[-1]}", *grown, *figures, f"{times[-1]:.1f}", *parts)
    console = Console(width=130)
    console.print(table)
    if len(set(sizes)) > 1:
        console.print(f"time grows with n to the {np.polyfit(np.log(sizes), np.log(times), 1)[0]:.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    console.print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    typer.run(main)
