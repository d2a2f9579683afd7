"""Types that operators take: by the standard in an opset, and by the kernels that onnxruntime has.

A law moves a node past a cast without asking of what type it then is; where nothing computes it of that type,
the node is not written, and the law is as good elsewhere.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

from onnx import TensorProto

from .onnx_inference import TYPE_NAMES, schema

COMMON = frozenset(
    {
        *(TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.STRING),
        *(TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8),
    }
)
"""Types that most operators take, or that onnxruntime casts to one that they do: those are not checked."""

FOUR_BITS = frozenset({TensorProto.INT4, TensorProto.UINT4})
"""Few operators take these, none before opset 21."""

Types = tuple[int | None, ...]
"""Of a node's operands or results: None for an absent one, 0 where it is not known."""


@lru_cache(maxsize=1 << 14)
def takes_types(op_type: str, domain: str, dtypes: Types, opset: int) -> bool:
    """Whether an operator takes operands of these types, each by itself, in this opset."""
    found = schema(op_type, domain, opset)
    if found is None or not found.inputs:
        return True
    formals = (found.inputs[min(k, len(found.inputs) - 1)].types for k in range(len(dtypes)))
    pairs = zip(dtypes, formals, strict=True)
    return all(not dtype or dtype < 0 or not types or TYPE_NAMES[dtype] in types for dtype, types in pairs)


@lru_cache(maxsize=1 << 12)
def has_kernel(op_type: str, operands: Types, results: Types, opset: int) -> bool:
    """Whether onnxruntime computes one of ONNX's nodes of these types; True where it does not say."""
    found = schema(op_type, "", opset)
    kernels = _kernels().get(op_type, ())
    of_version = [k for k in kernels if found is not None and k.first <= found.since_version <= k.last]
    if found is None or not of_version:  # a function, which is computed by its nodes
        return True
    wanted: dict[str, int] = {}
    for given, formals in ((operands, found.inputs), (results, found.outputs)):
        for k, dtype in enumerate(given):
            if dtype and dtype > 0 and formals:
                wanted.setdefault(formals[min(k, len(formals) - 1)].type_str, dtype)
    return any(
        all(
            TYPE_NAMES[dtype] in kernel.types.get(name, (TYPE_NAMES[dtype],))
            for name, dtype in wanted.items()
        )
        for kernel in of_version
    )


class _Kernel(NamedTuple):
    first: int
    last: int
    types: dict[str, frozenset[str]]


@cache
def _kernels() -> dict[str, list[_Kernel]]:
    """Those of the standard's operators on processors; none where a release does not list them."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # only where such a type is

    listed: Any = getattr(state, "get_all_opkernel_def", list)
    found: dict[str, list[_Kernel]] = {}
    for kernel in listed():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain in ("", "ai.onnx"):
            first, last = kernel.version_range
            types = {name: frozenset(of) for name, of in kernel.type_constraints.items()}
            found.setdefault(kernel.op_name, []).append(_Kernel(first, last, types))
    return found
