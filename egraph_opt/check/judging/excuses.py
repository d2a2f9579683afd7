"""What differs and may be rounding, or a fault of an evaluator, so that another one is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from egraph_opt.check.feeds.roles import element_types
from egraph_opt.check.judging.agreement import DROWNS_ALL, FEW, REAL, beyond
from egraph_opt.check.judging.computed import Array, scale_of
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.graph.arena import is_out_of_memory

COMPUTING_NO_MORE = frozenset(
    "Add Concat Constant Conv ConvTranspose Expand Gemm Identity MatMul Mul Neg Pow ReduceSum Reshape Slice"
    " Split Squeeze Sub Sum Transpose Unsqueeze".split()
)
"""Operators that compute nothing larger on the way to their results, as a norm does."""

WRONG_PLAN = "attempting to re-use buffer"
"""What onnxruntime says where ONNX before opset 11 gives a Slice dims of its operand."""


def computes_no_more(model: onnx.ModelProto) -> bool:
    """Whether all that a model computes is a value of it."""
    return all(node.op_type in COMPUTING_NO_MORE for node in model.graph.node)


def reason_of_the_machine(error: Exception, model: onnx.ModelProto) -> str:
    """Why a model does not run, where that is not the model's fault; else nothing."""
    if is_out_of_memory(error):
        return "there is no memory for what was rewritten"
    opset = next((entry.version for entry in model.opset_import if not entry.domain), 0)
    if WRONG_PLAN in str(error) and opset < 11:
        return "onnxruntime infers a wrong shape of what was rewritten"
    return ""


def nearer(a: Array, meant: Array, b: Array) -> Array:
    """Of each element what a term answers, or what it is meant to: which of them `b` is nearer to; `b` itself
    where that is no farther from what is meant than the term is at worst."""
    if a.dtype.kind != "f" or not a.shape == meant.shape == b.shape:
        return a
    with np.errstate(all="ignore"):
        x, y, z = (each.astype(np.float64) for each in (a, meant, b))
        near, errors = np.where(np.abs(z - y) < np.abs(z - x), meant, a), np.abs(x - y)
        worst = float(errors[np.isfinite(errors)].max(initial=0))
        return np.where(np.abs(z - y) <= worst, b, near) if worst else near


def is_beyond_rounding(a: Any, b: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an evaluator in this type would have seen a difference, too."""
    apart = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
    return bool(np.max(apart[np.isfinite(apart)], initial=0) > 10 * REAL.get(dtype, 0.0) * (1 + scale_of(a)))


def flushed(a: Array, dtype: np.dtype[Any]) -> Array:
    """What a kernel of this type may make of numbers: onnxruntime's Tanh takes subnormal ones for 0."""
    if dtype.kind != "f" or a.dtype.kind != "f":
        return a
    return np.where(np.abs(a) < np.finfo(dtype).tiny, 0, a)


def is_no_rounding(a: Array, b: Array) -> bool:
    """Whether what was finite is not, or is as far off as the type is wide, such as the greatest of nothing,
    which sums of ordinary numbers never come to by rounding."""
    if a.dtype.kind != "f":
        return False
    within = 0.25 * float(np.finfo(a.dtype).max)
    with np.errstate(all="ignore"):
        far = np.abs(a.astype(np.float64) - b.astype(np.float64)) > within
    return bool((np.isfinite(a) & (~np.isfinite(b) | far)).any())


def stay_in_range(bad: Array, on_the_way: Sequence[Array], dtype: np.dtype[Any]) -> bool:
    """Whether nothing that is computed on the way to some elements is near the ends of their type."""
    info = np.finfo(dtype)
    for whole in on_the_way:
        if whole.dtype.kind == "f":
            sizes = np.abs(whole[bad] if whole.shape == bad.shape else whole)
            if not ((sizes == 0) | ((sizes >= info.tiny) & (sizes <= 0.25 * info.max))).all():
                return False
    return True


def overflows_with_inputs(a: Array, b: Array, given: Sequence[Array], made: Sequence[Array]) -> bool:
    """Whether what differs is infinite on one side, as a mask times an input is that are multiplied with
    others in another order.  What constants alone overflow to, a law can look at.

    Args:
        given, made: the constants of the term, and of what was made of it.
    """
    if a.shape != b.shape or a.dtype.kind != "f" or (np.isfinite(a).all() and np.isfinite(b).all()):
        return False
    floats = [c for c in (*given, *made) if c.dtype.kind == "f"]
    if not any((np.abs(c) > DROWNS_ALL).any() for c in floats):
        return False
    return not is_no_rounding(a, b) or all(np.isfinite(c).all() for c in made if c.dtype.kind == "f")


def differs_as_halves(a: Array, b: Array) -> bool:
    """Whether floats differ by no more than numbers of 16 bits are rounded by, or one is out of range.

    Where it has no kernel for these, onnxruntime computes several nodes in wider ones and rounds once.
    """
    if a.dtype.kind != "f":
        return False
    within, least = FEW * float(np.finfo(np.float16).eps), float(np.finfo(np.float16).smallest_subnormal)
    finite = np.isfinite(a) & np.isfinite(b)
    return np.allclose(b[finite], a[finite], rtol=within, atol=least)


STEPS = frozenset("Ceil Floor Round Sign".split())
"""Functions that are another whole number on either side of a number."""


def may_be_a_step(a: Array, b: Array, model: onnx.ModelProto) -> bool:
    """Whether floats differ by one step at most, as of a half that onnxruntime may not have rounded."""
    steps = any(node.op_type in STEPS for node in model.graph.node)
    return steps and a.dtype.kind == "f" and bool(np.nanmax(np.abs(a - b), initial=0) <= 1)


def adds_integers_as_doubles(model: onnx.ModelProto) -> bool:
    """Whether a model of integers alone reduces those of 64 bits, and no others: onnxruntime adds them as
    doubles, so that the last places of large ones are others in another order."""
    types = element_types(model)
    reduced = {types.get(node.input[0]) for node in model.graph.node if node.op_type.startswith("Reduce")}
    return ALL_FLOATS.isdisjoint(types.values()) and reduced == {TensorProto.INT64}


def is_excused(a: Array, b: Array) -> bool:
    """Whether finite elements differ by more than their own rounding, so that others on the way excuse it.

    Halves are computed as such by the reference, too.
    """
    if a.dtype.kind != "f" or a.dtype == np.float16:
        return False
    finite = np.isfinite(a) & np.isfinite(b)
    return bool((beyond(a, b, REAL.get(a.dtype, 1e-2), 0.0) & finite).any())


def are_alike(answers: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether the reference computes what onnxruntime does, roughly: else it has a fault there."""
    return all(a.shape == b.shape and _is_near(a, b) for a, b in zip(answers, expected, strict=True))


def _is_near(a: Any, b: Any) -> bool:
    if b.dtype.kind != "f":
        return True
    sound = np.isfinite(b)
    return bool(np.allclose(a[sound], b[sound], 0.05, 0.05 * (1 + scale_of(b)), equal_nan=True))
