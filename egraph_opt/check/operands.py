"""What operands of an operator look like, so that most terms are well-typed; values are those of `tables`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check import tables
from egraph_opt.check.attributes import another_view
from egraph_opt.check.blocks import image_of_blocks, sequence_lengths, updates
from egraph_opt.check.choices import Random, chance, pick, picks
from egraph_opt.check.divisors import DIVIDING, divisors_of
from egraph_opt.check.layers import layer_extra, layer_operand
from egraph_opt.check.quantities import quantization
from egraph_opt.check.rotations import rotated_operand
from egraph_opt.facts.dtypes import ALL_FLOATS, INTEGERS
from egraph_opt.facts.fact import ABSENT, Dim, Fact, Shape
from egraph_opt.operators.elementwise import BINARY, UNARY, VARIADIC
from egraph_opt.operators.reductions import REDUCTIONS

Array = np.ndarray[Any, Any]

_NAMES: dict[str, Sequence[str]] = {
    "unary": (*UNARY, "Relu", "Sigmoid", "Neg", "Sqrt", "Clip"),
    "binary": (*BINARY, *("Add", "Mul", "Sub", "Div") * 4, *("PRelu",) * 3),  # which broadcasts one way only
    "variadic": VARIADIC,
    "reduce": REDUCTIONS,
    "arg_reduce": ("ArgMax", "ArgMin"),
    "softmax": ("Softmax", "LogSoftmax", "Hardmax"),
    "pool": ("AveragePool", "MaxPool"),
    "global_pool": ("GlobalAveragePool", "GlobalMaxPool"),
    "blockwise": ("DepthToSpace", "SpaceToDepth"),
    "overwrite": ("ScatterND", "ScatterElements"),
    **dict.fromkeys(("to_layout", "from_layout", "laid", "unlaid"), ("NC1HWC0", "FRACTAL_NZ")),
}


def settings_of(operator: str) -> Sequence[str]:
    """The ONNX operators that a constructor with a name stands for, or its layouts; none where unknown."""
    return _NAMES.get(operator, ())


def operand_shapes(
    rng: Random, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
) -> Shape | None:
    """The shape that the next operand should have; None for any.

    Args:
        before: the operands that are there already.
        wish: the shape that the result should have.
    """
    known = [f.shape for f in before if f is not None]
    rule = _OPERANDS.get(operator)
    if rule is not None:
        return rule(rng, known, wish)
    if known and known[0] is not None:
        return known[0]
    return None if wish is None else tuple(wish)


def partner(rng: Random, shape: Shape) -> Shape:
    """The shape of something that is broadcast against a tensor, as a rule without changing its shape."""
    rank = len(shape)
    kind = pick(
        rng,
        *(*("the same",) * 3, *("ones",) * 2, *("one axis",) * 3, "the last", "some"),
        *(*("larger",) * 2, "crossed", "symbols", "numbers", *("a number",) * 2),
    )
    if not rank and kind == "larger":
        return tuple(picks(rng, (1, 2, 3), int(pick(rng, 1, 2))))
    if kind == "the same" or not rank:
        return shape
    if kind == "a number":
        return ()
    if kind == "ones":
        return (1,) * int(pick(rng, *range(rank + 2)))  # one more axis makes one of the result
    if kind == "one axis":
        axis = int(pick(rng, *range(rank)))
        dims = tuple(d if k == axis else 1 for k, d in enumerate(shape))
        return dims[int(pick(rng, axis, int(rng.integers(0, axis + 1)))) :]
    if kind == "the last":
        return shape[int(rng.integers(0, rank + 1)) :]
    if kind == "crossed":
        return tuple(pick(rng, 2, 3) if d == 1 else 1 for d in shape)
    if kind == "symbols":
        return tuple(pick(rng, "M", "N", d) for d in shape)
    if kind == "numbers":
        return tuple(d if isinstance(d, int) else pick(rng, 1, 2, 3, 4) for d in shape)
    if kind == "larger":
        grown = tuple(pick(rng, 2, 3) if d == 1 else d for d in shape)
        return (*((2,) if chance(rng, 0.5) else ()), *grown)
    return tuple(1 if chance(rng, 0.4) else d for d in shape)


def _elementwise(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known and wish is None:
        return () if chance(rng, 0.1) else None  # a number in front, as in 1 / x
    if not known:
        return tuple(wish or ()) if chance(rng, 0.8) else partner(rng, tuple(wish or ()))
    return None if known[0] is None else partner(rng, known[0])


def _images(rng: Random, wish: Sequence[Dim] | None, channels: Sequence[int] = tables.CHANNELS) -> Shape:
    """Rows, images and volumes, some with as many pixels along each axis as there are channels."""
    if wish is not None and len(wish) >= 3:
        return tuple(wish)
    axes = pick(rng, 1, 2, 2, 3)
    batch: Dim = pick(rng, "N", 1, 2)
    if chance(rng, 0.1):
        return (batch, *(pick(rng, 2, 3, 4),) * (axes + 1))
    spatial = picks(rng, tables.IMAGES, axes)
    return (batch, pick(rng, *channels), *spatial)


def _conv(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return _images(rng, wish)
    x = known[0]
    if x is None or len(x) < 3 or not isinstance(x[1], int):
        return None
    if len(known) == 1:
        group = pick(rng, 1, 1, 1, 2, max(x[1], 1))
        kernel = picks(rng, tables.KERNELS, len(x) - 2)
        return (pick(rng, 1, 2, 4) * group, max(x[1] // group, 1), *kernel)
    w = known[1]
    return (w[0],) if w else None


def _conv_transpose(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    shape = _conv(rng, known, wish)
    if len(known) == 1 and shape is not None and known[0] is not None:
        return (known[0][1], pick(rng, 1, 2, 3), *shape[2:])
    if len(known) < 2 or known[1] is None or len(known[1]) < 2:
        return shape
    channels, per_group = known[1][:2]
    if not isinstance(channels, int) or not isinstance(per_group, int):
        return (per_group,)
    groups = [g for g in (1, 1, 2, channels) if g and channels % g == 0]
    return (per_group * int(pick(rng, *groups)),)


def _matmul(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    inner = pick(rng, 1, 2, 3, 5, "M")
    if not known:
        if wish is not None and len(wish) >= 2:
            return (*wish[:-1], inner)
        if wish is None and pick(rng, *[False] * 7, True):
            return (inner,)
        outer = [pick(rng, 1, 2, 3, "N") for _ in range(pick(rng, 0, 0, 1, 2))]
        return (*outer, pick(rng, 1, 2, 4, "L"), inner)
    x = known[0]
    if not x:
        return None
    columns = wish[-1] if wish is not None and len(wish) >= 2 else pick(rng, 1, 2, 4, 6)
    if wish is None and pick(rng, *[False] * 7, True):
        return (x[-1],)
    before = x[:-2] if chance(rng, 0.5) else ()
    return (*before, x[-1], columns)


def _gemm(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if len(known) < 2:
        shape = known[0] if known else None
        if shape and chance(rng, 0.5):
            return (pick(rng, 2, 4), shape[-1])
        return (pick(rng, 3, "N"), pick(rng, 2, 3)) if not shape else (shape[-1], pick(rng, 2, 4))
    return partner(rng, (known[0][0] if known[0] else 1, known[1][-1] if known[1] else 1))


def _channels(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return None if wish is None else tuple(wish)
    return None if not known[0] or len(known[0]) < 2 else (known[0][1],)


def _normed(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return _channels(rng, known, wish) if known else _images(rng, wish)


def _grouped(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return _channels(rng, known, wish) if known else _images(rng, wish, tables.GROUPED_CHANNELS)


def _gather(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if known:
        lengths = tuple(d for d in known[0] or () if isinstance(d, int) and d)
        return tuple(picks(rng, (1, 2, 3, *lengths), pick(rng, 0, 1, 1, 1, 2)))
    return None if wish is None else tuple(wish)


def _sliced(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    """What is sliced, then a bound for each of some axes."""
    if not known:
        return None if wish is None else tuple(wish)
    return known[1] if len(known) > 1 else (min(pick(rng, 1, 1, 2), len(known[0] or ())),)


def _targeted(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    """What is given other dims, then a row of these."""
    if known:
        return (len(known[0] or ()) + int(chance(rng, 0.3)),)
    return None if wish is None else tuple(wish)


def _summed(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return () if known else None if wish is None else tuple(wish)


def _scalars(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return ()


def _where(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return _elementwise(rng, known[-1:], wish)


def _pooled(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return _images(rng, wish) if not known else None


def _lasts(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return None if wish is None else tuple(wish)
    return None if known[0] is None else known[0][-pick(rng, 1, 1, 2) :]


def _heads(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return (pick(rng, "N", 2), pick(rng, 1, 3), pick(rng, "L", 4), pick(rng, 2, 4))
    q = known[0]
    if q is None or len(q) != 4:
        return None
    return (*q[:2], 5, q[3]) if len(known) < 3 else (q[0], q[1], q[2], 5)


def _viewed(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return None if wish is None else another_view(rng, tuple(wish))


def _permuted(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return None if wish is None else tuple(wish[k] for k in rng.permutation(len(wish)))


_OPERANDS: dict[str, Callable[[Random, list[Shape | None], Sequence[Dim] | None], Shape | None]] = {
    "binary": _elementwise,
    "reshape": _viewed,
    "transpose": _permuted,
    "where": _where,
    "gather": _gather,
    "slice_at": _sliced,
    "cumsum": _summed,
    "recurrent": layer_operand,
    "rotary": rotated_operand,
    "expand_to": _targeted,
    "range_": _scalars,
    "reshape_to": _targeted,
    "variadic": _elementwise,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "matmul": _matmul,
    "gemm": _gemm,
    "batchnorm": _channels,
    "instance_norm": _normed,
    "group_norm": _grouped,
    "blockwise": image_of_blocks,
    "overwrite": updates,
    "pool": _pooled,
    "lp_pool": _pooled,
    "global_pool": _pooled,
    "layer_norm": _lasts,
    "shifted_layer_norm": _lasts,
    "rms_norm": _lasts,
    "scores": _heads,
    "attention": _heads,
    "masked_attention": _heads,
}


FLOATS_ONLY = frozenset("rotary batchnorm instance_norm group_norm rms_norm layer_norm".split()) | {
    "recurrent",
    "scores",
    "attention",
    "masked_attention",
}
"""Operators that are there of floats only: laws write them where they have seen that."""

_DTYPES = {
    ("where", 0): TensorProto.BOOL,
    ("gather", 1): TensorProto.INT64,
    ("gather_elements", 1): TensorProto.INT64,
    ("gather_nd", 1): TensorProto.INT64,
    ("cumsum", 1): TensorProto.INT64,
    ("dequantize", 0): TensorProto.INT8,
    ("recurrent", 5): TensorProto.INT32,
    ("reverse_sequence", 1): TensorProto.INT64,
    ("slice_at", 1): TensorProto.INT64,
    ("slice_at", 2): TensorProto.INT64,
    ("expand_to", 1): TensorProto.INT64,
    ("reshape_to", 1): TensorProto.INT64,
    **{("range_", number): TensorProto.INT64 for number in range(3)},
}

COUNTS = frozenset({("expand_to", 1), ("reshape_to", 1)})
"""Operands, counted from 0, that are numbers of elements: large ones are no fair question."""


def operand_dtype(operator: str, number: int, usual: int) -> int:
    """The element type of an operand, counted from 0, where others have the usual one."""
    if operator == "quantize" and not number and usual not in ALL_FLOATS:
        return TensorProto.FLOAT
    return _DTYPES.get((operator, number), usual)


def fixed_operand(
    rng: Random, operator: str, number: int, before: Sequence[Fact], op: str = ""
) -> Array | Fact | None:
    """The elements of an operand, counted from 0, that few numbers suit, ABSENT to leave it out, else
    None."""
    rank = before[0].rank if before and before[0].rank is not None else 0
    if op in DIVIDING and number == 1 and before[0].dtype in INTEGERS | ALL_FLOATS:
        numbers = ir.DataType(before[0].dtype).numpy()
        whole = np.full(pick(rng, (), (), (1,)), pick(rng, *divisors_of(numbers)), numbers)
        return whole if chance(rng, 0.2) else None
    if operator == "cumsum" and number == 1:
        return np.array(pick(rng, *range(-rank, rank)) if rank else 0, dtype=np.int64)
    if operator == "resize" and number == 2 and rank > 2:
        return np.array([1, 1, *picks(rng, tables.RESIZE_SCALES, rank - 2)], dtype=np.float32)
    if operator in ("quantize", "dequantize") and number:
        return quantization(rng, number, before)
    if operator in ("reshape_to", "expand_to") and number and chance(rng, 0.5):
        return _dims_as_numbers(rng, before[0].shape or (), viewed=operator == "reshape_to")
    if operator == "range_" and (number == 2 or chance(rng, 0.5)):
        return np.array(pick(rng, *tables.BOUNDS_OF_RANGES[number]), dtype=np.int64)
    if operator == "reverse_sequence" and number:
        return sequence_lengths(rng, before[0].shape or ())
    if operator == "recurrent":
        return layer_extra(rng, number, before)
    if operator == "resize" and number == 1 and rank > 2 and chance(rng, 0.2):
        return np.array(
            [*[0.0] * rank, *[1.0] * 2, *picks(rng, tables.ENDS_OF_REGIONS, rank - 2)], np.float32
        )
    return ABSENT if operator == "resize" and number else None


def _dims_as_numbers(rng: Random, shape: Shape, *, viewed: bool) -> Array:
    """Dims that suit x: of a view some are copied (0) and one is inferred (-1), or more and others."""
    known = [d if isinstance(d, int) else 1 for d in shape]
    if not viewed:
        wide = [pick(rng, d, 1) if d != 1 else pick(rng, *tables.COUNTS) for d in known]
        return np.array([*(2,) * int(chance(rng, 0.2)), *wide], np.int64)
    copied = pick(rng, *range(len(known) + 1))
    kind = pick(rng, "inferred", "inferred", "split", "same")
    rest = known[copied:]
    if kind == "split" and rest and rest[-1] and rest[-1] % 2 == 0:
        rest = [*rest[:-1], 2, rest[-1] // 2]
    return np.array([0] * copied + ([-1] if kind == "inferred" else rest), np.int64)


PREDICATES = frozenset("Equal Greater GreaterOrEqual Less LessOrEqual IsInf IsNaN".split())
"""Operators that answer booleans about something else."""


def may_be_absent(operator: str, number: int) -> bool:
    """Whether an operand, counted from 0, need not be there."""
    return operator in ("conv", "conv_transpose", "gemm") and number == 2


FITTED = ("conv", "conv_transpose", "instance_norm", "group_norm")
"""Operators with which onnxruntime ends the process where a vector has not a number for each channel."""


def has_fitting_bias(operator: str, operands: Sequence[Fact]) -> bool:
    """Whether the bias, and the scale of a normalization, if any, have a number per channel."""
    x, w, b = operands
    if operator in ("instance_norm", "group_norm"):
        return x.shape is not None and len(x.shape) > 2 and w.shape == b.shape == x.shape[1:2]
    if x.shape is None or w.shape is None or (b != ABSENT and b.shape is None):
        return False
    if operator == "conv_transpose":  # its groups follow from its bias
        return b == ABSENT or b.rank == 1
    return b == ABSENT or b.shape == w.shape[:1]
