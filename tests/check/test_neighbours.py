"""What is near an author's example: one thing is another, and the rest as it was."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from egraph_opt.check.alternatives import rebuilt_original
from egraph_opt.check.beside.neighbours import OPSETS, neighbours
from egraph_opt.check.beside.other_attributes import of_names
from egraph_opt.check.beside.variants import with_sizes
from egraph_opt.check.feeds.inputs import Inputs
from egraph_opt.check.feeds.sizes import sizes_of
from egraph_opt.check.terms import lower_example
from egraph_opt.laws import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators import ConvWindow, binary, conv, none, transpose, unary
from egraph_opt.operators.expressions import Expression, Function, parts


def example() -> Example:
    g = Operands(np.random.default_rng(0))
    x, w = g.input(("N", 4, 6)), g.constant(np.full((4, 4, 3), 0.25, np.float32))
    clipped = unary("Clip", (("max", 6.0), ("min", 0.0)), conv(x, w, none(), ConvWindow((1,), (1, 1), (1,))))
    return g.fires(clipped * g.constant(np.array([1.0, 1.0], np.float32).reshape(2, 1, 1)))


def test_one_attribute_constant_size_or_opset_is_another() -> None:
    given = example()
    found = [made() for kind in neighbours(given, named=[2.5]) for made in kind]
    terms = [repr(each.term) for each in found]
    assert any("pads=(1, 2)" in term for term in terms) and any("strides=(2,)" in term for term in terms)
    assert any("('max', 2.5)" in term for term in terms), "a number that the law names"
    assert {each.opset for each in found} == {given.opset, *OPSETS}
    arrays = [
        value.const_value.numpy().ravel().tolist()
        for each in found
        for value in each.operands.values
        if value.const_value is not None and value.const_value.size == 2
    ]
    assert [1.0, 10.0] in arrays, "the last is unlike the others"
    for each in found:
        changed = [
            each.term is not given.term,
            each.opset != given.opset,
            each.operands is not given.operands,
        ]
        assert 1 <= sum(changed) <= 2, "settings and constants change together"


def test_sizes_grow() -> None:
    shapes = [each.operands.facts[0].shape for each in with_sizes(example(), lambda d: 4 * d)]
    assert shapes == [("N", 16, 6), ("N", 4, 24)]


def test_symbols_are_the_numbers_beside_them_and_all_of_them_nothing() -> None:
    sizes = list(sizes_of(frozenset("NM"), {1, 2, 300}))
    assert {"N": 2, "M": 2} in [{k: s[k] for k in "NM"} for s in sizes]
    assert [s for s in sizes if s["N"] == s["M"] == 0] and not [s for s in sizes if s["N"] == 300]


def test_alike_inputs_differ_by_the_least_there_is_or_not_at_all() -> None:
    for dtype in (TensorProto.INT64, TensorProto.FLOAT, TensorProto.UINT8):
        g = Operands(np.random.default_rng(0))
        term = binary("Equal", g.input((4, 5), dtype), transpose(g.input((5, 4), dtype), (1, 0)))
        other = binary("Equal", g.input((4, 5), dtype), g.input((4, 5), dtype))
        lowered = lower_example(g.fires((term, other)))
        inputs = Inputs(rebuilt_original(lowered, lowered.opset))
        feeds, equal = inputs.feeds({}, "alike")
        first, *rest = [array for array in feeds.values() if array.shape == (4, 5)]
        for array in rest:
            ahead = np.nextafter(first, first.dtype.type(np.inf)) if dtype == TensorProto.FLOAT else first + 1
            assert ((array == first) | (array == ahead) | (array < first)).all()
            assert (array == first).any() and (array != first).any()
        first, *rest = [array for array in equal.values() if array.shape == (4, 5)]
        assert all((array == first).all() for array in rest)


def test_an_operator_under_another_name_has_settings_of_its_own() -> None:
    found = (_function(made()).arguments for made in of_names(example()))
    settings = {name.head.value: given.head.value for name, given, _ in found}
    assert settings["Clip"] == (("max", 6.0), ("min", 0.0)), "where another operator is renamed"
    assert settings["Relu"] == ()
    assert [name for name, _ in settings["Gelu"]] == ["approximate"]


def _function(given: Example) -> Expression:
    return next(p for p in parts(given.term) if isinstance(p.head, Function) and p.head.name == "unary")
