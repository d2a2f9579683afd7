"""Passes: laws that run together, to their fixed point, before anything is chosen.

Those of two known optimizers are here in their order, as the laws that they come to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from egraph_opt.errors import UnknownOrderError
from egraph_opt.laws.selection import select

Acceptance = Literal["gated", "blind"]
"""What a pass makes is kept where the cost falls, or always."""


@dataclass(frozen=True)
class Pass:
    """Laws that a greedy optimizer would call one pass.

    Attributes:
        laws: keys of laws (`ruleset.name`) and names of rulesets.
    """

    name: str
    laws: tuple[str, ...]

    def holds(self, law: str) -> bool:
        """Whether a law is one of the pass."""
        return law in self.laws or law.rpartition(".")[0] in self.laws

    @staticmethod
    def of_rulesets(names: Iterable[str] | None) -> tuple[Pass, ...]:
        """A pass for each ruleset of which `select` takes laws; by default of all that are exact.

        Raises:
            UnknownRulesetError: there is no such ruleset or law.
        """
        return tuple(Pass(name, (name,)) for name in sorted({law.ruleset for law in select(names)}))


AUTO_OPTIMIZER = tuple(
    Pass(name, tuple(laws.split()))
    for name, laws in (
        ("Conv1d2Conv2d", "conv1d"),
        ("MergeConsecutiveSlice", "slice"),
        ("TransposeLargeInputConv", "wide_images transpose"),
        ("MergeConsecutiveConcat", "concat"),
        ("TypeCast", "narrowing cast"),
        ("SplitQKVMatmul", "selection split gather horizontal"),
        ("SplitLargeKernelConv", "large_kernel large_stride large_dilation"),
        ("MergeCasts", "cast"),
        ("EmptySliceFix", "slice concat"),
        ("DynamicReshape", "reshape shapes expand"),
        ("GatherToSplit", "gather split slice"),
        ("AvgPoolSplit", "pooling reduction"),
        ("BNFolding", "batchnorm convolution gemm matmul transpose"),
    )
)
"""Its knowledge bases as it lists them, but for ResizeModeToNearest and TopkFix, which change values or leave
the standard.  Each is given all laws of the rulesets that it needs, which is more than it knows."""

ONNXOPTIMIZER = tuple(
    Pass(name, tuple(laws.split()))
    for name, laws in (
        ("eliminate_nop_cast", "cast.to_own_type"),
        ("eliminate_nop_flatten", "reshape.drop_own_dims"),
        ("eliminate_consecutive_idempotent_ops", "elementwise.idempotent reshape.compose_reshapes"),
        ("eliminate_nop_monotone_argmax", "arg_max.of_softmax"),
        ("eliminate_nop_pad", "padding.without_pads"),
        ("eliminate_nop_concat", "concat.single"),
        ("eliminate_nop_split", "split.outputs slice.simplify"),
        ("eliminate_nop_expand", "expand.drop_own_dims"),
        ("eliminate_nop_transpose", "transpose.drop_identity"),
        ("fuse_add_bias_into_conv", "convolution.shift_after_conv"),
        (
            "fuse_bn_into_conv",
            "batchnorm.expand_batchnorm convolution.scale_after_conv convolution.shift_after_conv",
        ),
        ("fuse_consecutive_concats", "concat.flatten"),
        ("fuse_consecutive_log_softmax", "softmax.logarithm"),
        ("fuse_consecutive_reduce_unsqueeze", "reduction.drop_axes_later"),
        ("fuse_consecutive_squeezes", "reshape.compose_reshapes"),
        ("fuse_consecutive_transposes", "transpose.compose_transposes"),
        ("fuse_matmul_add_bias_into_gemm", "gemm.product_and_sum"),
        ("fuse_pad_into_conv", "padding.pad_into_conv"),
        ("fuse_pad_into_pool", "padding.pad_into_max_pool"),
        ("fuse_transpose_into_gemm", "gemm.transposes_into_gemm"),
        ("fuse_concat_into_reshape", "reshape.know_the_target"),
        ("eliminate_nop_reshape", "reshape.drop_own_dims"),
        (
            "eliminate_nop_with_unit",
            "elementwise.neutral_left elementwise.neutral_right elementwise.zero_added",
        ),
        ("fuse_qkv", "horizontal.three_products split.from_slices"),
        ("fuse_consecutive_unsqueezes", "reshape.compose_reshapes"),
        ("fuse_consecutive_slices", "slice.compose"),
        ("rewrite_where", "conditions.where_not"),
        ("replace_einsum_with_matmul", "einsum.is_product"),
    )
)
"""Its passes as it lists them, but for those that reading a graph, sharing equal terms and leaving out what
nobody needs come to."""

ORDERS: Mapping[str, tuple[Pass, ...]] = MappingProxyType(
    {"auto-optimizer": AUTO_OPTIMIZER, "onnxoptimizer": ONNXOPTIMIZER}
)
"""Orders by the name of the optimizer that has them."""


def every_pass() -> tuple[Pass, ...]:
    """One for each ruleset, then those of the optimizers."""
    return (*Pass.of_rulesets(None), *(entry for order in ORDERS.values() for entry in order))


def order_named(name: str, *others: str) -> tuple[Pass, ...]:
    """An optimizer's passes.

    Args:
        others: names that may be given instead, for the message.

    Raises:
        UnknownOrderError: there is no such order; suggests the nearest.
    """
    if name not in ORDERS:
        raise UnknownOrderError(name, (*ORDERS, *others))
    return ORDERS[name]
