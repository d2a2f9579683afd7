"""Graphs on which rewriting may explode, of any depth and width, and how large their e-graphs become.

python benchmarks/stress.py [NAME ...] [--depths 1 2 4 8] [--width 3] [--costs nodes ascend] [--laws]

Each repeats one pattern that feeds the laws: residual blocks of attention and perceptrons with
BatchNormalization behind Linear, scales that several consumers share, residual convolutions, many slices of
one tensor, chains of Reshape, of element-wise operators, a U-Net on spectra.  Saturation should grow linearly
with the depth; `tests/benchmarks/test_stress.py` holds it to that.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import Saturated, saturate

OPSET = 17
DEPTHS = (1, 2, 4, 8)
COSTS = ("nodes", "ascend")


class Builder:
    """A graph that grows node by node; values are names.

    Args:
        seed: of the weights.
    """

    def __init__(self, *shape: int, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._shape = shape
        self.x = "x"

    def node(self, operator: str, *operands: str, outputs: int = 1, **attributes: Any) -> str:
        """The name of the first result; those of the others are `other(name, k)`."""
        name = f"v{len(self._nodes)}"
        names = [name, *(self.other(name, k) for k in range(1, outputs))]
        self._nodes.append(helper.make_node(operator, list(operands), names, **attributes))
        return name

    @staticmethod
    def other(name: str, k: int) -> str:
        """The name of the k-th result of a node."""
        return f"{name}_{k}" if k else name

    def constant(self, value: object, dtype: type = np.float32) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def random(self, *shape: int, low: float = -0.5, high: float = 0.5) -> str:
        return self.constant(self._rng.uniform(low, high, shape))

    def ints(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def reshape(self, x: str, *dims: int) -> str:
        return self.node("Reshape", x, self.ints(*dims))

    def batchnorm(self, x: str, channels: int) -> str:
        positive = [self.random(channels, low=0.5, high=1.5) for _ in range(2)]
        scale, variance = positive
        return self.node(
            "BatchNormalization", x, scale, self.random(channels), self.random(channels), variance
        )

    def conv(self, x: str, inner: int, outer: int, kernel: int = 3, rank: int = 2) -> str:
        pads = [kernel // 2] * 2 * rank
        return self.node("Conv", x, self.random(outer, inner, *[kernel] * rank), pads=pads)

    def model(self, *results: str) -> onnx.ModelProto:
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self._shape)]
        graph = helper.make_graph(self._nodes, "stress", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET)]
        model: onnx.ModelProto = onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=opsets, ir_version=8)
        )
        return model


# --- transformers ---------------------------------------------------------------------------------------

TOKENS, HEAD = 5, 4
"""Rows of a sequence, and columns of one head of attention."""


def _linear_bn(g: Builder, x: str, inner: int, outer: int) -> str:
    """BatchNormalization of the columns of x @ W, as LeViT has it: between a Flatten and a Reshape."""
    product = g.node("MatMul", x, g.random(inner, outer))
    flat = g.reshape(product, TOKENS, outer)
    return g.reshape(g.batchnorm(flat, outer), 1, TOKENS, outer)


def _heads(g: Builder, x: str, heads: int, linear: Callable[..., str], columns: int) -> str:
    """Attention of one sequence, its projections out of one product that is split."""
    split = g.reshape(linear(g, x, columns, 3 * columns), 1, TOKENS, heads, 3 * HEAD)
    q = g.node("Split", split, g.ints(HEAD, HEAD, HEAD), outputs=3, axis=3)
    k, v = g.other(q, 1), g.other(q, 2)
    q, v = (g.node("Transpose", part, perm=[0, 2, 1, 3]) for part in (q, v))
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 2, 3, 1]))
    biased = g.node("Add", g.node("Mul", scores, g.constant(0.25)), g.random(heads, TOKENS, TOKENS))
    mixed = g.node("MatMul", g.node("Softmax", biased, axis=-1), v)
    joined = g.reshape(g.node("Transpose", mixed, perm=[0, 2, 1, 3]), 1, TOKENS, columns)
    return linear(g, g.node("HardSwish", joined), columns, columns)


def _perceptron(g: Builder, x: str, linear: Callable[..., str], columns: int) -> str:
    hidden = g.node("HardSwish", linear(g, x, columns, 2 * columns))
    return linear(g, hidden, 2 * columns, columns)


def attention_batchnorm(depth: int, width: int) -> onnx.ModelProto:
    """Residual blocks of attention and a perceptron, with BatchNormalization behind every Linear (LeViT)."""
    columns = width * HEAD
    g = Builder(1, TOKENS, columns)
    x = _linear_bn(g, g.x, columns, columns)
    for _ in range(depth):
        x = g.node("Add", x, _heads(g, x, width, _linear_bn, columns))
        x = g.node("Add", x, _perceptron(g, x, _linear_bn, columns))
    return g.model(x)


def _linear_bias(g: Builder, x: str, inner: int, outer: int) -> str:
    return g.node("Add", g.node("MatMul", x, g.random(inner, outer)), g.random(outer))


def attention_biases(depth: int, width: int) -> onnx.ModelProto:
    """The same without any normalisation, with biases: every shift can move along the residuals."""
    columns = width * HEAD
    g = Builder(1, TOKENS, columns)
    x = _linear_bias(g, g.x, columns, columns)
    for _ in range(depth):
        x = g.node("Add", _heads(g, x, width, _linear_bias, columns), x)
        x = g.node("Add", _perceptron(g, x, _linear_bias, columns), x)
    return g.model(x)


# --- residuals, scales and shifts -----------------------------------------------------------------------


def residual_convolutions(depth: int, width: int) -> onnx.ModelProto:
    """Residual blocks of `width` Convs with BatchNormalization, without an activation on the main path."""
    g = Builder(1, 4, 8, 8)
    x = g.batchnorm(g.conv(g.x, 4, 4), 4)
    for _ in range(depth):
        y = x
        for _ in range(width - 1):
            y = g.node("Relu", g.batchnorm(g.conv(y, 4, 4), 4))
        x = g.node("Add", x, g.batchnorm(g.conv(y, 4, 4), 4))
    return g.model(x)


def linear_residuals(depth: int, width: int) -> onnx.ModelProto:
    """Residual blocks of `width` products in a row with scales and shifts, and a Tanh behind each."""
    g = Builder(3, 8)
    x = g.x
    for _ in range(depth):
        y = x
        for _ in range(width):
            y = g.node("MatMul", g.node("Mul", y, g.random(8)), g.random(8, 8))
            y = g.node("Add", g.node("Mul", y, g.random(8)), g.random(8))
        x = g.node("Tanh", g.node("Add", y, x))
    return g.model(x)


def products_in_a_row(depth: int, width: int) -> onnx.ModelProto:
    """Products with constant matrices, `width` a layer, and nothing between them."""
    g = Builder(3, 8)
    x = g.x
    for _ in range(depth * width):
        x = g.node("MatMul", x, g.random(8, 8))
    return g.model(x)


def shared_scales(depth: int, width: int) -> onnx.ModelProto:
    """Scaled and shifted values, each with `width` consumers that scale and shift it again."""
    g = Builder(1, 6, 8)
    scales = [g.constant(value) for value in (0.5, 2.0, 0.3, -1.0)]
    x = g.x
    for layer in range(depth):
        x = g.node("Mul", g.node("Add", x, g.random(8)), scales[layer % 4])
        parts = [g.node("Tanh", g.node("Mul", x, scales[(layer + k) % 4])) for k in range(width)]
        total = parts[0]
        for part in parts[1:]:
            total = g.node("Add", total, g.node("Mul", part, scales[layer % 3]))
        x = g.node("Add", x, total)
    return g.model(x)


def affine_sums(depth: int, width: int) -> onnx.ModelProto:
    """Sums of scales of one value with itself, each of which could be one scale."""
    g = Builder(2, 3)
    x = g.x
    for layer in range(depth):
        total = x
        for k in range(width):
            total = g.node("Add", total, g.node("Mul", x, g.constant((0.5, 2.0, 0.3, -1.0)[(layer + k) % 4])))
        x = g.node("Add", g.node("Tanh", total), total)
    return g.model(x)


# --- views and slices -----------------------------------------------------------------------------------


def many_slices(depth: int, width: int) -> onnx.ModelProto:
    """Slices of one tensor, 4 times `width` of them, scaled by themselves and joined again."""
    count = 4 * width
    g = Builder(2, 3 * count)
    x = g.x
    for _ in range(depth):
        parts = [
            g.node("Slice", x, g.ints(3 * k), g.ints(3 * k + 3), g.ints(1), g.ints(1)) for k in range(count)
        ]
        changed = [g.node("Relu" if k % 2 else "Sigmoid", part) for k, part in enumerate(parts)]
        x = g.node("Add", g.node("Concat", *changed, axis=1), x)
    return g.model(x)


def reshape_chains(depth: int, width: int) -> onnx.ModelProto:
    """Reshapes and Transposes, `width` of each a layer, around element-wise operators."""
    g = Builder(2, 3, 4, 5)
    x = g.x
    for _ in range(depth):
        for _ in range(width):
            x = g.node("Relu", g.reshape(x, 6, 20))
            x = g.node("Add", g.reshape(x, 2, 3, 4, 5), g.random(4, 1))
            x = g.node("Transpose", x, perm=[0, 1, 3, 2])
            x = g.node("Mul", g.reshape(x, 2, 15, 4), g.random(4))
            x = g.node("Transpose", g.reshape(x, 2, 3, 5, 4), perm=[0, 1, 3, 2])
    return g.model(x)


def elementwise_chains(depth: int, width: int) -> onnx.ModelProto:
    """Chains of element-wise operators, `width` beside each other, that are multiplied and added."""
    g = Builder(2, 8)
    x = g.x
    for _ in range(depth):
        parts = []
        for k in range(width):
            y = g.node("Sigmoid", g.node("Add", g.node("Mul", x, g.random(8)), g.random(8)))
            parts.append(g.node("Mul", g.node("Sub", y, g.constant(0.5)), x if k % 2 else g.node("Tanh", x)))
        total = parts[0]
        for part in parts[1:]:
            total = g.node("Add", total, part)
        x = g.node("Add", x, total)
    return g.model(x)


def _down(g: Builder, x: str, channels: int, width: int) -> str:
    """Convs of rows with BatchNormalization, with a residual around all but the first."""
    x = g.node("LeakyRelu", g.batchnorm(g.conv(x, channels, channels, 5, 1), channels), alpha=0.1)
    y = x
    for _ in range(width - 1):
        y = g.node("Relu", g.batchnorm(g.conv(y, channels, channels, 3, 1), channels))
    return g.node("Add", x, y)


def unet_on_spectra(depth: int, width: int) -> onnx.ModelProto:
    """A U-Net of Conv1d on a spectrum that a Conv makes: down `depth` times, up again, a mask in the end."""
    bins = 2 * width
    g = Builder(1, 1, 8 << depth)
    waves = g.node("Conv", g.x, g.random(2 * bins, 1, 7), pads=[3, 3])
    real = g.node("Slice", waves, g.ints(0), g.ints(bins), g.ints(1))
    imaginary = g.node("Slice", waves, g.ints(bins), g.ints(2 * bins), g.ints(1))
    power = g.node("Add", g.node("Mul", real, real), g.node("Mul", imaginary, imaginary))
    spectrum = g.node("Log", g.node("Add", g.node("Sqrt", power), g.constant(1e-3)))
    x, across = g.batchnorm(spectrum, bins), []
    for _ in range(depth):
        x = _down(g, x, bins, width)
        across.append(x)
        x = g.node("Conv", x, g.random(bins, bins, 2), strides=[2])
    for skip in reversed(across):
        up = g.node("ConvTranspose", x, g.random(bins, bins, 2), g.random(bins), strides=[2])
        x = g.conv(g.node("Concat", g.batchnorm(up, bins), skip, axis=1), 2 * bins, bins, 5, 1)
        x = g.node("LeakyRelu", g.batchnorm(x, bins), alpha=0.1)
    mask = g.node("Sigmoid", g.node("Mul", x, g.constant(2.0)))
    return g.model(g.node("Mul", real, mask), g.node("Mul", imaginary, mask))


GRAPHS: dict[str, Callable[[int, int], onnx.ModelProto]] = {
    made.__name__: made
    for made in (
        attention_batchnorm,
        attention_biases,
        residual_convolutions,
        shared_scales,
        affine_sums,
        many_slices,
        reshape_chains,
        elementwise_chains,
        unet_on_spectra,
        linear_residuals,
        products_in_a_row,
    )
}
"""What makes a graph of a depth and a width, by name."""


def runtime_nodes(saturated: Saturated) -> int:
    """The nodes of a model that depend on its input."""
    return saturated.counts.runtime


def e_nodes(saturated: Saturated) -> int:
    assert saturated.region is not None
    return saturated.region.saturation.nodes


def _line(name: str, depth: int, width: int, cost: str) -> tuple[str, Saturated]:
    started = time.process_time()
    saturated = saturate(GRAPHS[name](depth, width), target=cost)
    seconds = time.process_time() - started
    assert saturated.region is not None
    nodes, found, report = runtime_nodes(saturated), e_nodes(saturated), saturated.region.saturation
    figures = f"{nodes:6} {found:8} {found / nodes:6.1f} {report.rounds:4} {report.stop:10} {seconds:7.1f}"
    return f"{name:22} {depth:5} {cost:8} {figures}", saturated


def _laws(saturated: Saturated, most: int = 12) -> list[str]:
    """The laws that made the most e-nodes, with their matches."""
    assert saturated.region is not None
    snapshot, matches = saturated.region.snapshot, saturated.region.saturation.matches
    made = np.bincount(snapshot.made_by, minlength=len(snapshot.laws) + 1)[1:]
    best = sorted(range(len(made)), key=lambda k: -made[k])[:most]
    return [f"    {snapshot.laws[k]:40} {made[k]:6} {matches.get(snapshot.laws[k], 0):8}" for k in best]


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(GRAPHS)}; else all")
    parser.add_argument("--depths", type=int, nargs="+", default=DEPTHS)
    parser.add_argument("--width", type=int, default=3)
    parser.add_argument("--costs", nargs="+", default=COSTS)
    parser.add_argument("--laws", action="store_true", help="show which laws made the e-nodes")
    chosen = parser.parse_args(given)
    heads = (
        f"{'graph':22}",
        "depth",
        f"{'cost':8} {'nodes':>6} {'e-nodes':>8} {'each':>6}",
        f"rounds {'CPU s':>15}",
    )
    print(*heads)
    for name in chosen.names or GRAPHS:
        for cost in chosen.costs:
            for depth in chosen.depths:
                line, saturated = _line(name, depth, chosen.width, cost)
                print("\n".join([line, *(_laws(saturated) if chosen.laws else ())]), flush=True)


if __name__ == "__main__":
    main()
