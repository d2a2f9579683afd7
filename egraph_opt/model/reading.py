"""Reading models.

What has to hold of any model is checked (see `structure` and `element_types`), and what onnxruntime would run
is accepted: graphs out of order are sorted, initializers that are there twice are one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import onnx_ir as ir
from onnx import ModelProto, ValueInfoProto

from egraph_opt.errors import ExternalDataError, InvalidModelError
from egraph_opt.forking import cached_property
from egraph_opt.model import external_data
from egraph_opt.model.attributes import check_attributes
from egraph_opt.model.element_types import check_types
from egraph_opt.model.encoding import ENCODED_DOMAIN, carry, graphs_of
from egraph_opt.model.extent import too_much
from egraph_opt.model.files import parse_model, read_bytes
from egraph_opt.model.function_inlining import inlined
from egraph_opt.model.functions import check_functions
from egraph_opt.model.input_shapes import Sizes, fix_input_shapes
from egraph_opt.model.metadata import mark_of, metadata_of
from egraph_opt.model.provenance import hash_of
from egraph_opt.model.streams import is_stream
from egraph_opt.model.structure import OLDEST_OPSET, check_structure, default_opset
from egraph_opt.model.tensors import check_tensors

ModelSource = str | os.PathLike[str] | ModelProto | ir.Model


@dataclass(frozen=True)
class LoadedModel:
    """A model that was read and checked.

    Attributes:
        model: the graph; weights are read on demand.  Nodes of `encoding.ENCODED_DOMAIN`
        stand
            for what onnx_ir cannot hold.
        source: how messages name the model: its path, or `<ModelProto>`.
        path: the file it is from, if it is from one.
        original: the model as it was, for verification: its path, or a ModelProto (not to be changed) whose
            external data, if any, has absolute locations (see `runnable`).
        ir_version: of the file.
        opset_imports: domain -> version; ONNX's own domain is always spelled "".
        data_files: the files that hold external data.
        unsupported: why nothing can be done with the model but hand it on unchanged, or None.
        warnings: oddities that do no harm.
        input_shapes: sizes that were written into it.
    """

    model: ir.Model = field(repr=False)
    source: str
    path: Path | None
    original: Path | ModelProto = field(repr=False)
    ir_version: int
    opset_imports: dict[str, int]
    data_files: frozenset[Path] = frozenset()
    unsupported: str | None = None
    warnings: tuple[str, ...] = ()
    input_shapes: Mapping[str, Sizes] | None = None
    metadata: ModelProto = field(default_factory=ModelProto, repr=False)
    """What surrounds the graph: everything of the original but nodes, weights and functions."""

    @cached_property
    def digest(self) -> str:
        """The hash of `original`, see `provenance.hash_of`, taken once; "" where it is there no more."""
        try:
            return hash_of(self.original)
        except OSError:
            return ""

    @property
    def external(self) -> bool:
        """Whether the weights, or some of them, are in files of their own."""
        return bool(self.data_files)

    def runnable(self) -> Path | ModelProto:
        """The original to be timed: its path, or a ModelProto with all data in it (up to 2 GB)."""
        if isinstance(self.original, Path) or not external_data.external_tensors(self.original):
            return self.original
        loaded = ModelProto()
        loaded.CopyFrom(self.original)
        external_data.embed(loaded)
        return loaded


def read_model(source: ModelSource, input_shapes: Mapping[str, Sizes] | None = None) -> LoadedModel:
    """Read and check a model.

    Args:
        source: a path, a ModelProto or an onnx_ir.Model; the latter two are copied, never changed.  A
        ModelProto
            must have its weights in it, an onnx_ir.Model may have them in files.
        input_shapes: sizes that are written into the model first (see `fix_input_shapes`), which is the
            original from then on.

    Raises:
        ModelReadError: no such file, a directory, empty, no protobuf, truncated, no ONNX model.
        InvalidModelError: no graph or an empty one, names defined twice or not at all, a cycle, unknown
        opset,
            element types or attributes that break the operators' schemas, tensors that are not what they say,
            functions that call themselves.
        ExternalDataError: a file of weights is missing, too short, or outside the model's folder.
        InputShapeError: a shape that no input can have.
    """
    if isinstance(source, ir.Model):
        return _read_ir(source, input_shapes)
    if isinstance(source, ModelProto):
        if stray := external_data.external_tensors(source):
            raise ExternalDataError(
                f"<ModelProto>: the data of tensor {stray[0].name!r} is in another file, in a folder that a"
                " ModelProto does not name: give the path of the model, or load the data first"
            )
        proto = ModelProto()
        proto.CopyFrom(source)
        return _read(proto, "<ModelProto>", None, source, input_shapes=input_shapes)
    path = Path(source)
    name = str(path)
    proto = parse_model(read_bytes(path), name)
    if is_stream(path):
        return read_model(proto, input_shapes)
    return _read(proto, name, path, path, input_shapes=input_shapes)


def read_once(source: ModelSource) -> ModelSource:
    """What can be read any number of times: of a stream the model that came out of it."""
    if not isinstance(source, (str, os.PathLike)) or not is_stream(Path(source)):
        return source
    return parse_model(read_bytes(Path(source)), str(source))


def _read_ir(source: ir.Model, input_shapes: Mapping[str, Sizes] | None) -> LoadedModel:
    name = "<onnx_ir.Model>"
    with external_data.pinned(source, name) as files:
        try:
            proto = ir.to_proto(source)
        except (ir.serde.SerdeError, TypeError, ValueError) as error:
            raise InvalidModelError(f"{name}: cannot be serialized: {innermost(error)}") from error
    original = ModelProto()
    original.CopyFrom(proto)
    return _read(proto, name, None, original, files, input_shapes=input_shapes)


def _read(
    proto: ModelProto,
    source: str,
    path: Path | None,
    original: Path | ModelProto,
    files: frozenset[Path] = frozenset(),
    *,
    input_shapes: Mapping[str, Sizes] | None = None,
) -> LoadedModel:
    """Check and deserialize a model that belongs to us; with `input_shapes` it is the original itself."""
    check_tensors(proto, source)  # before anybody believes how large they are
    if path is not None:
        files = external_data.pin(proto, model_folders(path), source)
    structure = check_structure(proto, source)
    check_attributes(proto, source)
    if input_shapes:
        fix_input_shapes(proto, input_shapes, source)
        original = ModelProto()
        original.CopyFrom(proto)
    warnings = [*structure.warnings]
    calls = check_functions(proto, source)
    unsupported = calls.problem or _unsupported(proto)
    if unsupported is None:
        warnings += check_types(proto, source)
        proto, structure = inlined(proto, structure, calls.nodes, source)
    metadata = metadata_of(proto)
    carry(proto)
    _keep_last_initializers(proto)
    try:
        model = ir.from_proto(proto)
    except (ir.serde.SerdeError, NotImplementedError, ValueError, TypeError) as error:
        raise InvalidModelError(f"{source}: {innermost(error)}") from error
    external_data.map_files(model)
    _restore_input_types(model, proto)
    if not structure.sorted:
        model.graph.sort()
        for function in model.functions.values():
            function.sort()
    if "ai.onnx" in model.opset_imports:
        version = model.opset_imports.pop("ai.onnx")
        model.opset_imports.setdefault("", version)
    imports = {domain: version for domain, version in model.opset_imports.items() if domain != ENCODED_DOMAIN}
    return LoadedModel(
        model=model,
        source=source,
        path=path,
        original=original,
        ir_version=proto.ir_version,
        opset_imports=imports,
        data_files=files,
        unsupported=unsupported,
        warnings=tuple(warnings),
        input_shapes=input_shapes,
        metadata=metadata,
    )


def _unsupported(proto: ModelProto) -> str | None:
    """Why nothing can be done with a valid model."""
    opset = default_opset(proto)
    if mark_of(proto):
        return f"it is outside the standard, by {mark_of(proto)}: optimize what it was made from"
    if opset is not None and opset < OLDEST_OPSET:
        return f"opset {opset} is older than {OLDEST_OPSET}, the oldest that can be optimized"
    return too_much(proto)


def innermost(error: BaseException) -> str:
    """The first cause of an error, on one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())[:300]


def _keep_last_initializers(proto: ModelProto) -> None:
    """Of initializers of one name the last one counts, as in onnxruntime."""
    for graph in graphs_of(proto.graph):
        last = {tensor.name: index for index, tensor in enumerate(graph.initializer)}
        if len(last) != len(graph.initializer):
            kept = [graph.initializer[index] for index in sorted(last.values())]
            del graph.initializer[:]
            graph.initializer.extend(kept)


def _restore_input_types(model: ir.Model, proto: ModelProto) -> None:
    """An input that is an output too has got the output's type, which may say less, or something else."""
    declared: list[tuple[ir.Graph, list[ValueInfoProto]]] = []
    inputs = {tuple(info.name for info in graph.input): list(graph.input) for graph in graphs_of(proto.graph)}
    for graph in model.graphs():
        outputs = set(graph.outputs)
        if any(value in outputs for value in graph.inputs):
            names = tuple(value.name or "" for value in graph.inputs)
            declared.append((graph, inputs.get(names, [])))
    for graph, infos in declared:
        for value, info in zip(graph.inputs, infos, strict=False):
            ir.serde.deserialize_value_info_proto(info, value)


def original_proto(like: LoadedModel) -> ModelProto:
    """The model as it was read, in a copy of its own; weights that are in files are at absolute locations."""
    proto = ModelProto()
    if isinstance(like.original, Path):
        proto = parse_model(read_bytes(like.original), like.source)
        external_data.pin(proto, model_folders(like.original), like.source)
    else:
        proto.CopyFrom(like.original)
    return proto


def model_folders(path: Path) -> tuple[Path, Path]:
    """Where the data of a model may be.

    One that is a symbolic link, as in caches of model hubs, may have it beside what it links to.
    """
    return Path(os.path.realpath(path.parent)), Path(os.path.realpath(path)).parent


def reread(like: LoadedModel) -> LoadedModel:
    """The original once more, for when the graph that was read has been changed."""
    if isinstance(like.original, Path):
        return read_model(like.original)
    proto = ModelProto()
    proto.CopyFrom(like.original)
    return _read(proto, like.source, None, like.original, like.data_files)
