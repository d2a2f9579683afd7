"""Generated tests of laws: build a law's examples, saturate with it alone, compare both sides in numbers.

An example generator makes its operands with `Operands` and its terms with the operators' constructors::

    def _examples(rng):
        g = Operands(rng)
        x = g.input((2, 3, 4))
        yield g.fires(transpose(transpose(x, (1, 0, 2)), (1, 0, 2)))
        yield g.near_miss(transpose(x, (1, 0, 2)), why="there is one transpose only")
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from egglog import get_callable_args, get_callable_fn
from onnx import TensorProto

from egraph_opt import symbolic
from egraph_opt.analysis import infer_operator
from egraph_opt.cost import CostModel, NodeView
from egraph_opt.engine import Engine
from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import extract
from egraph_opt.folding import Constants
from egraph_opt.inference import tensor_fact
from egraph_opt.law import ASSUME, Deduction, Example, Law, _pattern_variables, select
from egraph_opt.law_comparison import Original, Tally
from egraph_opt.law_cycles import written_on_the_original
from egraph_opt.law_feeds import Kind
from egraph_opt.lowering import Lowered, Term
from egraph_opt.naming import Namer
from egraph_opt.operators import leaf, operators
from egraph_opt.pricing import Prices, original_choice, price, problem_of, with_given
from egraph_opt.rebuilding import Choice, rebuild_graph
from egraph_opt.saturation import SaturationReport, saturate_terms
from egraph_opt.snapshot import Snapshot
from egraph_opt.terms import Tensor, cons, nil
from egraph_opt.types import Dim, Fact

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


@dataclass
class Operands:
    """The leaves of one family of examples: inputs and constants, with random elements."""

    rng: np.random.Generator
    values: list[ir.Value] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)

    def input(self, shape: Sequence[Dim], dtype: int = FLOAT) -> Tensor:
        """A graph input; dims are numbers or names of symbols (one of those in `SIZES`)."""
        dims = ir.Shape([d if d is not None else ir.SymbolicDim(None) for d in shape])
        kind = ir.TensorType(ir.DataType(dtype))
        self.values.append(ir.Value(name=f"x{len(self.values)}", type=kind, shape=dims))
        known = tuple(symbolic.symbol(d) if isinstance(d, str) else d for d in shape)
        self.facts.append(Fact(dtype, known))
        return leaf(len(self.values) - 1)  # type: ignore[no-any-return]

    def constant(self, array: Any, dtype: int | None = None) -> Tensor:
        """An initializer with the elements given; Python floats become float32."""
        array = np.asarray(array)
        if dtype is None and array.dtype == np.float64:
            array = array.astype(np.float32)
        tensor = ir.tensor(array, dtype=None if dtype is None else ir.DataType(dtype))
        name = f"c{len(self.values)}"
        value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=tensor.shape, const_value=tensor)  # type: ignore[arg-type]
        self.values.append(value)
        self.facts.append(tensor_fact(tensor))
        return leaf(len(self.values) - 1)  # type: ignore[no-any-return]

    def random(self, *shape: int) -> Tensor:
        """A float32 constant with normally distributed elements."""
        return self.constant(self.rng.standard_normal(shape).astype(np.float32))

    def fires(self, term: Any, **limits: int) -> Example:
        """An example to which the law applies; `limits` are those that the target publishes."""
        return Example(term, True, "", tuple(sorted(limits.items())), self)

    def near_miss(self, term: Any, why: str, **limits: int) -> Example:
        """An example to which the law must not apply."""
        return Example(term, False, why, tuple(sorted(limits.items())), self)


def listed(*items: Any) -> Any:
    """A list of operands, for `concat` and `variadic`."""
    answer = nil()
    for item in reversed(items):
        answer = cons(item, answer)
    return answer


def _copy(value: ir.Value) -> ir.Value:
    """The same leaf for another graph: a value belongs to one."""
    return ir.Value(name=value.name, type=value.type, shape=value.shape, const_value=value.const_value)


class _Builder:
    """A term of an example, lowered."""

    def __init__(self, operands: Operands, opset: int) -> None:
        values = [_copy(v) for v in operands.values]
        inputs = [v for v in values if v.const_value is None]
        constants = [v for v in values if v.const_value is not None]
        output = ir.Value(name="y")
        graph = ir.Graph(
            inputs, [output], nodes=[], initializers=constants, opset_imports={"": opset}, name="example"
        )
        tensors = {v: v.const_value for v in constants if v.const_value is not None}
        self.lowered = Lowered(graph, opset, leaves=values, constants=Constants(tensors))
        self.operands = operands
        self.index: dict[Term, int] = {}
        self.bundles: dict[int, tuple[Fact, ...]] = {}
        self.declared = {op.function: op for op in operators().values()}

    def add(self, term: Term, fact: Fact | None) -> int:
        if term not in self.index:
            self.index[term] = len(self.lowered.terms)
            self.lowered.terms.append(term)
            self.lowered.facts.append(fact)
            self.lowered.names.append([])
        return self.index[term]

    def list_of(self, expression: Any) -> tuple[int, ...]:
        items = []
        while get_callable_fn(expression) == cons:
            first, expression = get_callable_args(expression) or ()
            items.append(self.term(first))
        return tuple(items)

    def term(self, expression: Any) -> int:
        """The index of an expression (examples are small, so this descends into them)."""
        operator = self.declared[get_callable_fn(expression)]
        attributes: list[Any] = []
        operands: list[Any] = []
        facts: list[Fact] = []
        arguments: tuple[Any, ...] = get_callable_args(expression) or ()
        for kind, argument in zip(operator.kinds, arguments, strict=True):
            if kind == "tensors":
                operands.append(self.list_of(argument))
                facts.extend(self.lowered.facts[k] for k in operands[-1])
            elif kind in ("tensor", "bundle"):
                operands.append(self.term(argument))
                if kind == "tensor":
                    facts.append(self.lowered.facts[operands[-1]])
            else:
                attributes.append(argument.value)
        term = Term(operator.name, tuple(attributes), tuple(operands))
        if operator.name == "leaf":
            return self.add(term, self.operands.facts[attributes[0]])
        if operator.name == "output":
            return self.add(term, self.bundles[operands[0]][attributes[0]])
        inferred = infer_operator(operator.name, self.lowered.opset, tuple(attributes), tuple(facts))
        if operator.result == "bundle":
            index = self.add(term, None)
            self.bundles[index] = inferred
            return index
        return self.add(term, inferred)


def lower_example(example: Example, opset: int = 17) -> Lowered:
    """The term of an example as the engine takes it."""
    builder = _Builder(example.operands, opset)
    root = builder.term(example.term)
    builder.lowered.outputs = [root]
    fact = builder.lowered.facts[root]
    assert fact is not None and fact.dtype > 0, f"the example is ill-typed: {example.term}"
    output = builder.lowered.graph.outputs[0]
    output.type = ir.TensorType(ir.DataType(fact.dtype))
    output.shape = ir.Shape([d if isinstance(d, int) else None for d in fact.shape or ()])
    return builder.lowered


def _model(choice: Choice, opset: int) -> onnx.ModelProto:
    graph = rebuild_graph(choice, 10, Namer(choice.lowered.graph))
    return ir.to_proto(ir.Model(graph, ir_version=10))


def _show_all(lowered: Lowered) -> None:
    """Make every inner value an output as well: what is wrong there may not show at the root."""
    for index, (term, fact) in enumerate(zip(lowered.terms, lowered.facts, strict=True)):
        hidden = index not in lowered.outputs and term.operator not in ("leaf", "none", "literal")
        if hidden and fact is not None and fact.dtype > 0:
            lowered.graph.outputs.append(_output(f"y{index}", fact))
            lowered.outputs.append(index)


def _output(name: str, fact: Fact) -> ir.Value:
    shape = None if fact.shape is None else ir.Shape([d if isinstance(d, int) else None for d in fact.shape])
    return ir.Value(name=name, type=ir.TensorType(ir.DataType(fact.dtype)), shape=shape)


def _alternatives(lowered: Lowered, snapshot: Snapshot, prices: Prices) -> tuple[list[Choice], list[int]]:
    """The graph with one class written by another node than the original, for every such node.

    And the nodes of classes of the original that can be in no graph, since they depend on themselves.
    """
    original = set(snapshot.term_node.tolist())
    ways = Counter(snapshot.node_class[sorted(original)].tolist())  # of which a law made one class
    roots = set(snapshot.term_classes[lowered.outputs].tolist())
    found: dict[bytes, Choice] = {}
    cyclic: list[int] = []
    for owner in dict.fromkeys((*snapshot.term_classes.tolist(), *range(snapshot.n_classes))):
        for node in np.flatnonzero(snapshot.node_class == owner).tolist():
            if not np.isfinite(prices.cost[node]) or (node in original and ways[owner] == 1):
                continue
            cost = prices.cost.copy()
            cost[(snapshot.node_class == owner) & (np.arange(snapshot.n_nodes) != node)] = np.inf
            forced = Prices(cost, prices.tie, prices.computed)
            try:
                solution = extract(problem_of(lowered, snapshot, forced), "auto")
            except ExtractionError:
                if owner in roots and node not in original:
                    cyclic.append(node)
                continue
            if solution.choice[owner] == node:
                chosen = with_given(snapshot, forced, solution.choice)
                found.setdefault(chosen.tobytes(), Choice(lowered, snapshot, chosen, prices.computed))
    return list(found.values()), cyclic


class _EveryNode(CostModel):
    """1 for every node, so that all can be chosen, pseudo-operators as well."""

    name = "every-node"
    unit = "nodes"

    def __init__(self) -> None:
        self.pseudo_operators = frozenset(operators())

    def cost(self, node: NodeView) -> float:
        return 1.0 + node.body_cost


def _prices(lowered: Lowered, snapshot: Snapshot) -> Prices:
    return price(lowered, snapshot, _EveryNode(), {}, [], 1 << 30)


@dataclass(frozen=True)
class Checked:
    """What came of an example.

    Attributes:
        tally: the checks that were made and left out.
        statements: how often each statement of the law matched, by its number.
        alternatives: the graphs that were compared.
    """

    tally: Tally
    statements: Mapping[int, int]
    alternatives: int = 0


def _laws_of(entry: Law) -> tuple[Law, ...]:
    partners = [law for law in select(_rulesets(entry.partners)) if law.key in entry.partners]
    return tuple(sorted({entry, *partners}, key=lambda law: law.key))


def _matches_of(entry: Law, report: SaturationReport) -> dict[int, int]:
    prefix = f"{entry.key}#"
    return {
        int(name.removeprefix(prefix)): count
        for name, count in report.rule_matches.items()
        if name.startswith(prefix) and count
    }


def statements_of(entry: Law) -> list[int]:
    """The numbers of a law's statements but for those of its closure, which run with the analysis."""
    statements = entry.function(*_pattern_variables(entry.function))
    return [k for k, made in enumerate(statements) if not (isinstance(made, Deduction) and made.closure)]


def fires_on(entry: Law, example: Example, opset: int = 17) -> bool:
    """Whether a law matches anything in an example; it is compiled anew, since it may be a relaxed one."""
    engine = Engine(_laws_of(entry))
    engine.load(lower_example(example, opset), dict(example.limits))
    for _ in range(2):
        for ruleset in engine.rulesets:
            if any(n and name.startswith(f"{entry.key}#") for name, n in engine.apply(ruleset)[1].items()):
                return True
        engine.analyse()
    return False


def check_example(
    entry: Law, example: Example, opset: int = 17, *, seeds: tuple[int, ...] = (0,), kinds: bool = True
) -> Checked:
    """Assert what an example says of a law: that it fires or not, and that all it writes answers alike.

    What is compared is the example as it was written, rebuilt before any law has fired, with each of the
    alternatives, at the root and at every value below it.

    Args:
        seeds: of the elements of inputs.
        kinds: inputs that laws may go wrong on as well as normally distributed ones; see `law_feeds`.

    Raises:
        AssertionError: the law did not fire, or fired on a near-miss, or a side computes something else.
    """
    lowered = lower_example(example, opset)
    snapshot, report = _saturated(entry, example, lowered)
    matches = _matches_of(entry, report)
    if not example.fires:
        assert not matches, f"{entry.key} fired where it must not ({example.why}): {example.term}"
        return Checked(Tally(), matches)
    assert matches, f"{entry.key} did not fire: {example.term}"
    original = _original(entry, lowered, opset, seeds, kinds, reference=True)
    checked = _check_alternatives(entry, lowered, snapshot, matches, opset, original)
    assert checked.alternatives, (
        f"{entry.key} fired and added nothing that can be written to a class of {example.term}"
    )
    return checked


def check_variant(
    entry: Law, example: Example, opset: int = 17, *, seeds: tuple[int, ...] = (0,)
) -> Checked | None:
    """Like `check_example` for one of the `variants` of an example: None where it is ill-typed.

    Raises:
        AssertionError: the law fired, and the sides differ.
    """
    try:
        lowered = lower_example(example, opset)
        original = _original(entry, lowered, opset, seeds, True, reference=False)
    except Exception:  # operands that do not suit an operator make inference fail in many ways
        return None
    if not original.trials:
        return None
    snapshot, report = _saturated(entry, example, lowered)
    matches = _matches_of(entry, report)
    if not matches:
        return Checked(Tally(), matches)
    return _check_alternatives(entry, lowered, snapshot, matches, opset, original)


def _saturated(entry: Law, example: Example, lowered: Lowered) -> tuple[Snapshot, SaturationReport]:
    return saturate_terms(
        lowered,
        _laws_of(entry),
        dict(example.limits),
        nodes=5000,
        rounds=3,
        seconds=60,
        strict=True,
    )


def _original(
    entry: Law, lowered: Lowered, opset: int, seeds: tuple[int, ...], kinds: bool, *, reference: bool
) -> Original:
    """The example as it was written, with every inner value as an output."""
    _show_all(lowered)
    # What the laws of `assume` take for granted does not hold of the largest integers.
    odd: Kind = "special" if entry.numerics == "bitwise" and entry.ruleset != ASSUME else "moderate"
    return Original(
        rebuilt_original(lowered, opset),
        ("normal", odd) if kinds and entry.exact else ("normal",),
        seeds,
        reference=reference and entry.exact,
    )


def _check_alternatives(
    entry: Law,
    lowered: Lowered,
    snapshot: Snapshot,
    matches: Mapping[int, int],
    opset: int,
    original: Original,
) -> Checked:
    alternatives, cyclic = _alternatives(lowered, snapshot, _prices(lowered, snapshot))
    tally = Tally()
    for node in cyclic:
        tally.add(_check_cyclic(lowered, snapshot, node, original, entry.numerics, opset))
    for alternative in alternatives:
        tally.add(original.compare(_model(alternative, opset), entry.numerics))
    tally.add(original.tally)
    return Checked(tally, matches, len(alternatives))


def _check_cyclic(
    lowered: Lowered, snapshot: Snapshot, node: int, original: Original, numerics: str, opset: int
) -> Tally:
    """Compare an e-node that depends on itself, written on the example's own operands, with its class."""
    written = written_on_the_original(lowered, snapshot, node)
    if written is None:
        return Tally(left_out=Counter({"an e-node depends on itself": 1}))
    copy, index = written
    fact = copy.facts[index]
    assert fact is not None
    owner = snapshot.node_class[node]
    number = snapshot.term_classes[lowered.outputs].tolist().index(owner)
    shown = list(lowered.graph.outputs)
    copy.outputs = [index]
    lowered.graph.outputs[:] = [_output("y", fact)]
    try:
        model = rebuilt_original(copy, opset)
    finally:
        lowered.graph.outputs[:] = shown
    return original.compare(model, numerics, only=number)


def rebuilt_original(lowered: Lowered, opset: int) -> onnx.ModelProto:
    """A lowered example as ONNX again, no law applied; pseudo-operators are erased."""
    snapshot, _ = saturate_terms(lowered, (), {}, nodes=5000, rounds=1, seconds=60, strict=True)
    prices = _prices(lowered, snapshot)
    choice = Choice(lowered, snapshot, original_choice(snapshot, prices), prices.computed)
    return _model(choice, opset)


def _rulesets(keys: Iterable[str]) -> list[str]:
    return [key.rsplit(".", 1)[0] for key in keys]


def compare(original: onnx.ModelProto, rewritten: onnx.ModelProto, bitwise: bool) -> Tally:
    """Assert that two models compute the same: in onnxruntime, and for floats in float64 by ONNX's reference.

    Raises:
        AssertionError: they differ.
    """
    trials = Original(original)
    tally = trials.compare(rewritten, "bitwise" if bitwise else "reassociates")
    tally.add(trials.tally)
    return tally


@dataclass(frozen=True)
class Proof:
    """What became of an attempt to prove two terms equal.

    Attributes:
        proved: they are one class.
        stop: why saturation ended: "proved", "saturated", or the limit ("nodes", "rounds", "seconds").
        nodes: e-nodes at the end.
    """

    proved: bool
    stop: str
    nodes: int


def prove(
    operands: Operands,
    left: Any,
    right: Any,
    rulesets: Iterable[str] | None = None,
    *,
    guards: bool = True,
    nodes: int = 20_000,
    seconds: float = 60,
    **limits: int,
) -> Proof:
    """Try to prove two terms equal: saturate a little, look, and saturate more; see `proves`."""
    pairs = list(zip(left, right, strict=True)) if isinstance(left, tuple) else [(left, right)]
    builder = _Builder(operands, 17)
    roots = [builder.term(side) for pair in pairs for side in pair]
    builder.lowered.outputs = roots
    deadline = time.monotonic() + seconds
    for rounds in (2, 4, 8, 16):
        snapshot, report = saturate_terms(
            builder.lowered,
            select(rulesets),
            limits,
            nodes=nodes,
            rounds=rounds,
            seconds=deadline - time.monotonic(),
            strict=True,
            guards=guards,
        )
        classes = snapshot.term_classes[roots].tolist()
        if classes[::2] == classes[1::2]:
            return Proof(True, "proved", report.nodes)
        if report.stop != "rounds":
            break
    return Proof(False, report.stop, report.nodes)


def proves(
    operands: Operands,
    left: Any,
    right: Any,
    rulesets: Iterable[str] | None = None,
    *,
    guards: bool = True,
    nodes: int = 20_000,
    **limits: int,
) -> bool:
    """Whether two terms are one class after saturation under the rulesets (default: all exact ones).

    Both are in the e-graph from the start.  Without `guards` laws fire wherever they hold.
    `left` and `right` may be tuples of terms of one length: then each pair is to be one class.
    """
    return prove(operands, left, right, rulesets, guards=guards, nodes=nodes, **limits).proved
