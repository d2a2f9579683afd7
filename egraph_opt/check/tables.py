"""The odd values that terms of laws are made of, each stated once.

A value that stands several times is likelier where terms are drawn at random; where they are covered pair by
pair (`choices`) it counts once.  What goes into graphs as input is in `inputs`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.laws.exactness import Numerics

RANKS = (0, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6)
DIMS = (1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 8, 20)

LONG = (141, 301, 2101)
"""Dims beyond what bytes and halves count to: of one axis, where the others are short."""

OPSETS = (17, 17, 17, 11, 13, 21, 23)
LATE = {"rotary": 23, "group_norm": 21}
"""Operators that no composite stands for in an earlier opset."""

FLOAT_TYPES = (TensorProto.FLOAT,) * 10 + (TensorProto.DOUBLE, TensorProto.DOUBLE, TensorProto.FLOAT16)
_INTEGERS = (TensorProto.INT64,) * 3 + (TensorProto.INT32, TensorProto.INT32)
_RARE = tuple(getattr(TensorProto, name) for name in ("UINT8", "INT8", "UINT32", "UINT64", "INT16", "BOOL"))
TYPES = (*FLOAT_TYPES, *_INTEGERS, *_RARE)
CASTS = tuple(
    getattr(TensorProto, name)
    for name in "FLOAT DOUBLE FLOAT16 INT64 INT32 BOOL UINT8 INT8 UINT64 UINT32 INT16 UINT16".split()
)

PERMUTATIONS = (
    *("any", "any", "last two", "last three", "pairs", "inner three", "first to last", "reversed", "none"),
)
"""How a Transpose moves axes; "inner three" turns three between two that stay."""

FEW_VALUES = {
    "keepdims": (0, 1),
    "last": (0, 1),
    "to": CASTS,
    "mode": ("constant", "edge", "reflect", "wrap"),
}
"""The values of attributes that have a few, by parameter."""

KNOWN_RANGES = (
    *((0, 1), (0, 255), (-128, 127), (-1, 0)),
    *((s - 3, s + 100) for s in (2**11, 2**24, 2**31, 2**53)),
    *((-s - 100, 3 - s) for s in (2**11, 2**24, 2**31, 2**53)),
    *((100 - s, 5) for s in (2**31, 2**40)),
)
"""Between which integers may be known to lie: few of them, near 0 or where floats have none in between; or
many on one side of 0."""

BOUNDED = (("Sigmoid", ()), ("Tanh", ()), ("Relu", ()), ("Clip", (("max", 1.0), ("min", -1.0))))
"""Functions of floats of which it is known between what their results lie."""


def within_bounds(
    dtype: int, named: Sequence[float] = ()
) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    """Functions of a type, with their settings, of which it is known between what their results lie.

    Args:
        named: numbers that the law names, at which integers may end, too.
    """
    if dtype in ALL_FLOATS:
        return BOUNDED
    info = np.iinfo(helper.tensor_dtype_to_np_dtype(dtype))
    own = ((0, int(n)) for n in named if 1 < n < 2**63 and n == int(n))
    ranges = (*KNOWN_RANGES, *own)
    known = (ends for ends in ranges if info.min <= ends[0] and ends[1] <= info.max)
    return tuple(("Clip", (("max", most), ("min", least))) for least, most in known)


NUMBERS = (0.0, 1.0, 0.0, 1.0, 2.0, -1.0, 0.5, 3.0, -2.0, -0.5, -0.0, 1.0005)
"""All elements of a constant."""

ABOUT_1 = (1.0005, 1.01)
"""Of one over a dim: what is only about that is no mean."""

MIXED = (-2.0, -0.5, 0.0, 0.5, 1.0, 3.0)
"""Elements of a constant that differ."""

ODD_ELEMENTS: Mapping[Numerics, tuple[float, ...]] = {
    "bitwise": (np.nan, np.inf, -np.inf, -0.0, 1e30, 1e-30, 6e4),
    "finite": (-0.0, 1e30, 1e-30, 6e4, -100.0),
    "reassociates": (-0.0, 1e-3, -20.0, 7.0),
    "approximate": (-0.0, -2.0, 3.0),
}
"""Of constants in terms of laws of a class: what is not finite is no concern of most."""

INTEGERS = (0, 1, 2, 0, 1, 2, 3, -1, -2)
MIXED_INTEGERS = (-2, -1, 0, 1, 2, 3)
LARGE_INTEGERS = (2**31, -(2**31) - 1, 2**53 + 1, 2**24 + 1, 2**63 - 1, -(2**63), 255, 256, 65504)

SHARES = (0.1, 0.5, 0.9, 0.9)
"""The share of operands that are constants."""

ELEMENTS = (
    *("one", "one", "one", "uniform", "uniform", "mixed", "mixed", "odd", "ordered"),
    *("of a dim", "huge", "huge", "huge", "units", "tiny", "one but one"),
)
"""What a constant holds; "one but one" is one number but for an element in between, "of a dim" a dim of
another operand, or its inverse, "huge" from `TOO_LARGE`, "units" a single 1 in each row, "tiny" one of
`TOO_SMALL`."""

ORDERED = 20
"""Floats in order, again and again: a Pow by 2100 is no fair question."""

TOO_SMALL = (2.0**-16, 1e-4, 2.0**-24, 2.0**-128)
"""All elements of a constant, of which the inverse, or the square, is none of float16, or of float32."""

TOO_LARGE_INTEGERS = (50_000, 65_536, 2**31 - 1, 200)
"""All elements of a constant of integers, of which products and sums are beyond their types."""

TOO_LARGE: Mapping[Numerics, tuple[float, ...]] = {
    "bitwise": (1e30, -1e30),
    "finite": (1e30, -1e30, 1e15),
    "reassociates": (1e20, -1e20, 1e15),
    "approximate": (1e3, -1e3),
}
"""All elements of a constant, by the class of the law; the product of two is beyond float32, or that of three
only."""

NEAR_THE_END, KNOWN_ELEMENTS = 3e38, 16
"""All elements of a constant of so few that laws know each of them; the sum of two is beyond float32."""


def too_large(numerics: Numerics, shape: Sequence[int]) -> tuple[float, ...]:
    """What all elements of a constant of a shape may be."""
    few = numerics == "reassociates" and math.prod(shape) <= KNOWN_ELEMENTS
    return (*TOO_LARGE[numerics], NEAR_THE_END) if few else TOO_LARGE[numerics]


SEQUENCES = (1, 2, 5)
"""Lengths of the input of a recurrent layer."""

COUNTS = (1, 1, 2, 3)
"""Numbers of elements, in constants and inputs."""

VIEWS = (0, 1, 1, 2, 3)
"""Dims that a view is to have, at run time, beside one of -1."""

INDICES = (
    *("ordered", "shuffled", "backwards", "repeated", "repeated", "last", "rest backwards"),
    *("rest turned", "two exchanged"),
)
"""What a constant holds that picks elements along an axis; "rest backwards" and "rest turned" are in order at
first, and "two exchanged" are neighbours anywhere."""

DIVISORS = (3, 7, 10, 41, 49, 1000, 2, 16, -3)
"""Of integers, and of floats: 1 / 41 is rounded down, so that 41 times it is below 1, and 1 / 10 up; no shift
divides by 1000, nor may a power of two below 0."""

FRACTIONS = (0.1, 0.3, 1 / 3, 1e-3)
"""Divisors of floats that are none of integers."""

PARTS = (2, 2, 3, 1, 4)
"""Parts of a Split."""

LIST_LENGTHS = (2, 3, 1, 2, 4)
BOUNDS_OF_SLICES = (
    *((0, 1), (0, 2), (0, 5), (0, 20), (0, -1), (0, None), (1, None), (2, None), (-2, None), (-1, None)),
    *((-2, 4), (0, -2), (4, None), (-3, 2)),
    *((1, 2), (1, 3), (2, 5), (1, -1), (-3, -1), (3, 20), (20, None), (2, 2), (2, 1), (2, -1), (3, -1)),
)
STEPS = (1, 1, 1, 2, -1, -2, 3)
KERNELS = (1, 1, 2, 3, 3)
IMAGES = (1, 3, 5, 6, 7, 9)
STRIDES = (1, 1, 2, 3)
DILATIONS = (1, 1, 1, 2)
WINDOW_PADS = (0, 1, 1, 2)
POOL_KERNELS = (1, 2, 3, 4, 6)
CHANNELS = (1, 2, 4, 4, 6, 16)
GROUPED_CHANNELS = (6, 6, 6, 8, 4, 3)
"""Of which there may be several groups of several channels."""

OUTER_PADS = (0, 1, 1, 2)
PAD_MODES = ("constant", "constant", "constant", "edge", "reflect", "wrap")
PAD_VALUES = (0.0, 0.0, 0.0, -0.0, 1.0, -1.0, -np.inf, 0.5)


def _attributes(*values: float) -> tuple[float, ...]:
    """Numbers as attributes of nodes have them, which are of float32."""
    return tuple(float(np.float32(value)) for value in values)


EPSILONS = _attributes(1e-5, 1e-3, 0.0, 0.1)
SCALES = (0.25, 0.5, 1.0, 2.0, -1.0)
ATTENTION_SCALES = tuple(scale for scale in SCALES if scale > 0)
"""Kernels of attention take the root of theirs."""

FACTORS = (1.0, 1.0, 1.0, 0.5, 2.0, -1.0, 0.0)
"""alpha and beta of a Gemm."""

SLOPES = _attributes(0.01, 0.25, 0.5, 1.0, 2.0, -0.5, 0.0)
"""Attributes of activations."""

BOUNDS = (None, -1.0, 0.0, 1.0, 2.0, 6.0, -3.5, 1e5, -1e5)
RESIZE_SCALES = (1.0, 2.0, 0.5, 1.5, 3.0, 1.25, 1.75)
RESIZE_SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "coordinate_transformation_mode": (
        *("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize"),
    ),
    "extrapolation_value": (0.0, 9.0),
    "mode": ("nearest", "linear", "cubic"),
    "nearest_mode": ("round_prefer_floor", "floor", "ceil", "round_prefer_ceil"),
}
BOUNDS_OF_RANGES = ((0, 0, 1, 2, -1), (0, 3, 5, -2), (1, 1, 2, -1))
"""Where a Range starts, where it ends, and its steps."""

ENDS_OF_REGIONS = (1.0, 2.0, 0.5)
"""Of the part of an image that is resized, of 1."""

ACTIVATION = "Softsign"
"""Of a recurrent layer, instead of its last one."""

ACTIVATIONS = ("Tanh", "Relu", "Sigmoid")
"""Of a recurrent layer whose weights suit any."""

FLAGS = frozenset(
    "ceil_mode count_include_pad exclude_outside exclusive interleaved largest linear_before_reset reverse"
    " sorted trans_a trans_b".split()
)
"""Settings that are 0 or 1; onnxruntime takes other numbers in ways of its own."""

BLOCKS = (2, 2, 2, 3, 1)
BLOCK_MODES = ("DCR", "CRD")
SETTINGS_BY_NAME: Mapping[str, tuple[str, ...]] = {
    **RESIZE_SETTINGS,
    "mode": (*RESIZE_SETTINGS["mode"], *BLOCK_MODES, *("constant", "edge", "reflect", "wrap", "avg", "max")),
    "approximate": ("none", "tanh"),
    "auto_pad": ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"),
    "direction": ("LEFT", "RIGHT", "forward", "reverse", "bidirectional"),
    "padding_mode": ("zeros", "border", "reflection"),
    "reduction": ("none", "add", "mul", "max", "min", "mean", "sum"),
}
"""What settings may be that are words, by their names; an operator takes some of them."""

EQUATIONS = (
    *("bij,bjk->bik", "ij,jk->ik", "bij,bkj->bik", "ij,ij->ij", "ij->ji", "ij->i", "ii->i"),
    *("aa->", "aab->b", "aba->ab"),
    *("ii,ij->ij", "bii,bij->bij", "iij,jk->ik", "i,i->"),
    *("bhid,bhjd->bhij", "bijk,bkd->bijd", "ij,j->i", "i,j->ij", "ij,jk->ki"),
    *("ijk->kij", "ijk->jki", "ijk->ki", "ijk->ik", "ji", "ij,ji->ij", "bhij,hbjk->bhik", "hbij,bhjk->bhik"),
)
