"""Two models compared piece by piece, where memory does not allow to run them whole.

The original is cut where all tensors that cross are in the optimized model too, by their names.  A piece of
either model computes the tensors at its end from those at its beginning, which are the original's in both: if
every piece agrees, so do the models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper

from egraph_opt.model.encoding import bodies_of, graphs_of
from egraph_opt.verification.budget import RunBudget
from egraph_opt.verification.execution import (
    ExecutionError,
    OutOfMemoryError,
    RunnableModel,
    Session,
    Value,
    load,
)
from egraph_opt.verification.runs import NotComparableError, Runs
from egraph_opt.verification.sizes import Sizes

MOST_PIECES = 64


def _read(node: onnx.NodeProto) -> set[str]:
    """The names that a node reads, in its bodies too; those that a body defines do no harm."""
    names = set(node.input)
    for body in bodies_of(node):
        for graph in graphs_of(body):
            names.update(name for inner in graph.node for name in inner.input)
            names.update(output.name for output in graph.output)
    return names - {""}


@dataclass(frozen=True)
class Cut:
    """A place between two nodes of the original.

    Attributes:
        position: how many nodes come before it.
        crossing: the tensors that are computed before it and used after it, or are outputs.
    """

    position: int
    crossing: frozenset[str]


def cuts_between(original: onnx.GraphProto, optimized: onnx.GraphProto) -> list[Cut]:
    """Where both models can be cut, in order, with the beginning and the end; at most `MOST_PIECES` + 1."""
    shared = {name for node in optimized.node for name in node.output}
    outputs = {output.name for output in original.output}
    last: dict[str, int] = {}
    for k, node in enumerate(original.node):
        last.update(dict.fromkeys(_read(node), k))
    last.update(dict.fromkeys(outputs, len(original.node)))
    crossing: set[str] = set()
    ending: dict[int, list[str]] = {}
    found: list[Cut] = []
    for k, node in enumerate(original.node[:-1]):
        for name in node.output:
            if last.get(name, k) > k:
                crossing.add(name)
                ending.setdefault(last[name], []).append(name)
        crossing -= set(ending.pop(k, ()))
        if crossing <= shared:
            found.append(Cut(k + 1, frozenset(crossing)))
    step = -(-len(found) // (MOST_PIECES - 1)) if found else 1
    return [Cut(0, frozenset()), *found[::step], Cut(len(original.node), frozenset(outputs))]


def _needed(nodes: Sequence[onnx.NodeProto], wanted: set[str], given: set[str]) -> list[onnx.NodeProto]:
    """The nodes that compute what is wanted from what is given."""
    pending, kept = wanted - given, []
    for node in reversed(nodes):
        if pending.intersection(node.output):
            kept.append(node)
            pending |= _read(node) - given
    return kept[::-1]


@dataclass(frozen=True)
class Cutout:
    """What a piece computes, and from what."""

    wanted: Sequence[str]
    given: Mapping[str, Value]

    def nodes(self, model: RunnableModel) -> list[onnx.NodeProto]:
        """Those of a model that the piece is of."""
        return _needed(model.proto.graph.node, set(self.wanted), set(self.given))

    def read(self, model: RunnableModel) -> set[str]:
        """The names that a model's piece reads."""
        return {name for node in self.nodes(model) for name in _read(node)} | set(self.wanted)

    def inputs(self, *models: RunnableModel) -> dict[str, Value]:
        """What is given and the piece of some model reads, by name."""
        read = {name for model in models for name in self.read(model)}
        return {name: self.given[name] for name in sorted(read.intersection(self.given))}


def part_of(model: RunnableModel, step: Cutout, inputs: Mapping[str, Value]) -> RunnableModel:
    """The part of a model that computes some tensors from others.

    Args:
        inputs: those that it has, whether it reads them or not: two models are fed alike.

    Raises:
        NotComparableError: what is given are not all tensors.
    """
    graph, given, wanted = model.proto.graph, step.given, step.wanted
    nodes, read = step.nodes(model), step.read(model)
    part = onnx.ModelProto(ir_version=max(model.proto.ir_version, 4))
    part.opset_import.extend(model.proto.opset_import)
    part.functions.extend(model.proto.functions)
    part.graph.name = "piece"
    part.graph.node.extend(nodes)
    part.graph.initializer.extend(
        tensor for tensor in graph.initializer if tensor.name in read and tensor.name not in given
    )
    part.graph.sparse_initializer.extend(s for s in graph.sparse_initializer if s.values.name in read)
    part.graph.input.extend(_info(name, value) for name, value in inputs.items())
    part.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
    return load(part, folder=model.folder)


def _info(name: str, value: Value) -> onnx.ValueInfoProto:
    if not isinstance(value, np.ndarray):
        raise NotComparableError(f"memory does not allow to run the models whole, and {name!r} is no tensor")
    dtype = onnx.TensorProto.STRING
    if value.dtype.kind not in "OU":
        dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, dtype, [None] * value.ndim)


@dataclass
class Pieces:
    """Two models that are run piece by piece."""

    before: RunnableModel
    after: RunnableModel
    seed: int
    approximate: bool = False
    budget: RunBudget = field(default_factory=RunBudget)
    absolute: float = 0.0
    relative: float = 0.0
    deviations: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cuts = cuts_between(self.before.proto.graph, self.after.proto.graph)

    def run(self, feeds: Mapping[str, Value], sizes: Sizes) -> list[Value]:
        """The outputs of the original.

        Raises:
            ExecutionError: it does not run.
            BudgetError: a piece takes too long.
        """
        most = self.budget.seconds(sizes)
        known = dict(feeds)
        for step in self._steps(known):
            inputs = step.inputs(self.before)
            session = Session(part_of(self.before, step, inputs))
            made = session.run(inputs, seconds=most)
            known.update(zip(session.output_names, made, strict=True))
        return [known[output.name] for output in self.before.proto.graph.output]

    def compare(self, feeds: Mapping[str, Value], sizes: Sizes, where: str) -> None:
        """Compare every piece on the original's own values.

        Raises:
            MismatchError: a piece differs.
            NotComparableError: memory does not allow to run a piece.
        """
        known = dict(feeds)
        for k, step in enumerate(self._steps(known)):
            place = f"piece {k + 1} of {len(self.cuts) - 1}"
            try:
                inputs = step.inputs(self.before, self.after)
                before, after = (part_of(model, step, inputs) for model in (self.before, self.after))
                runs = Runs(before, after, self.seed, approximate=self.approximate, budget=self.budget)
                made = runs.run_original(inputs, sizes)
                runs.compare(inputs, sizes, f"{where}, {place}")
                runs.finish()
            except OutOfMemoryError as error:
                raise NotComparableError(f"memory ran out in {place}, those before agree: {error}") from error
            except ExecutionError as error:
                raise NotComparableError(f"the original does not run in {place}: {error}") from error
            known.update(zip(runs.original.output_names, made, strict=True))
            self.absolute = max(self.absolute, runs.absolute)
            self.relative = max(self.relative, runs.relative)
            self.deviations = {**runs.deviations, **self.deviations}

    def _steps(self, known: dict[str, Value]) -> Iterator[Cutout]:
        """Of each piece; `known` grows between, and loses what is past."""
        graph = self.before.proto.graph
        inputs = {entry.name for entry in graph.input}
        outputs = {entry.name for entry in graph.output}
        for start, end in zip(self.cuts, self.cuts[1:], strict=False):
            made = {name for node in graph.node[start.position : end.position] for name in node.output}
            wanted = sorted(name for name in end.crossing if name in made or name not in known)
            for name in set(known) - inputs - outputs - start.crossing:
                del known[name]
            given = {name: known[name] for name in known if name in inputs or name in start.crossing}
            if wanted:
                yield Cutout(wanted, given)
