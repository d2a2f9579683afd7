"""The whole path at sizes of many nodes: seconds by stage, memory, growth, and how time grows.

    python benchmarks/large_models.py --blocks 160 --blocks 1600 --blocks 8333 --cost nodes
    python benchmarks/large_models.py --kind chain --blocks 100000 --verify
    python benchmarks/large_models.py --kind residual --blocks 14286 --verify --seconds 600 --nodes 2000000

A block of `turned` is six nodes: a 1-D convolution with Relu, a Sigmoid between two Transposes, and a sum
over both.  One of `residual` is seven: two 1-D convolutions with BatchNormalization, the first with Relu, and
a sum over both with Relu.  One of `chain` is an element-wise operator.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated

import numpy as np
import onnx
import typer
from onnx import NodeProto, TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

from egraph_opt import Limits, optimize

CHANNELS, LENGTH = 8, 32

CHAIN = ("Relu", "Sigmoid", "Tanh", "Erf", "Softplus")
"""None of them cancels another."""

Weights = dict[str, np.ndarray]


def turned(k: int, x: str, weights: Weights, random: np.random.Generator) -> Iterator[NodeProto]:
    weights[f"w{k}"] = random.standard_normal((CHANNELS, CHANNELS, 3)) * 0.2
    yield helper.make_node("Conv", [x, f"w{k}"], [f"conv{k}"], pads=[1, 1])
    yield helper.make_node("Relu", [f"conv{k}"], [f"relu{k}"])
    yield helper.make_node("Transpose", [f"relu{k}"], [f"turned{k}"], perm=[0, 2, 1])
    yield helper.make_node("Sigmoid", [f"turned{k}"], [f"sigmoid{k}"])
    yield helper.make_node("Transpose", [f"sigmoid{k}"], [f"back{k}"], perm=[0, 2, 1])
    yield helper.make_node("Add", [f"back{k}", x], [f"x{k}"])


def residual(k: int, x: str, weights: Weights, random: np.random.Generator) -> Iterator[NodeProto]:
    source = x
    for part in ("a", "b"):
        name = f"{part}{k}"
        weights[f"{name}_w"] = random.standard_normal((CHANNELS, CHANNELS, 3)) * 0.2
        scales = [f"{name}_{number}" for number in range(4)]
        weights.update({scale: random.uniform(0.5, 1.0, CHANNELS) for scale in scales})
        yield helper.make_node("Conv", [source, f"{name}_w"], [f"{name}_conv"], pads=[1, 1])
        yield helper.make_node("BatchNormalization", [f"{name}_conv", *scales], [f"{name}_norm"])
        if part == "a":
            yield helper.make_node("Relu", [f"{name}_norm"], [f"{name}_relu"])
            source = f"{name}_relu"
    yield helper.make_node("Add", [f"b{k}_norm", x], [f"sum{k}"])
    yield helper.make_node("Relu", [f"sum{k}"], [f"x{k}"])


def chain(k: int, x: str, weights: Weights, random: np.random.Generator) -> Iterator[NodeProto]:
    yield helper.make_node(CHAIN[k % len(CHAIN)], [x], [f"x{k}"])


class Kind(StrEnum):
    TURNED = "turned"
    RESIDUAL = "residual"
    CHAIN = "chain"


Block = Callable[[int, str, Weights, np.random.Generator], Iterator[NodeProto]]
BLOCKS: dict[Kind, Block] = {Kind.TURNED: turned, Kind.RESIDUAL: residual, Kind.CHAIN: chain}


def network(kind: Kind, count: int) -> onnx.ModelProto:
    """A network of so many blocks in a row."""
    random, x = np.random.default_rng(0), "x"
    nodes: list[NodeProto] = []
    weights: Weights = {}
    for k in range(count):
        nodes += BLOCKS[kind](k, x, weights, random)
        x = f"x{k}"
    shape = [1, CHANNELS, LENGTH]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", x)]
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, kind.value, ends[:1], ends[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main(
    blocks: Annotated[list[int] | None, typer.Option(help="How many blocks.")] = None,
    kind: Annotated[Kind, typer.Option(help="What they are.")] = Kind.TURNED,
    cost: str = "nodes",
    seconds: Annotated[float, typer.Option(help="Limit of an optimisation.")] = Limits().seconds,
    nodes: Annotated[int, typer.Option(help="Limit of e-nodes.")] = Limits().nodes,
    verify: Annotated[bool, typer.Option(help="Run both models, too.")] = False,
) -> None:
    """Optimise a network of each size and print a table."""
    stages = ("load", "lower", "saturate", "price", "extract", "rebuild", *(["verify"] if verify else []))
    table = Table("nodes", "after", "e-nodes", "stop", "cost", "after", "gap", "verified", "seconds", *stages)
    optimize(network(kind, 1), cost, verify=False)  # builds the rules
    sizes, times = [], []
    for count in blocks or [160, 1600, 8333]:
        model = network(kind, count)
        start = time.perf_counter()
        report = optimize(model, cost, verify=verify, limits=Limits(seconds=seconds, nodes=nodes)).report
        times.append(time.perf_counter() - start)
        sizes.append(len(model.graph.node))
        grown = f"{report.saturation.nodes}", report.saturation.stop
        figures = f"{report.cost.before:.6g}", f"{report.cost.after:.6g}", f"{100 * report.cost.gap:.2f} %"
        parts = [f"{report.seconds.get(stage, 0.0):.1f}" for stage in stages]
        ends = report.verification.status, f"{times[-1]:.1f}"
        table.add_row(f"{sizes[-1]}", f"{report.nodes.after}", *grown, *figures, *ends, *parts)
        for warning in report.warnings:
            print(warning)
    console = Console(width=160)
    console.print(table)
    if len(set(sizes)) > 1:
        console.print(f"time grows with n to the {np.polyfit(np.log(sizes), np.log(times), 1)[0]:.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    console.print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    typer.run(main)
