"""Writes a model again and again, in processes that get a signal at one system call after another.

    python kill_points.py FOLDER

A case is what is written over what.  Before every call of `os` and of open files a point is counted, and a
process gets SIGKILL at every other one, or SIGTERM at some.  A line of JSON a point tells what the folder
holds then, and after the next run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper

from egraph_opt.model.reading import LoadedModel, read_model
from egraph_opt.model.writing import write_model

OLD, NEW = 1.0, 2.0
SIZES = (5_000, 60_000, 700)
"""Elements of the weights; the last are too few for the data file."""


def model_of(fill: float) -> onnx.ModelProto:
    weights = [
        numpy_helper.from_array(np.full(size, fill, np.float32), f"w{k}") for k, size in enumerate(SIZES)
    ]
    nodes = [helper.make_node("Identity", [f"w{k}"], [f"y{k}"], name=str(fill)) for k in range(len(SIZES))]
    ends = [helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, [size]) for k, size in enumerate(SIZES)]
    graph = helper.make_graph(nodes, "g", [], ends, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def save(path: Path, fill: float, *, apart: bool) -> None:
    model = model_of(fill)
    if apart:
        onnx.save(model, path, save_as_external_data=True, location=f"{path.name}.data", size_threshold=1024)
    else:
        onnx.save(model, path)


def fill_of(path: Path) -> float | None:
    """The one number in a model's graph and all of its weights; None where there is no model.

    Raises:
        AssertionError: they differ.
    """
    if not path.exists():
        return None
    graph = read_model(path).model.graph
    numbers = {float(node.name or "nan") for node in graph}
    for value in graph.initializers.values():
        assert value.const_value is not None
        array = value.const_value.numpy()
        numbers |= {float(array.min()), float(array.max())}
    assert len(numbers) == 1, numbers
    return numbers.pop()


@dataclass(frozen=True)
class Case:
    """What is written over what.

    Attributes:
        apart: the input has its weights in a file of their own, and so has the result.
        there: what is at the target: nothing, a model with its weights in it, or apart; "input" is in place.
    """

    apart: bool
    there: str

    def prepare(self, folder: Path) -> tuple[Path, Path]:
        """The input and the target, in a new folder."""
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "in").mkdir(parents=True)
        source, target = folder / "in" / "m.onnx", folder / "out.onnx"
        if self.there == "input":
            save(target, OLD, apart=self.apart)
            return target, target
        save(source, NEW, apart=self.apart)
        if self.there != "nothing":
            save(target, OLD, apart=self.there == "apart")
        return source, target

    @property
    def before(self) -> float | None:
        return None if self.there == "nothing" else OLD


CASES = [Case(apart, there) for apart in (False, True) for there in ("nothing", "inside", "apart", "input")]


def renewed(source: Path) -> LoadedModel:
    """A model whose numbers are the new ones: as it was read, or with weights that were computed."""
    loaded = read_model(source)
    if fill_of(source) == OLD:
        for value in loaded.model.graph.initializers.values():
            assert value.const_value is not None
            array = np.full(value.const_value.shape.numpy(), NEW, np.float32)
            value.const_value = ir.tensor(array, name=value.name)
        for node in loaded.model.graph:
            node.name = str(NEW)
    return loaded


class Countdown:
    """Sends the process a signal before a call of the file system."""

    def __init__(self, last: int, number: int) -> None:
        self.left, self.number = last, number

    def __call__(self, frame: object, event: str, function: object) -> None:
        if event == "c_call" and self._is_of_files(function):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.number)

    @staticmethod
    def _is_of_files(function: object) -> bool:
        owner = type(getattr(function, "__self__", None)).__module__
        return getattr(function, "__module__", "") in ("posix", "fcntl") or owner == "_io"


def write(loaded: LoadedModel, target: Path, number: int, last: int) -> bool:
    """Write in a fork that gets a signal at a point; whether it came so far."""
    child = os.fork()
    if child == 0:
        sys.setprofile(Countdown(last, number))
        write_model(loaded.model, target, like=loaded, in_place=True)
        sys.setprofile(None)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def points(case: Case, folder: Path, number: int, step: int) -> Iterator[dict[str, object]]:
    last, reached = 1, True
    while reached:
        source, target = case.prepare(folder)
        reached = write(renewed(source), target, number, last)
        found, left = fill_of(target), sorted(set(os.listdir(folder)) - {"in"})
        again = renewed(source)
        write_model(again.model, target, like=again, in_place=True)
        yield {
            "case": str(case),
            "signal": number,
            "point": last,
            "reached": reached,
            "found": found,
            "right": found in (case.before, NEW),
            "left": left,
            "next": fill_of(target),
            "files": sorted(set(os.listdir(folder)) - {"in"}),
        }
        last += step


if __name__ == "__main__":
    for one in CASES:
        for signal_number, stride in ((signal.SIGKILL, 2), (signal.SIGTERM, 16)):
            for line in points(one, Path(sys.argv[1]), signal_number, stride):
                print(json.dumps(line))
