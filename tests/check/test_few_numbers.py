"""What is tried beside examples where a law is wrong of few numbers, of few types or of few factors only."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from egraph_opt.check.beside.cast_targets import with_other_targets
from egraph_opt.check.beside.constants_of_halves import with_constants_of_halves
from egraph_opt.check.beside.other_scales import with_other_scales
from egraph_opt.check.beside.quantized_bounds import with_quantized_bounds
from egraph_opt.check.beside.variants import dims_of
from egraph_opt.check.beside.where_it_ends import where_it_ends
from egraph_opt.laws import Operands
from egraph_opt.operators import binary, cast, none, quantize, resize, slice_, unary

from .examples import example
from .test_related_changes import attributes, clip, constants, ranges


def test_what_is_cast_goes_to_floats_of_8_bits_and_is_seen_in_wider_ones() -> None:
    there = example(lambda g: cast(slice_(g.input((4, 3)), ((0, 1, 3, 1),)), TensorProto.FLOAT16))
    found = [(attributes(made, "cast", 1), made.opset) for made in with_other_targets(there)]
    assert ([TensorProto.FLOAT, TensorProto.FLOAT8E4M3FN], 19) in found
    assert ([TensorProto.INT64], 17) in found


def test_constants_of_halves_have_no_inverse_and_large_ones_are_factors_only() -> None:
    scaled = example(lambda g: binary("Div", g.input((4,)), g.constant(np.float32(8))))
    numbers = {constants(made)[-1] for made in with_constants_of_halves(scaled)}
    assert {2.0**-17, 2.0**13} <= numbers
    product = example(lambda g: (g.input((4, 4)) @ g.input((4, 4))) * g.constant(np.float32(8)))
    assert max(constants(made)[-1] for made in with_constants_of_halves(product)) < 1


def test_images_are_resized_by_other_factors_and_have_sizes_that_suit_them() -> None:
    settings = (("mode", "nearest"),)
    scales = np.array([1, 1, 2, 2], np.float32)
    enlarged = example(lambda g: resize(g.input((1, 1, 3, 5)), none(), g.constant(scales), none(), settings))
    found = [constants(made)[-1] for made in with_other_scales(enlarged)]
    assert [1, 1, 0.125, 0.125] in found and [1, 1, 2, 1.5] in found
    assert dims_of(next(with_other_scales(enlarged)).operands.values[0]) == (1, 1, 8, 8)


def test_bounds_lie_within_a_step_of_the_ends_of_a_quantised_type() -> None:
    def cut(g: Operands):
        bounded = clip(g, 0.0, 6.0, TensorProto.FLOAT)
        return quantize(bounded, g.constant(np.float32(0.02)), g.constant(np.uint8(3)), 0, TensorProto.UINT8)

    found = [ranges(made)[0] for made in with_quantized_bounds(example(cut))]
    assert (-2.75, 62.875) in found and (-0.625, 65.0) in found


def test_a_number_is_as_far_off_as_the_law_fires() -> None:
    straight = example(lambda g: unary("Tanh", (), clip(g, 12.0, 30.0, TensorProto.FLOAT)))
    found = where_it_ends(straight, lambda several: [ranges(each)[0][0] > 7 for each in several])
    (low,) = {ranges(made)[0][0] for made in found}
    assert len(found) == 1 and 7 < low < 7.1
