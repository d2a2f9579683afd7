"""Pairs of matrices, images with one axis more, and terms of each type in old opsets."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from egraph_opt.check.beside.old_opsets import LATER, OLD, in_old_opsets
from egraph_opt.check.beside.structures import with_pairs_of_structures, with_structures
from egraph_opt.check.beside.variants import arrays_of, dims_of
from egraph_opt.check.beside.volumes import with_volumes
from egraph_opt.laws import Operands
from egraph_opt.operators import binary, instance_norm

from .examples import example


def test_two_matrices_are_each_others_transpose_and_inverse() -> None:
    given = example(lambda g: g.input((2, 3)) @ g.random(3, 3) @ g.random(3, 3))
    pairs = [tuple(arrays_of(made).values()) for made in with_pairs_of_structures(given)]
    assert {a.shape for a, _ in pairs} == {(3, 3), (6, 6)}
    unlike = [(a, b) for a, b in pairs if not np.array_equal(a, b)]
    assert any(np.array_equal(a.T, b) for a, b in unlike)
    assert any(np.allclose(a @ b, np.eye(len(a)), atol=1e-4) for a, b in unlike)
    assert all(len(arrays_of(made)) == 2 for made in with_structures(given))


def test_images_get_an_axis_along_which_a_constant_lies() -> None:
    def shifted(g: Operands) -> object:
        x, shift = g.input((2, 4, 3, 3)), g.constant(np.full((4, 1, 1), 0.5))
        return instance_norm(x + shift, g.random(4), g.random(4), 1e-5)

    (made,) = with_volumes(example(shifted))
    assert dims_of(made.operands.values[0]) == (2, 4, 4, 3, 3)
    assert len(set(arrays_of(made)[1].ravel().tolist())) == 4, "along which axis it lies shows"


def test_each_type_is_tried_in_each_old_opset() -> None:
    def equal(g: Operands) -> object:
        return binary("Equal", g.input((3,), TensorProto.INT32), g.input((3,), TensorProto.INT32))

    found = {(made.opset, made.operands.facts[0].dtype) for made in in_old_opsets([example(equal)])}
    for dtype in (TensorProto.UINT8, TensorProto.INT64, TensorProto.FLOAT):
        assert {(opset, dtype) for opset in (LATER, *OLD)} <= found
