"""What the examples of laws are fed with: sizes for symbolic dims, and elements that laws may go wrong on.

A `bitwise` law holds for whatever elements there are: it is fed NaN, infinities, -0.0, denormals and the
largest numbers.  A `finite` law promises something of each element where all is finite: it is fed numbers of
all sizes.  A `reassociates` law promises something of sums as a whole: it is fed zeros of both signs, ones
and numbers of moderate size; and of numbers up to `RANGE` that what is finite stays finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx

from egraph_opt.laws.examples import SIZES

Kind = Literal["normal", "special", "moderate", "every size", "large"]
Feeds = dict[str, npt.NDArray[Any]]

ANY = "D"
"""The symbol D4 stands for a dim that the example as written has as 4."""

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 1e30, -1e30, 1e-40, 6e4, 3.4e38)
MODERATE = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 10.0, -50.0, 1e-3)
RANGE = 1e9
"""Of numbers up to this, and of float16 up to `HALF_RANGE`, every exact law keeps finite what is finite."""

HALF_RANGE = 32.0

LARGE = (0.0, 1.0, -1.0, 100.0, -200.0, 700.0, -700.0, 6e4, 1e-4, -1e-9, RANGE, -RANGE, 1e-30)
EVERY_SIZE = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    100.0,
    -100.0,
    1e15,
    -1e15,
    1e30,
    -1e30,
    3.4e38,
    -3.4e38,
    3e-6,
    1e-30,
    2e-38,
)
TABLES = {"special": SPECIAL, "moderate": MODERATE, "large": LARGE, "every size": EVERY_SIZE}
ODD = {"special": 0.75, "moderate": 0.5, "large": 0.5, "every size": 0.75}
"""The share of elements that are drawn from the table."""

INTEGERS = (0, 1, -1, 2, -3, 7, 100, 2**31 - 1, -(2**31))

COUNTS = frozenset(
    "BitShift ConstantOfShape Expand EyeLike Loop OneHot Pad Range Reshape Resize Split Tile TopK".split()
)
"""Operators that may read a number of elements, or of bits, off integers: an odd one is no fair question."""


def symbols(model: onnx.ModelProto) -> frozenset[str]:
    """The symbolic dims of a model's inputs."""
    return frozenset(
        d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param
    )


def sizes_of(names: frozenset[str]) -> Iterator[dict[str, int]]:
    """What symbolic dims are to stand for: two choices that suit every example, then each of them 0."""
    for k, sizes in enumerate(SIZES if names else SIZES[:1]):
        yield sizes | {name: int(name[1:]) + 2 * k for name in names if name[1:].isdigit()}
    first = SIZES[1] | {name: int(name[1:]) for name in names if name[1:].isdigit()}
    for name in sorted(names):
        yield first | {name: 0}


def _integers(rng: np.random.Generator, shape: Sequence[int], kind: Kind, operators: set[str]) -> Any:
    if operators & {"Div", "Mod"}:
        return rng.integers(1, 4, shape)  # a division of integers by zero ends the process
    if kind == "normal" or operators & COUNTS:
        return rng.integers(0, 2, shape)
    return rng.choice(INTEGERS, shape) if kind == "special" else rng.integers(-5, 6, shape)


def feeds_of(model: onnx.ModelProto, sizes: Mapping[str, int], kind: Kind, seed: int = 0) -> Feeds:
    """Arrays for a model's inputs; of those that are not `normal` a share of the elements is from a table."""
    rng = np.random.default_rng(seed)
    operators = {node.op_type for node in model.graph.node}
    feeds: Feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else sizes[d.dim_param] for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype == np.bool_:
            feeds[value.name] = rng.integers(0, 2, shape).astype(dtype)
        elif np.issubdtype(dtype, np.integer):
            with np.errstate(all="ignore"):
                feeds[value.name] = np.asarray(_integers(rng, shape, kind, operators)).astype(dtype)
        else:
            array = np.asarray(rng.standard_normal(shape))
            if kind != "normal":
                table = rng.permutation(np.resize(rng.permutation(TABLES[kind]), array.size)).reshape(shape)
                array = np.where(rng.random(shape) < ODD[kind], table, array)
            if kind == "moderate" and dtype == np.float16:
                array = np.clip(array, -4, 4)  # Exp(-20) is 0 there
            if kind == "large" and dtype == np.float16:
                array = np.clip(array, -HALF_RANGE, HALF_RANGE)
            with np.errstate(all="ignore"):
                feeds[value.name] = array.astype(dtype)
    return feeds
