"""PointPillars step by step under `ascend`, beside what somebody measured of each step on 310P3.

    python benchmarks/pointpillars.py [--set PARAMETER=VALUE ...] [--optimize]

The network is the one of KITTI as OpenPCDet defines it: 32 points a pillar, a map of 496 x 432, 17
convolutions (the heads are one), 3 transposed ones, 321,408 anchors whose boxes are decoded; weights are
random.  Measured are milliseconds of Yanguan619/OpenPCDet npu/PERFORMANCE.md, which changes one thing after
the other by hand:

- the map is filled by Gather, with an index for each pixel from the host, not by ScatterND;
- which of two directions is likelier is compared, not found by ArgMax;
- the normalisation of points is a scale and a shift on the last axis, not a BatchNormalization between two
  Transposes;
- all is float16 (mixed), until then it was float32.

Predicted is what the chip's compiler makes of each, without laws of ours.  With `--optimize` each step is
optimised as well: what of it laws find by themselves.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from network_builder import Network, Value
from onnx import TensorProto, numpy_helper

from egraph_opt import optimize
from egraph_opt.cost.registry import cost_model

PILLARS, POINTS, HEIGHT, WIDTH = 3941, 32, 496, 432
CLASSES, ANCHORS = 3, 248 * 216 * 6
STAGES = ((64, 3), (128, 5), (256, 5))
"""Channels of a stage, and its convolutions behind the one that halves the image."""


@dataclass(frozen=True)
class Step:
    """A version of the network, as it was measured.

    Attributes:
        micros: measured, of one run.
        parameters: of the cost model.
    """

    name: str
    micros: float
    gathered: bool = True
    compared: bool = True
    affine: bool = True
    parameters: tuple[tuple[str, object], ...] = (("float_bytes", 4),)


STEPS = (
    Step("ScatterND, ArgMax, BatchNormalization", 150_500, gathered=False, compared=False, affine=False),
    Step("Gather", 47_300, compared=False, affine=False),
    Step("Greater", 27_700, affine=False),
    Step("scale and shift", 23_600),
    Step("float16", 15_700, parameters=()),
)


class Pillars(Network):
    """The parts of the network."""

    def __init__(self, step: Step) -> None:
        super().__init__("PointPillars")
        self.step = step

    def floats(self, numbers: Any) -> Value:
        array = np.asarray(numbers, np.float32)
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return Value(name, array.shape)

    def cut(self, x: Value, start: int, stop: int) -> Value:
        """Columns of the last axis."""
        bounds = [self.constant([k]) for k in (start, stop, len(x.shape) - 1)]
        return self.node("Slice", [x, *bounds], (*x.shape[:-1], stop - start))

    def behind(self, *values: Value) -> Value:
        """Joined along the last axis."""
        last = sum(value.shape[-1] for value in values)
        return self.node("Concat", values, (*values[0].shape[:-1], last), axis=-1)

    def cast(self, x: Value, to: int) -> Value:
        return self.node("Cast", [x], x.shape, to=to)

    def reduced(self, op_type: str, x: Value, axis: int) -> Value:
        shape = tuple(1 if k == axis else d for k, d in enumerate(x.shape))
        if op_type == "ReduceSum":
            return self.node(op_type, [x, self.constant([axis])], shape)
        return self.node(op_type, [x], shape, axes=[axis])

    def positive(self, count: int) -> Value:
        return self.floats(self.random.uniform(0.5, 1.5, count))

    def normalized(self, x: Value) -> Value:
        """A BatchNormalization, as it is exported."""
        channels = x.shape[1]
        parameters = [self.positive(channels) for _ in range(4)]
        return self.node("BatchNormalization", [x, *parameters], x.shape, epsilon=1e-3)

    def features(self, points: Value, count: Value, places: Value) -> Value:
        """Of each pillar 64: of ten numbers of each of its points, which are masked where there are none."""
        xyz = self.cut(points, 0, 3)
        number = self.reshape(self.cast(count, TensorProto.FLOAT), PILLARS, 1, 1)
        mean = self.node("Div", [self.reduced("ReduceSum", xyz, 1), number], (PILLARS, 1, 3))
        where = self.cast(self.cut(places, 1, 4), TensorProto.FLOAT)
        centre = self.add(self.mul(where, self.positive(3)), self.positive(3))
        offsets = [
            self.node("Sub", [xyz, other], xyz.shape) for other in (mean, self.reshape(centre, PILLARS, 1, 3))
        ]
        known = self.node(
            "Less", [self.constant(range(POINTS)), self.reshape(count, PILLARS, 1)], (PILLARS, POINTS)
        )
        mask = self.reshape(self.cast(known, TensorProto.FLOAT), PILLARS, POINTS, 1)
        wide = self.linear(self.mul(self.behind(points, *offsets), mask), 64)
        if self.step.affine:
            wide = self.add(self.mul(wide, self.positive(64)), self.positive(64))
        else:
            wide = self.transpose(self.normalized(self.transpose(wide, 0, 2, 1)), 0, 2, 1)
        return self.reshape(self.reduced("ReduceMax", self.relu(wide), 1), PILLARS, 64)

    def map(self, pillars: Value, places: Value) -> Value:
        """Pillars at their places."""
        pixels = HEIGHT * WIDTH
        if self.step.gathered:
            empty = self.floats(np.zeros((1, 64)))
            rows = self.node("Concat", [pillars, empty], (PILLARS + 1, 64), axis=0)
            image = self.transpose(
                self.node("Gather", [rows, self.integer_input(pixels)], (pixels, 64), axis=0), 1, 0
            )
        else:
            y, x = (self.cut(places, k, k + 1) for k in (2, 3))
            flat = self.add(self.mul(y, self.constant([WIDTH])), x)
            column = self.node(
                "Expand", [self.reshape(flat, 1, PILLARS, 1), self.constant([64, 1, 1])], (64, PILLARS, 1)
            )
            channels = np.repeat(np.arange(64, dtype=np.int64)[:, None], PILLARS, axis=1)[..., None]
            name = f"weight_{len(self.weights)}"
            self.weights.append(numpy_helper.from_array(channels, name))
            indices = self.behind(Value(name, channels.shape), column)
            canvas = self.floats(np.zeros((64, pixels)))
            image = self.node("ScatterND", [canvas, indices, self.transpose(pillars, 1, 0)], (64, pixels))
        return self.reshape(image, 1, 64, HEIGHT, WIDTH)

    def backbone(self, image: Value) -> Value:
        """Three stages, each brought to half the size of the map."""
        found = []
        for number, (wide, more) in enumerate(STAGES):
            image = self.relu(self.normalized(self.conv(image, wide, 3, stride=2)))
            for _ in range(more):
                image = self.relu(self.normalized(self.conv(image, wide, 3)))
            factor = 2**number
            weight = self.weight(wide, 128, factor, factor, variance=1 / wide)
            shape = (1, 128, image.shape[2] * factor, image.shape[3] * factor)
            larger = self.node("ConvTranspose", [image, weight], shape, strides=(factor, factor))
            found.append(self.relu(self.normalized(larger)))
        return self.concat(*found)

    def boxes(self, told: Value, directions: Value) -> Value:
        """Boxes by what is said of them and their anchors, and the likelier direction."""
        anchors = [self.floats(self.random.uniform(0.5, 1.5, (1, ANCHORS, 1))) for _ in range(8)]
        columns = [self.cut(told, k, k + 1) for k in range(7)]
        placed = [self.add(self.mul(columns[k], anchors[7 if k < 2 else 5]), anchors[k]) for k in range(3)]
        sizes = [self.mul(self.unary("Exp", columns[k]), anchors[k]) for k in range(3, 6)]
        angle = self.add(columns[6], anchors[6])
        period, offset = self.floats(np.pi), self.floats(0.78539)
        turned = self.node("Sub", [angle, offset], angle.shape)
        times = self.unary("Floor", self.node("Div", [turned, period], angle.shape))
        rest = self.node("Sub", [turned, self.mul(times, period)], angle.shape)
        shift = self.mul(self.reshape(self.likelier(directions), 1, ANCHORS, 1), period)
        return self.behind(*placed, *sizes, self.add(self.add(rest, offset), shift))

    def likelier(self, directions: Value) -> Value:
        """Which of two is larger, as a float."""
        shape = directions.shape[:-1]
        if self.step.compared:
            first, second = (self.cut(directions, k, k + 1) for k in (0, 1))
            place = self.node("Greater", [second, first], first.shape)
        else:
            place = self.node("ArgMax", [directions], shape, axis=-1, keepdims=0)
        return self.cast(place, TensorProto.FLOAT)

    def build(self) -> onnx.ModelProto:
        points = self.input(PILLARS, POINTS, 4)
        count, places = self.integer_input(PILLARS), self.integer_input(PILLARS, 4)
        image = self.map(self.features(points, count, places), places)
        head = self.add(self.conv(self.backbone(image), 72), self.floats(np.zeros((72, 1, 1))))
        rows = self.transpose(head, 0, 2, 3, 1)
        parts = [(0, 18, CLASSES), (18, 60, 7), (60, 72, 2)]
        classes, told, directions = (
            self.reshape(self.cut(rows, start, stop), 1, ANCHORS, each) for start, stop, each in parts
        )
        return self.model(classes, self.boxes(told, directions))


@cache
def network(step: Step) -> onnx.ModelProto:
    return Pillars(step).build()


@dataclass(frozen=True)
class Prediction:
    """A step in microseconds: as the compiler runs it, and optimised (0: not asked)."""

    step: Step
    micros: float
    optimized: float = 0.0
    gone: Sequence[str] = ()


def predict(step: Step, parameters: dict[str, object], *, optimized: bool = False) -> Prediction:
    """The price of a step, and with `optimized` what is left of it, and which operators are gone."""
    model = cost_model("ascend:310p3", {**dict(step.parameters), **parameters})
    given = network(step)
    before = optimize(given, cost=model, rewrites=[], verify=False).report.cost.before
    if not optimized:
        return Prediction(step, before)
    result = optimize(given, cost=model, verify=False)
    kinds = [Counter(node.op_type for node in m.graph.node) for m in (given, result.model)]
    gone = sorted(kinds[0].keys() - kinds[1].keys())
    return Prediction(step, before, result.report.cost.after, gone)


def ratios(found: Sequence[Prediction]) -> list[tuple[str, float, float]]:
    """Per step its name, and by what factor it was measured, and is predicted, to be faster than the last."""
    return [(b.step.name, a.step.micros / b.step.micros, a.micros / b.micros) for a, b in pairwise(found)]


def table(found: Sequence[Prediction]) -> str:
    rows = [f"{'step':<40} measured ms  predicted ms   faster: measured  predicted"]
    steps = [("", 0.0, 0.0), *ratios(found)]
    for entry, (_, measured, predicted) in zip(found, steps, strict=True):
        head = f"{entry.step.name:<40} {entry.step.micros / 1e3:>11.1f}  {entry.micros / 1e3:>12.1f}"
        rows.append(head + (f"  {measured:>16.2f}  {predicted:>9.2f}" if measured else ""))
        if entry.optimized:
            rows.append(f"  optimised {entry.optimized / 1e3:.1f} ms, gone: {', '.join(entry.gone)}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", default=[], metavar="PARAMETER=VALUE")
    parser.add_argument("--optimize", action="store_true")
    options = parser.parse_args()
    parameters = {name: json.loads(value) for name, value in (text.split("=", 1) for text in options.set)}
    print(table([predict(step, parameters, optimized=options.optimize) for step in STEPS]))


if __name__ == "__main__":
    main()
