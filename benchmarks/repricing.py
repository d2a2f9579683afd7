"""How often a second a kept e-graph is priced and extracted anew.

    python benchmarks/repricing.py [--blocks 143] [--rounds 20]

Builds a residual network of so many blocks (7 nodes each), saturates it once, and then asks for the cheapest
graph under one cost model after another, each with other parameters; every cost is compared with that of an
extraction from scratch.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

import numpy as np
import onnx
import typer
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

from egraph_opt import Saturated, saturate
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.repricing import CompiledCache
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.flops import Flops
from egraph_opt.cost_models.nodes import Nodes

CHANNELS = (16, 32, 64)


def residual(blocks: int) -> onnx.ModelProto:
    """Blocks of Conv, BatchNormalization, Relu, Conv, BatchNormalization, Add, Relu of several widths."""
    random = np.random.default_rng(0)
    nodes, weights, x, channels = [], [], "x", CHANNELS[0]

    def layer(source: str, name: str, wide: int) -> str:
        nonlocal channels
        kernel = random.normal(size=(wide, channels, 3, 3)).astype(np.float32) * 0.1
        weights.append(numpy_helper.from_array(kernel, f"{name}_w"))
        scales = [f"{name}_{k}" for k in ("scale", "bias", "mean", "var")]
        values = random.uniform(0.5, 1.5, (4, wide)).astype(np.float32)
        weights.extend(numpy_helper.from_array(row, scale) for row, scale in zip(values, scales, strict=True))
        nodes.append(helper.make_node("Conv", [source, f"{name}_w"], [f"{name}_y"], pads=[1] * 4))
        nodes.append(helper.make_node("BatchNormalization", [f"{name}_y", *scales], [f"{name}_n"]))
        channels = wide
        return f"{name}_n"

    for k in range(blocks):
        inner = layer(x, f"b{k}a", CHANNELS[k * len(CHANNELS) // blocks])
        nodes.append(helper.make_node("Relu", [inner], [f"b{k}r"]))
        last = layer(f"b{k}r", f"b{k}b", CHANNELS[0])
        nodes.append(helper.make_node("Add", [last, x], [f"b{k}s"]))
        x = f"b{k}x"
        nodes.append(helper.make_node("Relu", [f"b{k}s"], [x]))
    shape: list[str | int] = ["N", CHANNELS[0], 16, 16]
    graph = helper.make_graph(
        nodes,
        "residual",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Scaled(CostModel):
    """Another model with prices of some operators multiplied."""

    def __init__(self, base: CostModel, factors: dict[str, float]) -> None:
        self.base, self.factors = base, factors
        self.name, self.unit = f"{base.name}, scaled", base.unit

    def cost(self, node: NodeView) -> float:
        return self.base.cost(node) * self.factors.get(node.op_type, 1.0)


def models(name: str, rounds: int) -> list[CostModel]:
    """So many cost models of a kind, with other parameters each."""
    random = np.random.default_rng(1)
    made: list[CostModel] = []
    for _ in range(rounds):
        if name == "ascend":
            plain = Ascend().soc
            made.append(
                Ascend(
                    fixed_vector_us=plain.fixed_vector_us * random.uniform(0.5, 2.0),
                    fixed_cube_us=plain.fixed_cube_us * random.uniform(0.5, 2.0),
                    memory_gbs=plain.memory_gbs * random.uniform(0.5, 2.0),
                )
            )
        else:
            factors = {
                op: random.uniform(0.5, 2.0) for op in ("Conv", "BatchNormalization", "Add", "Mul", "Relu")
            }
            made.append(Scaled(Nodes() if name == "nodes" else Flops(), factors))
    return made


def main(
    blocks: Annotated[int, typer.Option(help="Blocks of 7 nodes.")] = 143,
    rounds: Annotated[int, typer.Option(help="Cost models of each kind.")] = 20,
) -> None:
    """Print a table: the first extraction, and how many a second after it."""
    table = Table(
        "cost model", "e-nodes", "distinct views", "first, s", "a second, cold", "a second, warm", "proved"
    )
    saturated = saturate(residual(blocks), target="ascend")
    for name in ("nodes", "flops", "ascend"):
        table.add_row(name, *row(saturated, models(name, rounds)))
    Console(width=110).print(table)


def row(saturated: Saturated, priced: list[CostModel]) -> list[str]:
    """The figures of one kind of cost model; its first one warms up."""
    region = saturated.region
    if region is None:
        raise SystemExit(saturated.reason)
    fresh = replace(saturated, region=replace(region, cache=CompiledCache()))
    start = time.perf_counter()
    last = fresh.solve(priced[0])
    first = time.perf_counter() - start
    start = time.perf_counter()
    cold = [fresh.solve(model) for model in priced[1:]]
    between = time.perf_counter()
    warm = []
    for model in priced[1:]:
        last = fresh.solve(model, warm=last)
        warm.append(last)
    end = time.perf_counter()
    for model, a, b in zip(priced[1:4], cold, warm, strict=False):
        scratch = replace(saturated, region=replace(region, cache=CompiledCache())).solve(model).solution
        if not a.solution.cost == b.solution.cost == scratch.cost:
            raise SystemExit(f"{model.name}: {a.solution.cost}, {b.solution.cost} and {scratch.cost}")
    assert fresh.region is not None
    (ready,) = fresh.region.cache.by_key.values()
    count = len(priced) - 1
    return [
        f"{region.snapshot.n_nodes}",
        f"{len(ready.view.views)}",
        f"{first:.2f}",
        f"{count / (between - start):.1f}",
        f"{count / (end - between):.1f}",
        f"{sum(part.solution.proved for part in warm)}/{count}",
    ]


if __name__ == "__main__":
    typer.run(main)
