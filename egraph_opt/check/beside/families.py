"""What is beside the examples of a law's author: variants, neighbours, and what is near those.

The tables make few terms of some laws, and of none do they make all that a condition may have forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, product

from egraph_opt.check.beside.along_other_axes import (
    with_factors_along_other_axes,
    with_few_pixels,
    with_padded_windows,
)
from egraph_opt.check.beside.around_images import with_gaps_in_windows, with_windows_around_images
from egraph_opt.check.beside.at_run_time import with_operands_at_run_time, with_several_at_run_time
from egraph_opt.check.beside.both_directions import with_both_directions
from egraph_opt.check.beside.bounds_from_behind import with_bounds_from_behind
from egraph_opt.check.beside.cast_sources import with_other_sources
from egraph_opt.check.beside.cast_targets import with_other_targets
from egraph_opt.check.beside.continued_patterns import with_continued_patterns
from egraph_opt.check.beside.crossed import with_crossed_operands
from egraph_opt.check.beside.ends_of_types import with_ends_of_types
from egraph_opt.check.beside.equal_views import with_equal_views
from egraph_opt.check.beside.factors_of_one import with_factors_of_one
from egraph_opt.check.beside.followed_sizes import with_followed_sizes
from egraph_opt.check.beside.gaps_between_axes import with_gaps_between_axes
from egraph_opt.check.beside.kept_sums import with_kept_moments, with_kept_sums
from egraph_opt.check.beside.known_ranges import with_other_ranges
from egraph_opt.check.beside.longer_ones import with_longer_ones
from egraph_opt.check.beside.magnitudes import with_other_magnitudes
from egraph_opt.check.beside.more_copies import with_copies_along_another_axis, with_more_copies
from egraph_opt.check.beside.more_groups import with_more_groups
from egraph_opt.check.beside.more_ones import with_more_ones
from egraph_opt.check.beside.moved_axes import with_moved_axes
from egraph_opt.check.beside.multiples import with_multiples
from egraph_opt.check.beside.named_attributes import with_named_attributes
from egraph_opt.check.beside.named_ends import with_named_ends
from egraph_opt.check.beside.nearly_nothing import with_nearly_nothing
from egraph_opt.check.beside.neighbours import neighbours
from egraph_opt.check.beside.newer_settings import with_newer_settings
from egraph_opt.check.beside.numbers_by_type import (
    with_least_bounds,
    with_numbers_beyond_halves,
    with_numbers_without_inverse,
)
from egraph_opt.check.beside.optional_operands import with_optional_operands
from egraph_opt.check.beside.orders import with_other_orders
from egraph_opt.check.beside.other_attributes import PICKY, Made
from egraph_opt.check.beside.other_bytes import with_other_bytes
from egraph_opt.check.beside.other_constants import with_other_constants
from egraph_opt.check.beside.other_equations import with_other_equations
from egraph_opt.check.beside.other_flags import with_other_flags
from egraph_opt.check.beside.other_layers import with_other_layers
from egraph_opt.check.beside.other_letters import with_other_letters
from egraph_opt.check.beside.other_masks import with_other_masks
from egraph_opt.check.beside.other_rotations import with_other_rotations
from egraph_opt.check.beside.other_scales import with_other_scales
from egraph_opt.check.beside.other_targets import with_more_axes_reduced, with_ones_and_nothing
from egraph_opt.check.beside.parts_between import with_parts_between
from egraph_opt.check.beside.points_for_axes import with_points_for_axes
from egraph_opt.check.beside.proportions import with_moved_ones, with_sizes_in_proportion
from egraph_opt.check.beside.quantized_bounds import with_quantized_bounds
from egraph_opt.check.beside.rows_for_numbers import with_rows_for_numbers
from egraph_opt.check.beside.scaled_lengths import with_scaled_lengths
from egraph_opt.check.beside.seen_from_behind import with_windows_seen_from_behind
from egraph_opt.check.beside.stepped_blocks import with_stepped_blocks
from egraph_opt.check.beside.structures import (
    with_mirrored_constants,
    with_pairs_of_structures,
    with_structures,
)
from egraph_opt.check.beside.ties import with_equal_bounds, with_tied_comparisons
from egraph_opt.check.beside.turned_axes import with_turned_axes
from egraph_opt.check.beside.turned_slices import with_ends_that_follow, with_turned_slices
from egraph_opt.check.beside.unequal_copies import with_unequal_copies
from egraph_opt.check.beside.unequal_parts import with_unequal_parts, with_uneven_halves
from egraph_opt.check.beside.uneven_windows import with_uneven_windows
from egraph_opt.check.beside.variants import (
    OF_NARROW,
    long_ones,
    small_ones,
    variants,
    with_long_sums,
    without_names,
)
from egraph_opt.check.beside.vectors import with_vectors
from egraph_opt.check.beside.viewed_updates import with_viewed_updates
from egraph_opt.check.beside.volumes import with_volumes
from egraph_opt.check.beside.wider_kernels import with_wider_kernels
from egraph_opt.check.choices import spread
from egraph_opt.check.named_numbers import NamedAttributes
from egraph_opt.check.scope import operators_in, roots_of
from egraph_opt.laws.law import Example

FEW_TERMS, ANYHOW = 96, 32
"""Variants that are tried where the tables make few terms of a law, and where they make many."""

NEAR, NEAR_FEW = 3, 8
"""Neighbours for each variant, and for each of the first `ANYHOW`; of each sort of what differs from an
example in two things as many as of the former."""

STEPS = 8
"""Variants, and as many neighbours, beside which others are looked for."""

WIDER = ("in 16 bits", "of wider integers", "longer constants")
"""Variants on which other numbers show: more of what is near them is tried."""

ALIKE = "all sizes"
"""The variant on which axes are told apart by what is in them alone."""

SUMMING, MANY = frozenset({"matmul", "gemm", "reduce"}), (301, 1041)
"""Operators of which the order of sums shows where there are so many terms, an odd number of them: sums of
an even one may have a digit less."""

RELATED = (
    *(with_other_magnitudes, with_crossed_operands, with_more_groups),
    *(with_operands_at_run_time, with_kept_sums, with_tied_comparisons, with_windows_around_images),
    *(with_other_bytes, with_structures, with_other_orders),
    *(with_turned_slices, with_more_copies, with_followed_sizes, with_other_layers),
    *(with_other_letters, with_parts_between, with_gaps_in_windows, with_kept_moments),
    *(with_moved_ones, with_other_flags, with_other_sources),
    *(with_copies_along_another_axis, with_other_masks, with_quantized_bounds, with_other_targets),
    *(with_unequal_parts, with_uneven_halves, with_both_directions, with_ones_and_nothing),
    *(with_more_axes_reduced, with_equal_views, with_factors_along_other_axes, with_padded_windows),
    *(with_more_ones, with_equal_bounds, with_viewed_updates),
    *(with_windows_seen_from_behind, with_other_rotations, with_numbers_without_inverse),
    *(with_continued_patterns, with_scaled_lengths),
    *(with_points_for_axes, with_uneven_windows, with_turned_axes),
    *(with_factors_of_one, with_moved_axes, with_several_at_run_time, with_multiples),
    *(with_ends_of_types, with_mirrored_constants, with_wider_kernels),
    *(with_longer_ones, with_bounds_from_behind, with_unequal_copies, with_rows_for_numbers),
    *(with_other_equations, with_stepped_blocks, with_pairs_of_structures, with_volumes),
    *(with_gaps_between_axes, with_vectors),
)
"""What changes in several things at once."""

OF_ALL = (
    *(with_newer_settings, with_sizes_in_proportion, with_ends_that_follow),
    *(with_few_pixels, with_other_scales, with_optional_operands, with_nearly_nothing),
)
"""The same, also beside examples of operators that are particular about sizes."""

FEWER = {
    with_structures: 64,
    with_pairs_of_structures: 64,
    with_uneven_halves: 48,
    with_uneven_windows: 48,
    with_turned_axes: 12,
    with_moved_axes: 16,
    with_several_at_run_time: 16,
    with_wider_kernels: 48,
    with_longer_ones: 32,
    with_unequal_copies: 32,
    with_volumes: 16,
}
"""Of these changes so many examples are tried: constants with structures most laws do not ask for, and of
laws about slices all halves fire."""

LONG = 2
"""Examples that are tried with long axes."""


def beside(
    examples: Sequence[Example], numbers: frozenset[float], most: int, *, few: bool, long: bool, bits: bool
) -> Iterator[Example]:
    """What differs from examples on which a law fires in one thing or two.

    Args:
        numbers: those that the law names.
        most: variants at most.
        few: whether the tables make few terms.
        long: axes are made so long that some types of numbers do not count so far.
        bits: of products of matrices there are so many that the order of their sums shows.
    """
    most = min(FEW_TERMS if few else ANYHOW, most)
    named = [each for example in examples for each in variants(example)]
    found = [variant for _, variant in named]
    wanted = max(NEAR * most, NEAR_FEW * min(most, ANYHOW))
    near = _balanced([neighbours(example, numbers) for example in examples], wanted)
    yield from spread(found, most)
    yield from (made() for made in near)
    of_each = min(STEPS, most)
    steps = (*spread(found, of_each), *(made() for made in spread(near, of_each)))
    yield from _near(steps, numbers, most)
    alike = [step for name, step in named if name.startswith(ALIKE)]
    wide = [step for name, step in named if name.startswith(WIDER)]
    small = [step for example in examples for step in small_ones(example)]
    for others in (alike, wide, small):
        yield from _near(spread(others, of_each), numbers, most)
    for example in examples[:LONG] if long else ():
        yield from long_ones(example)
    for example in examples[:LONG] if bits else ():
        if operators_in(roots_of(example)) & SUMMING:
            narrow = (other for name, other in variants(example) if name.endswith(OF_NARROW))
            for each, size in product((example, *narrow), MANY):
                yield from with_long_sums(each, size)


def related(
    examples: Sequence[Example], numbers: frozenset[float], named: NamedAttributes, most: int, *, bits: bool
) -> Iterator[Example]:
    """What differs from examples in several things that belong together, of each kind so many.

    Args:
        bits: the law promises every bit, which onnxruntime does not keep of halves that are out of range on
            the way: between nodes that it computes in float32 it does not round.
    """
    plain, ranges = not_picky(examples), partial(with_other_ranges, numbers=sorted(numbers))
    by_type = (with_least_bounds,) if bits else (with_numbers_beyond_halves,)
    attributes, ends = partial(with_named_attributes, named=named), partial(with_named_ends, numbers=numbers)
    for changed in (*RELATED, *by_type, attributes, ends, partial(with_other_constants, bits=bits), ranges):
        wanted = min(most, FEWER.get(changed, most))
        yield from spread([other for example in plain for other in changed(example)], wanted)
    for changed in OF_ALL:
        yield from spread([other for example in examples for other in changed(example)], most)
    yield from map(without_names, plain)


def known_later(examples: Sequence[Example], most: int) -> Iterator[Example]:
    """Some of many examples with operands that only a run knows."""
    for example in spread(not_picky(examples), most):
        yield from with_operands_at_run_time(example)


def not_picky(examples: Sequence[Example]) -> list[Example]:
    return [example for example in examples if not operators_in(roots_of(example)) & PICKY]


def _near(examples: Sequence[Example], numbers: frozenset[float], most: int) -> Iterator[Example]:
    """Some of what is near examples that need not be well-typed."""
    return (made() for made in _balanced([_neighbours(each, numbers) for each in examples], NEAR * most))


def _neighbours(example: Example, numbers: frozenset[float]) -> tuple[Sequence[Made], ...]:
    try:
        return neighbours(example, numbers)
    except Exception:  # operands that do not suit an operator make inference fail in many ways
        return ()


def _balanced(found: Sequence[tuple[Sequence[Made], ...]], most: int) -> list[Made]:
    """So many neighbours, of each kind of change as many, as far as there are."""
    kinds = [list(chain.from_iterable(kind)) for kind in zip(*filter(None, found), strict=True)]
    chosen: list[Made] = []
    for left, kind in zip(range(len(kinds), 0, -1), sorted(kinds, key=len), strict=True):
        chosen += spread(kind, max((most - len(chosen)) // left, 1))
    return chosen
