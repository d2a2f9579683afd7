"""Operators that a file declares, in nodes that its terms do not write.

A term is written by the `form` of its operator, and so are both sides of a law.  What the form leaves out,
and what the reader of nodes (`@lowers`) does not look at, is in no term: an optional input, an attribute, an
axis that is counted from behind.  Here the author's examples are ONNX models in which such a node has what
the schema of its operator allows.  Each is read as a model is; written again it has to compute the same, and
so has all that the law makes of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import onnx
from onnx import numpy_helper

from egraph_opt.check.alternatives import rebuilt_original
from egraph_opt.check.batches import lowered_at
from egraph_opt.check.beside.neighbours import OPSETS
from egraph_opt.check.beside.other_attributes import of_attributes
from egraph_opt.check.choices import spread
from egraph_opt.check.judging.comparing import compare
from egraph_opt.check.node_changes import NodeChange, changed, changes_of, node_text
from egraph_opt.check.refusal import LawRefusedError, details
from egraph_opt.check.terms import show_all, shown
from egraph_opt.check.tried_terms import FiredTerm, TriedTerm, Verdict, is_run
from egraph_opt.check.trying import Trying, place_of
from egraph_opt.egraph.lowering import Lowered, lower
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.constants import Constants, constants_of
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.inference.constants import tensor_fact
from egraph_opt.inference.graph import infer_graph
from egraph_opt.inference.onnx_inference import schema
from egraph_opt.laws.law import Example
from egraph_opt.operators.declaration import declared_outside, lowerings, operator_named

EXAMPLES = 3
"""Those of the author whose nodes are changed."""

MOST = 96
"""Changes of the nodes of an example in an opset."""

BATCH = 12
"""Models that are saturated together."""

BESIDE = 24
"""Terms beside an example of which nodes count axes from behind."""

TURN = 1
"""The part of each table of inputs that models are run on; of an input more the whole of it."""


@dataclass(frozen=True)
class ReadNode:
    """A model with a node that was changed, read as a term.

    Attributes:
        node: as it was built; others may be changed alike.
        candidate: the term, which is compared with the model.
    """

    model: onnx.ModelProto
    node: onnx.NodeProto
    change: NodeChange
    candidate: TriedTerm

    def __str__(self) -> str:
        return node_text(self.model, self.node)

    @property
    def is_counted_from_behind(self) -> bool:
        """Whether an axis below 0 has come into the term as it was."""
        terms = self.candidate.lowered.terms
        own = (term for term in terms if declared_outside(operator_named(term.operator).module))
        return self.change.counts_from_behind and any(_is_below_0(term.attributes) for term in own)


def operators_read_outside() -> frozenset[str]:
    """The ONNX operators that files of users read."""
    return frozenset(name for name, reader in lowerings.items() if declared_outside(reader.__module__))


def check_declared_operators(trying: Trying, examples: Sequence[Example]) -> None:
    """Read what the operators that files declare are in ONNX, and see that nothing of it is forgotten.

    Args:
        examples: on which the law fires.

    Raises:
        LawRefusedError: what is read, or what the law makes of it, computes something else.
    """
    own = operators_read_outside()
    for example in spread(examples, EXAMPLES) if own else ():
        for opset in _opsets(example, own):
            _check_example(trying, replace(example, opset=opset), own)


def _check_example(trying: Trying, example: Example, own: frozenset[str]) -> None:
    """Changes of nodes, and, where axes are read as they are counted, the same beside other attributes."""
    from_behind: set[NodeChange] = set()
    found = _nodes_read(trying, example, own)
    while several := list(islice(found, BATCH)):
        for read in several:
            _check_written(trying, read)
        fired = _check_rewritten(trying, several)
        from_behind |= {read.change for read in fired if read.is_counted_from_behind}
    others = list(of_attributes(example, sorted(trying.numbers))) if from_behind else []
    made = (make() for make in spread(others, BESIDE))
    beside = chain.from_iterable(_nodes_read(trying, other, own, from_behind) for other in made)
    while several := list(islice(beside, BATCH)):
        _check_rewritten(trying, several)


def _opsets(example: Example, own: frozenset[str]) -> list[int]:
    """That of an example, and those in which its operators have another schema."""
    written = {node.op_type for node in _model_of(example).graph.node} & own

    def schemas(opset: int) -> tuple[object, ...]:
        found = (schema(name, "", opset) for name in sorted(written))
        return tuple(each and each.since_version for each in found)

    by_schemas = {schemas(opset): opset for opset in (*OPSETS, example.opset)}
    return sorted(by_schemas.values()) if written else []


def _model_of(example: Example) -> onnx.ModelProto:
    """An example as ONNX, all its values as outputs; nothing where it cannot be written."""
    try:
        lowered = lowered_at(example)
        show_all(lowered)
        return rebuilt_original(lowered, lowered.opset)
    except Exception:  # an opset may not have an operator, or not of these types
        return onnx.ModelProto()


def _nodes_read(
    trying: Trying, example: Example, own: frozenset[str], only: Collection[NodeChange] = ()
) -> Iterator[ReadNode]:
    """What becomes of each node, and of all that are alike, where its reader makes a term of it.

    Args:
        only: the changes that are made; none for all.
    """
    model = _model_of(example)
    changes = [(change, places) for change, places in _changes(model, own) if not only or change in only]
    for change, places in spread(changes, MOST):
        try:
            made = changed(model, places, change)
            lowered = read_again(made)
        except Exception:  # what a schema allows need suit no operand; errors share no base class
            continue
        if lowered is not None:
            names = {model.graph.node[k].output[0] for k in places}
            node = next(node for node in made.graph.node if node.output[0] in names)
            turn = None if change.position >= 0 else TURN
            candidate = trying.of_model(FiredTerm(example, lowered), made, turn=turn)
            yield ReadNode(made, node, change, candidate)


def _changes(model: onnx.ModelProto, own: frozenset[str]) -> Iterator[tuple[NodeChange, list[int]]]:
    """Changes of all nodes of an operator at once, and of each alone."""
    places: dict[str, list[int]] = {}
    for k, node in enumerate(model.graph.node):
        if node.op_type in own:
            places.setdefault(node.op_type, []).append(k)
    for alike in places.values():
        for change in changes_of(model, model.graph.node[alike[0]]):
            yield change, alike
            yield from ((change, [k]) for k in alike if len(alike) > 1)


def read_again(model: onnx.ModelProto) -> Lowered | None:
    """A model as terms, each of which is written by its form; None where a node stays opaque."""
    graph = ir.from_proto(model).graph
    constants = constants_of(graph, model.ir_version, Constants({}))

    def constant(value: ir.Value) -> Fact | None:
        return tensor_fact(constants.tensor(value)) if constants.has(value) else None

    contradicting: set[ir.Node] = set()
    opset = graph.opset_imports[""]
    facts = infer_graph(graph, {"": opset}, {}, constant, lambda warning: None, contradicting=contradicting)
    lowered = lower(graph, opset, facts, constants, contradicting=contradicting)
    lowered.nodes.clear()
    return None if lowered.kept else lowered


def _check_written(trying: Trying, read: ReadNode) -> None:
    """A term that was read, written again, computes what the model does."""
    lowered, original = read.candidate.lowered, read.candidate.original
    try:
        written = rebuilt_original(lowered, lowered.opset)
    except AssertionError:  # a node stays as it is where no form writes it
        return
    if _wording(written) == _wording(read.model) or not is_run(read.candidate):
        return
    failure = compare(original, written, trying.tally)
    if failure is None:
        return
    kept = [node for node in written.graph.node if node.op_type == read.node.op_type]
    again = node_text(written, kept[0]) if kept else "nothing"
    verdict = Verdict(read.candidate, failure=failure)
    said = f": {read} is read as a term that is written as {again}, before any law is applied"
    raise _refused(trying, read, verdict, f"{said}: {failure.message}", by_law=False)


def _check_rewritten(trying: Trying, several: Sequence[ReadNode]) -> list[ReadNode]:
    """All that the law makes of terms that were read computes what the models do.

    Returns:
        Those of which it makes something.
    """
    verdicts = trying.verdicts([read.candidate for read in several])
    if len(verdicts) < len(several):  # something failed: of which term?
        return [fired for read in several for fired in _check_rewritten(trying, [read])]
    for read, verdict in zip(several, verdicts, strict=True):
        if verdict.failure is not None and is_run(verdict.candidate):
            wrong = f" ({trying.law.numerics}) is wrong on {shown(verdict.candidate.lowered)}"
            said = f"{wrong}, as the node {read} is read"
            raise _refused(trying, read, verdict, f"{said}: {verdict.failure.message}", by_law=True)
    return [read for read, verdict in zip(several, verdicts, strict=True) if verdict.changed]


def _refused(trying: Trying, read: ReadNode, verdict: Verdict, said: str, *, by_law: bool) -> LawRefusedError:
    reader = lowerings[read.node.op_type]
    code = getattr(reader, "__code__", None)
    place = f" (line {code.co_firstlineno})" if code is not None else ""
    lines = [
        f"{place_of(trying.law)}: {trying.law.key}{said}",
        *details(verdict),
        f"  {read.change.advice(by_law=by_law)}; see {getattr(reader, '__name__', 'the reader')}{place}",
    ]
    return LawRefusedError("\n".join(lines))


def _is_below_0(value: Any) -> bool:
    """Whether a number is, or one in a tuple."""
    return any(map(_is_below_0, value)) if isinstance(value, tuple) else isinstance(value, int) and value < 0


def _wording(model: onnx.ModelProto) -> list[object]:
    """What each output of a model is computed by, whatever the names between."""
    graph = model.graph
    keys: dict[str, object] = {value.name: value.name for value in graph.input}
    for tensor in graph.initializer:
        keys[tensor.name] = tensor.data_type, tuple(tensor.dims), numpy_helper.to_array(tensor).tobytes()
    for node in graph.node:
        attributes = tuple(sorted(entry.SerializeToString() for entry in node.attribute))
        made = node.op_type, attributes, tuple(keys.get(name) for name in node.input)
        keys |= {name: (k, made) for k, name in enumerate(node.output)}
    return [keys[value.name] for value in graph.output]
