"""The model at another opset: what ONNX's converter makes of it, compared with the model as it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onnx import ModelProto, defs, version_converter

from egraph_opt.errors import OpsetError
from egraph_opt.graph.isolation import CrashError, apart
from egraph_opt.model.external_data import external_tensors
from egraph_opt.model.input_shapes import Sizes
from egraph_opt.model.reading import LoadedModel, ModelSource, read_model
from egraph_opt.model.structure import OLDEST_OPSET
from egraph_opt.verification.budget import RunBudget
from egraph_opt.verification.isolated import trouble_apart, verify_apart

MOST_BYTES = 2**31 - 1
"""What protobuf serializes, and the converter therefore takes."""


def read_at_opset(
    source: ModelSource, opset: int, input_shapes: Mapping[str, Sizes] | None = None
) -> LoadedModel:
    """Read a model, and convert it to an opset; what comes out is the original from then on.

    Raises:
        OpsetError: there is no such opset, the converter does not reach it, or what it makes computes
            something else.
        EgraphOptError: as `read_model`.
    """
    loaded = read_model(source, input_shapes)
    latest, now = defs.onnx_opset_version(), loaded.opset_imports.get("", 1)
    if not OLDEST_OPSET <= opset <= latest:
        raise OpsetError(f"{loaded.source}: opset {opset} is not one of {OLDEST_OPSET} to {latest}")
    if opset == now:
        return loaded
    place = f"{loaded.source}: from opset {now} to {opset}"
    if loaded.external:
        raise OpsetError(f"{place}: ONNX's converter takes no model whose weights are in files of their own")
    came = loaded.runnable()
    proto = came if isinstance(came, ModelProto) else ModelProto.FromString(came.read_bytes())
    if proto.ByteSize() > MOST_BYTES or external_tensors(proto):
        raise OpsetError(f"{place}: the model is too large for ONNX's converter")
    try:
        converted = apart(version_converter.convert_version, proto, opset)
    except CrashError as error:
        raise OpsetError(f"{place}: ONNX's converter crashes: {error.how}") from error
    except Exception as error:  # it raises what it likes
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise OpsetError(f"{place}: ONNX's converter fails: {reason}") from error
    trouble = trouble_apart(converted)
    if trouble and not trouble_apart(proto):
        raise OpsetError(f"{place}: what ONNX's converter makes does not run: {trouble}")
    if (found := verify_apart(proto, converted, RunBudget())).status == "failed":
        raise OpsetError(f"{place}: what ONNX's converter makes computes something else: {found.detail}")
    return replace(read_model(converted), source=loaded.source)


def first_opset(op_type: str, after: int) -> int | None:
    """The first opset after one that has an operator; None where that one has it, or none does.

    >>> first_opset("HardSwish", 11), first_opset("HardSwish", 14), first_opset("Mish", 17)
    (14, None, 18)
    """
    for opset in range(after, defs.onnx_opset_version() + 1):
        if _has(op_type, opset):
            return opset if opset > after else None
    return None


def _has(op_type: str, opset: int) -> bool:
    try:
        return not defs.get_schema(op_type, opset, "").deprecated
    except defs.SchemaError:
        return False
