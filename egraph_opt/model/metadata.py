"""What surrounds a graph in a model: kept when a model is read, put back when it is written."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto

from egraph_opt.model.encoding import is_held, restore

LEGALIZED = "egraph_opt.legalized"
"""The entry of a model's metadata that names the passes that changed it, separated by commas."""


_SCALARS = ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string")


def metadata_of(proto: ModelProto) -> ModelProto:
    """Everything of a model but nodes, weights and functions."""
    metadata = ModelProto()
    for name in _SCALARS:
        if proto.HasField(name):
            setattr(metadata, name, getattr(proto, name))
    metadata.opset_import.extend(proto.opset_import)
    metadata.metadata_props.extend(proto.metadata_props)
    metadata.training_info.extend(proto.training_info)
    metadata.configuration.extend(proto.configuration)
    graph = proto.graph
    metadata.graph.name = graph.name
    metadata.graph.doc_string = graph.doc_string
    metadata.graph.input.extend(graph.input)
    metadata.graph.output.extend(graph.output)
    metadata.graph.metadata_props.extend(graph.metadata_props)
    metadata.graph.quantization_annotation.extend(graph.quantization_annotation)
    initialized = {tensor.name for tensor in graph.initializer}
    metadata.graph.value_info.extend(
        info for info in graph.value_info if info.name in initialized or not is_held(info.type)
    )
    return metadata


def restore_metadata(proto: ModelProto, metadata: ModelProto) -> None:
    """Give a model that came out of onnx_ir, in place, the surroundings that its original had."""
    restore(proto)
    graph = proto.graph
    used = {entry.domain for entry in proto.opset_import} - {entry.domain for entry in metadata.opset_import}
    extra = [entry for entry in proto.opset_import if entry.domain in used - {""}]
    del proto.opset_import[:]
    proto.opset_import.extend(metadata.opset_import)
    proto.opset_import.extend(extra)
    for name in _SCALARS:
        if metadata.HasField(name):
            setattr(proto, name, getattr(metadata, name))
    for kept, repeated in (
        (metadata.metadata_props, proto.metadata_props),
        (metadata.training_info, proto.training_info),
        (metadata.configuration, proto.configuration),
        (metadata.graph.input, graph.input),
        (metadata.graph.output, graph.output),
        (metadata.graph.metadata_props, graph.metadata_props),
    ):
        del repeated[:]
        repeated.extend(kept)
    graph.name = metadata.graph.name or graph.name or "graph"
    if metadata.graph.doc_string:
        graph.doc_string = metadata.graph.doc_string
    _restore_annotations(proto, metadata)
    _restore_value_infos(proto, metadata)


def _restore_annotations(proto: ModelProto, metadata: ModelProto) -> None:
    """Quantization annotations of the tensors that are still there, with parameters that are still there."""
    graph = proto.graph
    there = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    there |= {name for node in graph.node for name in node.output}
    del graph.quantization_annotation[:]
    for annotation in metadata.graph.quantization_annotation:
        parameters = {entry.value for entry in annotation.quant_parameter_tensor_names}
        if annotation.tensor_name in there and parameters <= there:
            graph.quantization_annotation.append(annotation)


def _restore_value_infos(proto: ModelProto, metadata: ModelProto) -> None:
    """onnx_ir writes one for every initializer; keep those that were there, and types it cannot hold."""
    graph = proto.graph
    kept = {info.name: info for info in metadata.graph.value_info}
    initialized = {tensor.name for tensor in graph.initializer}
    initialized |= {sparse.values.name for sparse in graph.sparse_initializer}
    infos = [
        kept.get(info.name, info)
        for info in graph.value_info
        if info.name in kept or info.name not in initialized
    ]
    listed = {info.name for info in infos}
    made = {name for node in graph.node for name in node.output}
    outputs = {info.name for info in graph.output}
    infos += [info for name, info in kept.items() if name in made - listed - outputs]
    del graph.value_info[:]
    graph.value_info.extend(infos)


def marked(metadata: ModelProto, changed: Mapping[str, int]) -> ModelProto:
    """What surrounds a model's graph, with the mark of the passes that changed it."""
    answer = ModelProto()
    answer.CopyFrom(metadata)
    answer.metadata_props.add(key=LEGALIZED, value=",".join(sorted(changed)))
    return answer


def mark_of(model: ModelProto) -> str:
    """The passes that changed a model; empty if none did."""
    return next((entry.value for entry in model.metadata_props if entry.key == LEGALIZED), "")
