"""Ends that are far away or of another type, settings of other opsets, two at once, and wider kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.check.beside.ends_of_types import with_ends_of_types
from egraph_opt.check.beside.named_ends import with_named_ends
from egraph_opt.check.beside.newer_settings import with_newer_settings
from egraph_opt.check.beside.opsets import in_opset
from egraph_opt.check.beside.other_flags import with_other_flags
from egraph_opt.check.beside.structures import with_mirrored_constants
from egraph_opt.check.beside.variants import arrays_of, dims_of
from egraph_opt.check.beside.where_it_ends import where_it_ends
from egraph_opt.check.beside.wider_kernels import with_wider_kernels
from egraph_opt.check.named_numbers import numbers_of
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws import Operands, Slices, Tensor, hosted, rewrite
from egraph_opt.laws.law import Example, Law
from egraph_opt.operators import ConvWindow, batchnorm, conv, none, resize, slice_, unary

from .examples import example

FAR = 4_321


def top(made: Example) -> list[Any]:
    """The attributes of the outermost operator."""
    return [each.head.value for each in nodes_of(made)[0].arguments if hasattr(each.head, "value")]


@hosted()
def goes_far(cut: Slices) -> bool:
    return all(end is None or end >= FAR for _, _, end, _ in cut)


def test_a_number_with_a_name_is_named_also_within_a_condition_of_all() -> None:
    def far(x: Tensor, cut: Slices):
        """Slice(x) = x"""
        yield rewrite(slice_(x, cut), x, goes_far(cut), because="idle")

    assert FAR in set(numbers_of(Law("testing", "far", "", "algebra", "bitwise", far, None)))


def test_slices_end_at_a_number_that_is_named_and_axes_go_on() -> None:
    made = list(with_named_ends(example(lambda g: slice_(g.input(("N", 5)), ((1, 0, 5, 1),))), (3.0, 100.0)))
    found = [(dims_of(each.operands.values[0]), top(each)[-1]) for each in made]
    assert (("N", 101), ((1, 0, 100, 1),)) in found
    assert ((102, 5), ((1, 0, 100, 1),)) in found
    assert (("N", 101), ((1, -100, 5, 1),)) in found


def test_bounds_are_the_ends_of_each_type_in_each_type() -> None:
    given = example(lambda g: unary("Clip", (("max", 5), ("min", 0)), g.input((3,), TensorProto.INT8)))
    found = {
        (each.operands.facts[0].dtype, *dict(top(each)[1]).values()) for each in with_ends_of_types(given)
    }
    assert (TensorProto.UINT32, 2**31 - 1, 0) in found
    assert (TensorProto.INT64, None, -(2**31)) in found
    assert (TensorProto.INT8, 127, -128) in found


def resized(settings: tuple[tuple[str, Any], ...]) -> Example:
    scales = np.array([1, 1, 2, 2], np.float32)
    return example(lambda g: resize(g.input((1, 2, 3, 4)), none(), g.constant(scales), none(), settings))


NEAREST = (("coordinate_transformation_mode", "asymmetric"), ("mode", "nearest"), ("nearest_mode", "floor"))


def test_an_old_opset_has_fewer_settings() -> None:
    assert top(in_opset(10, resized(NEAREST)))[-1] == (("mode", "nearest"),)
    assert top(in_opset(11, resized(NEAREST)))[-1] == NEAREST
    relu = example(lambda g: unary("Relu", (), g.input((2,))))
    assert in_opset(7, relu).term == relu.term


def test_two_settings_are_others_at_once() -> None:
    found = [top(each)[-1] for each in with_other_flags(resized(NEAREST))]
    both = (("coordinate_transformation_mode", "half_pixel"), ("mode", "linear"), ("nearest_mode", "floor"))
    assert both in found
    assert (NEAREST[0], ("mode", "cubic"), NEAREST[2]) in found


def test_a_resize_names_axes_of_which_one_stays() -> None:
    made = [each for each in with_newer_settings(resized(NEAREST)) if "axes" in dict(top(each)[-1])]
    found = [(dict(top(each)[-1])["axes"], tuple(arrays_of(each)[1].tolist())) for each in made]
    assert ((1, 2), (1.5, 1.0)) in found
    assert all(map(lowered_if_typed, made))


def test_kernels_are_longer_by_zeros_also_of_one_channel() -> None:
    weight = np.eye(3, dtype=np.float32)[:, :, None]
    given = example(
        lambda g: conv(g.input((2, 3, 6)), g.constant(weight), none(), ConvWindow((1,), (0, 0), (2,)))
    )
    made = list(with_wider_kernels(given))
    found = [(arrays_of(each)[1].tolist(), top(each)[-1].pads) for each in made]
    assert ([[[1.0, 0.0]]], (2, 0)) in found
    assert ([[[0.0, 1.0, 0.0]]], (2, 2)) in found
    assert any(arrays_of(each)[1].shape == (3, 3, 2) for each in made)
    assert all(map(lowered_if_typed, made))


def test_constants_read_the_same_backwards() -> None:
    weight = np.ones((1, 1, 3), np.float32)
    given = example(
        lambda g: conv(g.input((2, 1, 6)), g.constant(weight), none(), ConvWindow((1,), (0, 0), (1,)))
    )
    arrays = [arrays_of(each)[1] for each in with_mirrored_constants(given)]
    assert {array.shape for array in arrays} == {(1, 1, 3), (2, 2, 3)}
    for array in arrays:
        assert (array.ravel() == array.ravel()[::-1]).all()


def test_an_epsilon_is_as_large_as_a_law_lets_it_be() -> None:
    def make(g: Operands) -> Any:
        return batchnorm(g.input((2, 3)), *(g.constant(np.ones(3, np.float32)) for _ in range(4)), 1e-7)

    def fires(examples: Any) -> list[bool]:
        return [top(each)[-1] <= 1e-4 for each in examples]

    largest = max(top(each)[-1] for each in where_it_ends(example(make), fires))
    assert 0.9e-4 < largest <= 1e-4
