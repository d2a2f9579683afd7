"""Statements of laws that no example makes fire, by number: the list may only become shorter.

A statement is the k-th that a law yields, from 0.
"""

UNEXAMPLED: dict[str, tuple[str, ...]] = {
    "approximate.double_in_float": ("7", "8", "9", "10"),
    "ascend.fusion.cube_kernel": ("1", "3", "5", "7"),
    "associativity.associate": ("1", "2", "5"),
    "assume.assume_narrow": ("0", "4", "5", "9"),
    "attention.masks_meet": ("1", "2"),
    "composites.primitives.normalisation_parts": ("1",),
    "constants.scale_leaves_factor": ("3",),
    "distributivity.factor_out": ("2", "3"),
    "distributivity.multiply_out": ("2", "3", "6", "7"),
    "expand.past_binary": ("0", "3"),
    "expand.past_where": ("0", "1", "2", "4", "8", "9", "10", "11"),
    "gemm.gemm_apart": ("0", "2", "4", "5", "6", "8", "9", "10"),
    "large_kernel.fold_kernel": ("2", "3", "4", "5", "6"),
    "large_stride.fold_neighbours": ("0", "1", "6", "7"),
    "narrowing.moves_of_wide": ("5", "6"),
    "narrowing.narrow_moves": ("3", "5"),
    "reduction.reduction_is_global_pool": ("1",),
    "reshape.compose_reshapes": ("1",),
    "shapes.dims_of_input": ("4", "5"),
    "split.share": ("5", "6", "7"),
}
