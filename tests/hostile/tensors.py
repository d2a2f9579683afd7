"""Tensors that are not what they say, in the model and in files beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper

from .making import CASES, external, floats, info, model_case, model_of, node, numbers

BYTES = 256


def plain(tensor: TensorProto | None = None) -> ModelProto:
    """Something that can be simplified, with a weight."""
    weight = floats("w", 2, 3) if tensor is None else tensor
    return model_of([node("Neg", "x", "n"), node("Neg", "n", "m"), node("Add", "m w")], weight)


def beside(name: str, change: Callable[[TensorProto], None] | None = None, **entries: str) -> None:
    """Declares a case whose weight is in a file of `BYTES` bytes."""

    def write(folder: Path) -> Path:
        (folder / "w.bin").write_bytes(bytes(BYTES))
        model = external(plain(), **entries)
        if change is not None:
            change(model.graph.initializer[0])
        path = folder / "bad.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    CASES[name] = write


def dims(*numbers_: int) -> Callable[[TensorProto], None]:
    def change(tensor: TensorProto) -> None:
        tensor.dims[:] = numbers_

    return change


def of_type(dtype: int) -> Callable[[TensorProto], None]:
    def change(tensor: TensorProto) -> None:
        tensor.data_type = dtype

    return change


beside("a_location_with_a_nul", location="w\0.bin")
beside("a_location_of_five_thousand_characters", location="w" * 5000)
beside("a_location_of_many_folders", location="/".join(["."] * 5000) + "/w.bin")
beside("a_location_of_nothing", location="")
beside("a_location_that_is_a_folder", location=".")
beside("a_location_that_is_the_model", location="bad.onnx")
beside("a_location_that_is_a_device", location="/dev/zero")
beside("a_location_of_odd_characters", location="\n\t\u202e")
beside("an_offset_below_zero", location="w.bin", offset="-8")
beside("an_offset_beyond_numbers", location="w.bin", offset="9" * 5000)
beside("an_offset_that_is_no_number", location="w.bin", offset="eight")
beside("an_offset_in_odd_digits", location="w.bin", offset="\u0664")
beside("a_length_below_zero", location="w.bin", length="-24")
beside("a_length_beyond_the_file", location="w.bin", length="1000000000000")
beside("external_dims_below_zero", dims(-2, 3), location="w.bin")
beside("external_dims_below_zero_twice", dims(-2, -3), location="w.bin")
beside("external_dims_beyond_the_file", dims(100_000, 100_000), location="w.bin")
beside("external_dims_beyond_numbers", dims(2**62, 2**62, 2**62), location="w.bin")
beside("external_dims_of_zero_and_more", dims(0, 2**62, 2**62), location="w.bin")
beside("external_texts", of_type(TensorProto.STRING), location="w.bin")
beside("external_data_of_no_type", of_type(0), location="w.bin")
beside("external_data_of_an_unknown_type", of_type(99), location="w.bin")


def _pipe(folder: Path) -> Path:
    path = CASES["an_offset_below_zero"](folder)
    (folder / "w.bin").unlink()
    os.mkfifo(folder / "w.bin")
    path.write_bytes(external(plain(), location="w.bin").SerializeToString())
    return path


CASES["a_location_that_is_a_pipe"] = _pipe


def changed(name: str, change: Callable[[TensorProto], None], *, constant: bool = False) -> None:
    """Declares a model whose weight, an initializer or in a Constant node, is changed."""

    def write(folder: Path) -> Path:
        tensor = floats("w", 2, 3)
        change(tensor)
        model = plain(tensor)
        if constant:
            del model.graph.initializer[:]
            nodes = [
                helper.make_node("Constant", [], ["w"], value=tensor, name="the_constant"),
                *model.graph.node,
            ]
            del model.graph.node[:]
            model.graph.node.extend(nodes)
        path = folder / "bad.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    CASES[f"{name}_in_a_constant" if constant else name] = write


def raw(count: int) -> Callable[[TensorProto], None]:
    def change(tensor: TensorProto) -> None:
        tensor.raw_data = bytes(count)

    return change


def without_data(tensor: TensorProto) -> None:
    tensor.ClearField("raw_data")


def with_both(tensor: TensorProto) -> None:
    tensor.float_data.extend([1.0] * 6)


def in_another_field(tensor: TensorProto) -> None:
    tensor.ClearField("raw_data")
    tensor.int64_data.extend([1] * 6)


def too_few_numbers(tensor: TensorProto) -> None:
    tensor.ClearField("raw_data")
    tensor.float_data.extend([1.0] * 2)


def texts_that_are_none(tensor: TensorProto) -> None:
    tensor.ClearField("raw_data")
    tensor.data_type = TensorProto.STRING
    tensor.string_data.extend([b"\xff\xfe"] * 6)


def of_a_segment(tensor: TensorProto) -> None:
    tensor.segment.begin, tensor.segment.end = 0, 10**9


def below_zero_and_raw(tensor: TensorProto) -> None:
    tensor.dims[:] = [-2, -3]


def large_and_empty(tensor: TensorProto) -> None:
    tensor.ClearField("raw_data")
    tensor.dims[:] = [100_000, 100_000]


def beyond_numbers(tensor: TensorProto) -> None:
    tensor.dims[:] = [2**62, 2**62, 2**62]


def of_rank_a_thousand(tensor: TensorProto) -> None:
    tensor.dims[:] = [1] * 1000 + [2, 3]


def zero_times_much(tensor: TensorProto) -> None:
    tensor.ClearField("raw_data")
    tensor.dims[:] = [0, 2**62, 2**62]


def of_four_bits(tensor: TensorProto) -> None:
    tensor.data_type = TensorProto.INT4


_CHANGES: dict[str, Callable[[TensorProto], None]] = {
    "raw_data_too_short": raw(20),
    "raw_data_too_long": raw(400),
    "raw_data_of_half_an_element": raw(23),
    "no_data": without_data,
    "data_twice": with_both,
    "data_in_another_field": in_another_field,
    "too_few_elements": too_few_numbers,
    "texts_that_are_no_text": texts_that_are_none,
    "raw_texts": of_type(TensorProto.STRING),
    "no_element_type": of_type(0),
    "an_unknown_element_type": of_type(77),
    "an_element_type_below_zero": of_type(-1),
    "a_segment": of_a_segment,
    "dims_below_zero": below_zero_and_raw,
    "dims_without_data": large_and_empty,
    "dims_beyond_numbers": beyond_numbers,
    "a_thousand_dims": of_rank_a_thousand,
    "no_elements_of_much": zero_times_much,
    "half_bytes": of_four_bits,
    "complex_numbers": of_type(TensorProto.COMPLEX128),
}
for _name, _change in _CHANGES.items():
    changed(_name, _change)
    changed(_name, _change, constant=True)


def sparse(values: TensorProto, indices: TensorProto, *dims_: int) -> ModelProto:
    model = model_of([node("Add", "x s")])
    model.graph.sparse_initializer.append(SparseTensorProto(values=values, indices=indices, dims=dims_))
    return model


@model_case
def sparse_indices_beyond() -> ModelProto:
    return sparse(floats("s", 2), numbers("", 3, 10**12), 2, 3)


@model_case
def sparse_indices_below_zero() -> ModelProto:
    return sparse(floats("s", 2), numbers("", -3, 1), 2, 3)


@model_case
def sparse_of_huge_dims() -> ModelProto:
    return sparse(floats("s", 2), numbers("", 3, 5), 10**9, 10**9)


@model_case
def sparse_of_other_counts() -> ModelProto:
    return sparse(floats("s", 5), numbers("", 3), 2, 3)


@model_case
def a_declared_type_that_is_none() -> ModelProto:
    return model_of([node("Neg", "x", "n"), node("Neg", "n")], inputs=[info("x", [2, 3], 99)])


@model_case
def an_input_without_a_type() -> ModelProto:
    model = model_of([node("Neg", "x", "n"), node("Neg", "n")])
    model.graph.input[0].ClearField("type")
    return model


@model_case
def an_input_without_a_name() -> ModelProto:
    model = model_of([node("Neg", "x", "n"), node("Neg", "n")])
    model.graph.input.append(info("", [2, 3]))
    return model


@model_case
def inputs_of_the_same_data() -> ModelProto:
    model = plain(numpy_helper.from_array(np.ones((7, 7), np.float32), "x"))
    model.graph.initializer.append(floats("w", 2, 3))
    return model


@model_case
def an_output_of_another_type() -> ModelProto:
    model = plain()
    model.graph.output[0].CopyFrom(info("y", [9, 9, 9], TensorProto.STRING))
    return model
