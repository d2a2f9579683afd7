"""ONNX's checker is asked only where it comes back."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from egraph_opt.check.judging.onnx_checker import assert_valid


def sliced(length: int, first: str) -> onnx.ModelProto:
    """A Slice, a pool with a window of 6 and another Slice."""
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> g (float[1, 1, {length}] x) => (float[1, 1, L] z)
        <int64[1] s = {{0}}, int64[1] e = {{3}}, int64[1] a = {{2}}> {{
            w = {first} (x)
            y = MaxPool <kernel_shape = [6]> (w)
            z = Slice (y, s, e, a)
        }}"""
    )


def test_what_fits_is_valid() -> None:
    assert_valid(sliced(9, "Relu"))


@pytest.mark.parametrize("length", [9, 4])
def test_a_slice_of_less_than_nothing_is_not(length: int) -> None:
    """Also where the image is cut in front of the pool, which ONNX has to have seen."""
    model = sliced(length, "Relu")
    if length > 6:
        cut = onnx.helper.make_node("Slice", ["x", "s", "e", "a"], ["w"])
        model.graph.node[0].CopyFrom(cut)
    with pytest.raises(ValueError, match="below 0"):
        assert_valid(model)
