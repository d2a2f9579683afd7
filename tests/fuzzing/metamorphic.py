"""The same model written otherwise: what it costs in the end may differ by what is not proved, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import onnx
from onnx import helper

from egraph_opt.pipeline.result import Result

from .classes import Finding
from .settings import Setting

MOST = 4000
"""E-nodes after which saturation ends; graphs so small that need more grow without end."""


def metamorphic(model: onnx.ModelProto, setting: Setting) -> Iterator[Finding]:
    """Costs that hang on how the model is written, where saturation came to rest and the choice is proved."""
    if (setting.rewrites or ("default",))[0] != "default":
        return  # with some rulesets only, few ways of writing a model come to the same
    if setting.limits or setting.extractor not in ("auto", "exact") or setting.objective != "cost":
        return
    before = replace(setting, limits={"nodes": MOST}).run(model)
    if not _settled(before):
        return
    for name, change in CHANGES.items():
        if change is with_transposes and setting.is_by_lot:
            continue  # layouts that nobody asked for are not tried, and may be cheap by chance
        changed = change(model, np.random.default_rng(setting.seed))
        if changed is None:
            continue
        after = replace(setting, limits={"nodes": MOST}).run(changed)
        if after.report.saturation.stop == "nodes":
            count, most = before.report.saturation.nodes, after.report.saturation.nodes
            yield Finding("growth", f"{name}: {count} e-nodes became {most} and more")
        if _settled(after) and not _agree(before, after):
            costs = f"{before.report.cost.after:.9g} and {after.report.cost.after:.9g}"
            yield Finding("metamorphic", f"{name}: costs {costs}")


def _settled(result: Result) -> bool:
    report = result.report
    return report.status in ("optimized", "unchanged") and report.saturation.stop == "saturated"


def _agree(one: Result, other: Result) -> bool:
    a, b = one.report.cost, other.report.cost
    room = a.gap * a.after + b.gap * b.after + 1e-6 * max(a.after, b.after)
    return abs(a.after - b.after) <= room


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _has_bodies(model: onnx.ModelProto) -> bool:
    return any(attribute.HasField("g") for node in model.graph.node for attribute in node.attribute)


def renamed(model: onnx.ModelProto, rng: np.random.Generator) -> onnx.ModelProto | None:
    """Inner values have other names."""
    if _has_bodies(model):
        return None
    copy = _copy(model)
    kept = {v.name for v in (*copy.graph.input, *copy.graph.output)} | {
        t.name for t in copy.graph.initializer
    }
    made = [name for node in copy.graph.node for name in node.output if name and name not in kept]
    names = dict(zip(made, (f"z{k}" for k in rng.permutation(len(made))), strict=True))
    for node in copy.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    return copy


def reordered(model: onnx.ModelProto, rng: np.random.Generator) -> onnx.ModelProto | None:
    """The nodes in another order in which every operand comes first."""
    if _has_bodies(model):
        return None
    copy = _copy(model)
    nodes, known = list(model.graph.node), {""}
    made = {name for node in nodes for name in node.output}
    order: list[onnx.NodeProto] = []
    while nodes:
        ready = [n for n in nodes if all(name in known or name not in made for name in n.input)]
        node = ready[int(rng.integers(len(ready)))]
        nodes.remove(node)
        known.update(node.output)
        order.append(node)
    del copy.graph.node[:]
    copy.graph.node.extend(order)
    return copy


def duplicated(model: onnx.ModelProto, rng: np.random.Generator) -> onnx.ModelProto | None:
    """Every node twice, the copies read by half of the readers."""
    if _has_bodies(model):
        return None
    copy = _copy(model)
    del copy.graph.node[:]
    twins: dict[str, str] = {}
    for node in model.graph.node:
        for suffix in ("", "_twin"):
            twin = onnx.NodeProto()
            twin.CopyFrom(node)
            twin.name = ""
            twin.input[:] = [twins[n] if n in twins and rng.random() < 0.5 else n for n in node.input]
            twin.output[:] = [f"{name}{suffix}" if name else "" for name in node.output]
            copy.graph.node.append(twin)
        twins.update({name: f"{name}_twin" for name in node.output if name})
    return copy


def with_identities(model: onnx.ModelProto, rng: np.random.Generator) -> onnx.ModelProto | None:
    """Values go through an Identity on their way to some readers."""
    return _between(model, rng, lambda name, k: [helper.make_node("Identity", [name], [f"{name}_id{k}"])])


def _between(
    model: onnx.ModelProto, rng: np.random.Generator, nodes: Callable[[str, int], list[onnx.NodeProto]]
) -> onnx.ModelProto | None:
    if _has_bodies(model):
        return None
    copy = _copy(model)
    del copy.graph.node[:]
    count = 0
    made = {name for node in model.graph.node if node.op_type != "Constant" for name in node.output}
    for node in model.graph.node:
        reader = onnx.NodeProto()
        reader.CopyFrom(node)
        for place, name in enumerate(reader.input):
            if name in made and rng.random() < 0.4:
                added = nodes(name, count)
                copy.graph.node.extend(added)
                reader.input[place] = added[-1].output[0] if added else name
                count += 1
        copy.graph.node.append(reader)
    return copy


def with_transposes(model: onnx.ModelProto, rng: np.random.Generator) -> onnx.ModelProto | None:
    """Values are transposed and transposed back on their way to some readers."""
    inferred = onnx.shape_inference.infer_shapes(model)
    ranks = {
        v.name: len(v.type.tensor_type.shape.dim)
        for v in inferred.graph.value_info
        if v.type.HasField("tensor_type") and v.type.tensor_type.HasField("shape")
    }

    def pair(name: str, number: int) -> list[onnx.NodeProto]:
        if ranks.get(name, 0) < 2:
            return []
        perm = [int(k) for k in rng.permutation(ranks[name])]
        back = [perm.index(k) for k in range(len(perm))]
        turned, again = f"{name}_t{number}", f"{name}_u{number}"
        return [
            helper.make_node("Transpose", [name], [turned], perm=perm),
            helper.make_node("Transpose", [turned], [again], perm=back),
        ]

    return _between(model, rng, pair)


CHANGES = {
    "renamed": renamed,
    "reordered": reordered,
    "duplicated": duplicated,
    "with identities": with_identities,
    "with transposes there and back": with_transposes,
}
