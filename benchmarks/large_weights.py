"""Models whose weights have gigabytes: memory, seconds, whether they were verified.

    python benchmarks/large_weights.py distinct --gigabytes 10
    python benchmarks/large_weights.py tied --gigabytes 3

A layer is a product, a Relu and two Transposes that cancel.  `distinct` draws a weight for every layer.  In
`tied` two layers in a row share a weight, and every third layer has one of its own, and scales after the
product, which folds into a new weight.  Inputs and results are in a folder of their own, removed at the end.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import onnx
import typer
from onnx import NodeProto, TensorProto, helper, numpy_helper

from egraph_opt import optimize

WIDTH = 4096
LAYER_BYTES = 4 * WIDTH * WIDTH


class Kind(StrEnum):
    DISTINCT = "distinct"
    TIED = "tied"


def external(name: str, offset: int) -> TensorProto:
    """A weight of one layer in the data file."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[WIDTH, WIDTH])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "model.data"), ("offset", str(offset)), ("length", str(LAYER_BYTES))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def layer(k: int, scale: bool) -> Iterator[NodeProto]:
    yield helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"product{k}"])
    if scale:
        yield helper.make_node("Mul", [f"product{k}", f"s{k}"], [f"scaled{k}"])
    yield helper.make_node("Relu", [f"{'scaled' if scale else 'product'}{k}"], [f"relu{k}"])
    yield helper.make_node("Transpose", [f"relu{k}"], [f"turned{k}"], perm=[1, 0])
    yield helper.make_node("Transpose", [f"turned{k}"], [f"x{k + 1}"], perm=[1, 0])


def write(folder: Path, kind: Kind, gigabytes: float) -> Path:
    """The model, its weights in a file beside it; they are drawn one at a time."""
    random = np.random.default_rng(0)
    nodes: list[NodeProto] = []
    tensors: list[TensorProto] = []
    written, k = 0, 0
    with (folder / "model.data").open("wb") as file:
        while written < gigabytes * 1e9:
            weight = random.standard_normal((WIDTH, WIDTH), dtype=np.float32) * np.float32(WIDTH**-0.5)
            file.write(weight.tobytes())
            scaled = kind is Kind.TIED and k % 3 == 2
            for _ in range(1 if kind is Kind.DISTINCT or scaled else 2):
                nodes += layer(k, scaled)
                tensors.append(external(f"w{k}", written))
                if scaled:
                    scales = random.uniform(0.9, 1.1, WIDTH).astype(np.float32)
                    tensors.append(numpy_helper.from_array(scales, f"s{k}"))
                k += 1
            written += LAYER_BYTES
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH]) for name in ("x0", f"x{k}")]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


class Peak(threading.Thread):
    """The most anonymous memory that this process has, in bytes; of Linux."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = 0

    def run(self) -> None:
        while True:
            lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
            self.bytes = max(
                self.bytes, *(1024 * int(x.split()[1]) for x in lines if x.startswith("RssAnon"))
            )
            time.sleep(0.02)


def main(
    kind: Kind,
    gigabytes: Annotated[float, typer.Option(help="Of weights, at 1e9 bytes.")] = 3,
    cost: str = "nodes",
    folder: Annotated[Path, typer.Option(help="Where there is room for them twice.")] = Path("."),
) -> None:
    """Write a model, optimize it, write the result, and print the figures."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = write(Path(name), kind, gigabytes)
        peak = Peak()
        peak.start()
        started = time.perf_counter()
        result = optimize(path, cost)
        optimized = time.perf_counter()
        result.save(Path(name) / "result.onnx")
        written = time.perf_counter()
        report = result.report
        before, after = report.nodes.runtime_before, report.nodes.runtime_after
        stored = (Path(name) / "result.onnx.data").stat().st_size
        stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report.seconds.items())
        typer.echo(f"{before} nodes become {after}: {report.status}; {stored / 1e9:.2f} GB of weights")
        typer.echo(f"{optimized - started:.1f} s to optimize ({stages})")
        typer.echo(f"{written - optimized:.1f} s to write, {peak.bytes / 1e9:.2f} GB of anonymous memory")
        typer.echo(f"verification: {report.verification.status}; {report.verification.detail}")
        for warning in report.warnings:
            typer.echo(f"warning: {warning}")


if __name__ == "__main__":
    typer.run(main)
