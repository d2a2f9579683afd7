"""Sizes that a user fixes: dims of inputs are written into a model before anything else is read of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import EncodeError
from onnx import ModelProto, TensorShapeProto, TypeProto, ValueInfoProto

from egraph_opt.errors import InputShapeError, hint_of

Sizes = Sequence[int | None] | Mapping[str, int]
"""Of one input: the whole shape, where None leaves a dim as it is; or sizes by the names of its dims."""

ONLY = ""
"""Stands for the input of a model that has one."""


def parse_input_shape(text: str) -> tuple[str, Sizes]:
    """The sizes of an input as a command line has them.

    >>> parse_input_shape("images:1,3,320,320")
    ('images', (1, 3, 320, 320))
    >>> parse_input_shape("images:0:1,3,?,?")
    ('images:0', (1, 3, None, None))
    >>> parse_input_shape("images:batch=1,height=320")
    ('images', {'batch': 1, 'height': 320})
    >>> parse_input_shape("8,128")
    ('', (8, 128))

    Raises:
        InputShapeError: it is in none of these forms.
    """
    name, _, sizes = text.rpartition(":")
    parts = [part.strip() for part in sizes.split(",")] if sizes.strip() else []
    try:
        if any("=" in part for part in parts):
            pairs = [part.rpartition("=") for part in parts]
            found: Sizes = {dim.strip(): int(size) for dim, _, size in pairs}
            if len(found) == len(pairs) and "" not in found:
                return name, found
        else:
            return name, tuple(None if part == "?" else int(part) for part in parts)
    except ValueError:
        pass
    raise InputShapeError(
        f"{text!r} says no shape of an input: write images:1,3,320,320, with ? for a dim that stays as it is,"
        " or images:batch=1,height=320"
    )


def fix_input_shapes(model: ModelProto, shapes: Mapping[str, Sizes], source: str) -> None:
    """Write sizes into the inputs of a model, and into every tensor whose dims have the same names.

    Args:
        model: is changed.
        shapes: by the name of an input; "" is the only one.

    Raises:
        InputShapeError: no such input or dim, another rank, a size that a dim cannot have, or two of a name.
    """
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = {info.name: info for info in model.graph.input}
    free = [name for name in inputs if name not in stored]
    known: dict[str, int] = {}
    for name, sizes in shapes.items():
        chosen = free[0] if name == ONLY and len(free) == 1 else name
        if chosen not in inputs:
            raise InputShapeError(f"{source}: {_no_input(chosen, free)}")
        for symbol, size in _fixed(inputs[chosen], sizes, f"{source}: input {chosen!r}"):
            if known.setdefault(symbol, size) != size:
                raise InputShapeError(f"{source}: dim {symbol!r} would be {known[symbol]} and {size}")
    # A dim in a body may be another in each iteration.
    for info in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        _substitute(info, known)


def fix_output_shapes(model: ModelProto, inferred: Mapping[str, TypeProto]) -> None:
    """Write sizes into the outputs of a model, where their dims have none.

    Args:
        model: is changed.
        inferred: what is known of outputs, by name, now that inputs have sizes.
    """
    for info in model.graph.output:
        declared, known = (each.tensor_type.shape.dim for each in (info.type, inferred[info.name]))
        for dim, size in zip(declared, known, strict=False):
            if not dim.HasField("dim_value") and size.HasField("dim_value"):
                dim.dim_value = size.dim_value


def sized_file(file: Path, dims: Mapping[str, int], target: Path) -> Path:
    """A copy of a model's file with sizes of dims, or the file where no input has one of them.

    Weights are in the copy, or beside it where they are too many for that.

    Raises:
        InputShapeError: a size that a dim cannot have.
    """
    inputs = onnx.load(file, load_external_data=False).graph.input
    shapes: dict[str, dict[str, int]] = {}
    for value in inputs:
        names = {dim.dim_param for dim in value.type.tensor_type.shape.dim}
        if here := {name: size for name, size in dims.items() if name in names}:
            shapes[value.name] = here
    if not shapes:
        return file
    model = onnx.load(file)
    fix_input_shapes(model, shapes, str(file))
    try:
        target.write_bytes(model.SerializeToString())
    except (ValueError, EncodeError):
        onnx.save(model, target, save_as_external_data=True, location=f"{target.name}.data")
    return target


def _no_input(name: str, free: Sequence[str]) -> str:
    has = ", ".join(free) or "none"
    if name == ONLY:
        return f"which input the shape is of has to be said (inputs: {has})"
    return f"no input is named {name!r}{hint_of(name, free)} (inputs: {has})"


def _fixed(info: ValueInfoProto, sizes: Sizes, place: str) -> Iterator[tuple[str, int]]:
    """Write the sizes into an input; those that dims of a name have got."""
    if not info.type.HasField("tensor_type"):
        raise InputShapeError(f"{place} is no tensor, and has no shape")
    tensor = info.type.tensor_type
    dims = tensor.shape.dim
    if isinstance(sizes, str) or not isinstance(sizes, Sequence | Mapping):
        raise InputShapeError(f"{place}: {sizes!r} is no shape: give (1, 3, 320, 320) or {{'batch': 1}}")
    wanted = _by_name(dims, sizes, place) if isinstance(sizes, Mapping) else [*sizes]
    if not tensor.HasField("shape"):
        tensor.shape.CopyFrom(TensorShapeProto(dim=[TensorShapeProto.Dimension() for _ in wanted]))
    if len(wanted) != len(dims):
        raise InputShapeError(f"{place} has {len(dims)} dims ({_shown(dims)}), not {len(wanted)}")
    for axis, (dim, size) in enumerate(zip(dims, wanted, strict=True)):
        if size is None:
            continue
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise InputShapeError(f"{place}: a size is a whole number from 1 on, not {size!r}")
        if dim.HasField("dim_value") and dim.dim_value >= 0 and dim.dim_value != size:
            raise InputShapeError(f"{place} has {dim.dim_value} elements along axis {axis}, not {size}")
        if dim.dim_param:
            yield dim.dim_param, int(size)
        dim.dim_value = int(size)


def _by_name(dims: Sequence[Any], sizes: Mapping[str, int], place: str) -> list[int | None]:
    known = sorted({dim.dim_param for dim in dims} - {""})
    for name in sizes:
        if name not in known:
            has, hint = ", ".join(known) or "none", hint_of(name, known)
            raise InputShapeError(f"{place} has no dim {name!r}{hint} (dims with names: {has})")
    return [sizes.get(dim.dim_param) for dim in dims]


def _shown(dims: Sequence[Any]) -> str:
    return ", ".join(
        str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims
    )


def _substitute(info: ValueInfoProto, known: Mapping[str, int]) -> None:
    """Dims of a name get its size, in sequences and optional tensors as well."""
    pending = [info.type]
    while pending:
        kind = pending.pop()
        if kind.HasField("tensor_type"):
            for dim in kind.tensor_type.shape.dim:
                if dim.dim_param in known:
                    dim.dim_value = known[dim.dim_param]
        elif kind.HasField("sequence_type"):
            pending.append(kind.sequence_type.elem_type)
        elif kind.HasField("optional_type"):
            pending.append(kind.optional_type.elem_type)


__all__ = ["ONLY", "Sizes", "fix_input_shapes", "fix_output_shapes", "parse_input_shape"]
