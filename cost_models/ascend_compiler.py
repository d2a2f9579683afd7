"""What the graph compiler of Ascend (ATC) does to a model by itself, as laws: none of it is a gain of ours.

Each pass is made of laws, with the ONNX operators in whose place it writes what they make.  Which passes a
chip's compiler has, and which sources say so, is `compiler_passes` in ``ascend.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

Laws = Mapping[str, frozenset[str]]
"""Keys of laws, each with op types of the original."""


def _laws(**places: str) -> Laws:
    """Laws (ruleset and name with two underscores between) with the operators in whose place they write."""
    return {key.replace("__", "."): frozenset(ops.split()) for key, ops in places.items()}


PASSES: Mapping[str, Laws] = MappingProxyType(
    {
        "conv_batchnorm": _laws(
            batchnorm__expand_batchnorm="",
            convolution__scale_after_conv="BatchNormalization",
            convolution__shift_after_conv="BatchNormalization",
        ),
        "conv_transpose_batchnorm": _laws(
            batchnorm__expand_batchnorm="",
            convolution__scale_after_conv_transpose="BatchNormalization",
            convolution__shift_after_conv_transpose="BatchNormalization",
        ),
        "conv_mul": _laws(convolution__scale_after_conv="Mul Div"),
        "conv_add": _laws(
            convolution__shift_after_conv="Add Sub", convolution__shift_after_conv_transpose="Add Sub"
        ),
        "pad_conv": _laws(padding__pad_into_conv="Conv BatchNormalization Mul Add"),
        "transpose_gemm": _laws(
            gemm__transposed_product="MatMul", gemm__transposes_into_gemm="Gemm", gemm__gemm_apart=""
        ),
        "concat_in_place": _laws(ascend__in_place__concatenation=""),
        "constant_shapes": _laws(),
        "concat_concat": _laws(concat__flatten="Concat"),
        "unit_transpose": _laws(transpose__of_units="Transpose"),
        "no_operations": _laws(
            concat__single="",
            elementwise__zero_added="",
            padding__without_pads="",
            slice__simplify="",
            transpose__drop_identity="",
        ),
        "grouped_convolution": _laws(
            joining__convolutions_in_groups="Concat",
            joining__convolutions_in_many_groups="Concat",
            concat__join_slices="",
            slice__simplify="",
        ),
        "same_input_convolution": _laws(
            same_input__two_convolutions="Conv BatchNormalization",
            same_input__three_convolutions="Conv BatchNormalization",
            horizontal__functions_of_parts="Relu",
            split__from_slices="Conv BatchNormalization Relu",
            split__outputs="Conv BatchNormalization Relu",
        ),
    }
)
"""Passes by our names for them; laws without operators make values equal, or lead to what others write.

`constant_shapes` is no law: see `ascend_constants`."""


def limits_of(passes: Iterable[str], float_bytes: float, block: int) -> dict[str, int]:
    """What laws of the compiler ask for.

    Args:
        float_bytes: of float16 only are images written in place.
        block: how many channels are a block.
    """
    return {"in_place_block": block} if "concat_in_place" in passes and float_bytes == 2 else {}


def applied_by(passes: Iterable[str]) -> dict[str, frozenset[str]]:
    """The laws of some passes; a law that several have writes wherever one of them does."""
    found: dict[str, frozenset[str]] = {}
    for name in passes:
        for law, op_types in PASSES[name].items():
            found[law] = found.get(law, frozenset()) | op_types
    return found
