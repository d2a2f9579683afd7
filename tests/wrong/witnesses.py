"""What a wrong law makes of its witness, and whether that is something else, as onnxruntime computes it.

Statements are matched as they are written, without an e-graph: a wrong law has to go wrong in one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from egraph_opt.check.batches import lowered_at
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.facts.fact import ABSENT, CLASH, Fact, meet
from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Law
from egraph_opt.model.left_out import lacks_an_operand
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, Literal, operators
from egraph_opt.operators.expressions import Expression, Function
from egraph_opt.pipeline import saturate

from . import WrongLaw
from .matching import Matching, Terms, attributes_of, operands_of, parts_of

# --- computing --------------------------------------------------------------------------------------------


@dataclass
class Writer:
    """Writes terms as ONNX nodes."""

    terms: Terms
    names: dict[Expression, str] = field(default_factory=dict)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)

    def name(self, term: Expression) -> str:
        if term not in self.names:
            self.names[term] = self._write(term)
        return self.names[term]

    def _write(self, term: Expression) -> str:
        head = term.head.name
        if head == "leaf":
            value = self.terms.g.values[term.arguments[0].head.value]
            if value.const_value is not None:
                array = value.const_value.numpy()
                self.initializers.append(onnx.numpy_helper.from_array(array, value.name))
            return str(value.name)
        if head == "literal":
            return self.constant(term.arguments[0].head.value)
        if head == "output":
            self.name(term.arguments[0])
            return f"{self.names[term.arguments[0]]}_{term.arguments[1].head.value}"
        facts = self.terms.operands(term)
        declared = operators()[head]
        form = None if declared.form is None else declared.form(self.terms.opset, attributes_of(term), facts)
        if form is None or form.domain == PSEUDO_DOMAIN:
            raise NotImplementedError(f"{term} cannot be written in opset {self.terms.opset}")
        operands = list(operands_of(term))
        inputs = [self._input(item, operands) for item in form.inputs]
        made = f"y{len(self.nodes)}"
        count = len(self.terms.fact(term)) if declared.result == "bundle" else 0
        outputs = [f"{made}_{k}" for k in range(count)] or [made]
        attributes = dict(form.attributes)
        self.nodes.append(helper.make_node(form.op_type, inputs, outputs, domain=form.domain, **attributes))
        return made

    def _input(self, item: Any, operands: list[Expression]) -> str:
        if item is None or (isinstance(item, int) and self.terms.fact(operands[item]) == ABSENT):
            return ""
        return self.constant(item) if isinstance(item, Literal) else self.name(operands[item])

    def constant(self, literal: Literal) -> str:
        dtype = helper.tensor_dtype_to_np_dtype(literal.dtype)
        with np.errstate(over="ignore"):
            values = np.array(literal.values).astype(dtype)
        count = int(np.prod(literal.dims))
        array = np.resize(values, count).reshape(literal.dims) if count else np.zeros(literal.dims, dtype)
        name = f"l{len(self.initializers)}"
        self.initializers.append(onnx.numpy_helper.from_array(array, name))
        return name


def concrete(witness: Any, opset: int) -> tuple[list[Expression], Terms]:
    """The terms of a witness, in which nothing is left to the host."""
    terms = Terms(Operands(np.random.default_rng(0)), opset)
    made = witness(terms.g)
    roots = made if isinstance(made, tuple) else (made,)
    plain = Matching(terms, tuple(part for root in roots for part in parts_of(root)))
    return [plain.value(root, {}) for root in roots], terms


def session_of(term: Expression, terms: Terms) -> Any:
    """A term as onnxruntime runs it, node by node."""
    model = model_of([term], terms)
    if any(map(lacks_an_operand, model.graph.node)):
        raise ValueError("an operand is missing, for which onnxruntime looks where none is")
    return plain_session(model.SerializeToString(), plain_options(threads=1))


FLOAT_TABLES = (
    (0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 0.25, 7.5, -8.0, 3.0),
    (11.0, -120.0, 95.5, 0.125, -4.75, 1000.0, -2000.5, 6.0, 0.0, -7.25, 1e4),
)
FINITE_TABLE = (1e-30, -1e-30, 1e20, -1e20, 3e38, -3e38, 1.5)
SPECIAL_TABLE = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.5, 1e-45, 3e38)


def tables(law: Law, values: tuple[float, ...] | None) -> tuple[tuple[float, ...], ...]:
    """What goes into inputs, as the class of a law allows."""
    if values is not None:
        return (values,)
    more = {"bitwise": (FINITE_TABLE, SPECIAL_TABLE), "finite": (FINITE_TABLE,)}.get(law.numerics, ())
    return (*FLOAT_TABLES, *more)


def feed(dims: tuple[int, ...], dtype: int, table: tuple[float, ...], k: int) -> Any:
    """An input with the elements of a table in turn, shifted by its number."""
    count = int(np.prod(dims))
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    cycle = np.roll(np.array(table, dtype=object), -k)
    flat = np.resize(cycle, count) if count else np.zeros(0, dtype=object)
    if np.issubdtype(kind, np.integer) or kind == np.bool_:
        limits = np.iinfo(kind) if kind != np.bool_ else None
        whole = [0 if v != v or v in (np.inf, -np.inf) else int(v) for v in flat]
        if limits is not None:
            whole = [v if limits.min < 0 else abs(v) for v in whole]
            whole = [min(max(v, int(limits.min)), int(limits.max)) for v in whole]
        elif kind == np.bool_:
            whole = [v % 2 for v in whole]
        return np.array(whole, dtype=kind).reshape(dims)
    with np.errstate(over="ignore"):
        return np.array([float(v) for v in flat]).astype(kind).reshape(dims)


def feeds_of(entry: WrongLaw, terms: Terms, table: tuple[float, ...]) -> dict[str, Any]:
    """The inputs of a witness with the elements of a table."""
    sizes = entry.sizes
    return {
        str(v.name): feed(tuple(sizes.get(str(d), d) for d in f.shape or ()), f.dtype, table, k)  # type: ignore[misc, arg-type]
        for k, (v, f) in enumerate(zip(terms.g.values, terms.g.facts, strict=True))
        if v.const_value is None and f.dtype != TensorProto.UNDEFINED
    }


def differ(one: Any, other: Any, law: Law) -> str:
    """How two results differ by more than the class of a law allows; "" if they do not."""
    numerics = law.numerics
    if one.dtype != other.dtype:
        return f"{one.dtype} is not {other.dtype}"
    if one.shape != other.shape:
        return f"{one.shape} is not {other.shape}"
    if one.dtype.kind != "f":
        unequal = one != other
    elif numerics == "bitwise":
        same = (one == other) & (np.signbit(one) == np.signbit(other))
        unequal = ~(same | (np.isnan(one) & np.isnan(other)))
    else:
        unequal = np.isfinite(one) & ~np.isfinite(other)
        both = np.isfinite(one) & np.isfinite(other)
        x, y = np.where(both, one, 0).astype(float), np.where(both, other, 0).astype(float)
        scale = np.maximum(abs(x), abs(y))
        if numerics == "reassociates":  # sums may have lost the digits of what they are made of
            scale = np.maximum(scale, np.max(scale, initial=0) * 1e-2)
        if law.bound is not None:
            scale = np.full_like(scale, np.max(abs(x), initial=0))
        unequal |= abs(x - y) > scale * (law.bound or (2e-6 if numerics == "finite" else 1e-4))
    if not unequal.any():
        return ""
    at = tuple(int(k) for k in np.argwhere(unequal)[0])
    return f"at {list(at)} {one[at]} is not {other[at]}"


def reference_of(term: Expression, terms: Terms) -> Any:
    """A term as ONNX's reference runs it."""
    return ReferenceEvaluator(model_of([term], terms))


def run(session: Any, feeds: dict[str, Any]) -> Any:
    evaluated = isinstance(session, ReferenceEvaluator)
    names = set(session.input_names) if evaluated else {i.name for i in session.get_inputs()}
    return session.run(None, {name: array for name, array in feeds.items() if name in names})[0]


def compared(entry: WrongLaw, terms: Terms, left: Expression, right: Expression) -> str:
    """How two terms differ, "" if they do not; the left one has to run.

    Of float16, onnxruntime keeps what is between two nodes in float32: the reference has a say as well.
    """
    halves = any(fact.dtype == TensorProto.FLOAT16 for fact in terms.g.facts)
    ways = (session_of, reference_of) if halves else (session_of,)
    return next(filter(None, (_compared(entry, terms, left, right, way) for way in ways)), "")


def _compared(entry: WrongLaw, terms: Terms, left: Expression, right: Expression, way: Any) -> str:
    law = entry.law
    before, known = way(left, terms), terms.fact(right)
    if isinstance(known, Fact) and meet(terms.fact(left), known) is CLASH:
        return "the right side has another type, or none"
    if any(terms.fact(part) == CLASH for part in parts_of(right) if isinstance(part.head, Function)):
        return "a part of the right side has no type"
    try:
        after = way(right, terms)
    except NotImplementedError:
        return ""  # the engine never writes it
    except Exception as error:
        return f"refused: {error}"
    for table in tables(law, entry.values):
        feeds = feeds_of(entry, terms, table)
        one = run(before, feeds)
        try:
            other = run(after, feeds)
        except Exception as error:
            return f"refused: {error}"
        told = differ(one, other, law)
        if told:
            return told
    return ""


def shown(entry: WrongLaw) -> tuple[int, str]:
    """How often a law fires on its witness, and how the sides differ there; "" if they do not."""
    roots, terms = concrete(entry.witness, entry.opset)
    there = tuple(dict.fromkeys(part for root in roots for part in parts_of(root)))
    for root in roots:
        if terms.fact(root).dtype <= 0:
            return 0, "the witness has no type"
    pairs = list(Matching(terms, there).sides(entry.law))
    told = (compared(entry, terms, left, right) for left, right in pairs if left != right)
    return len(pairs), next(filter(None, told), "")


# --- in an e-graph ----------------------------------------------------------------------------------------


def model_of(roots: Sequence[Expression], terms: Terms) -> onnx.ModelProto:
    """Terms as the outputs of one model, with all that is known of their types."""
    writer = Writer(terms)
    outputs = []
    for k, root in enumerate(roots):
        writer.nodes.append(helper.make_node("Identity", [writer.name(root)], [f"result{k}"]))
        outputs.append(helper.make_empty_tensor_value_info(f"result{k}"))
    inputs = [
        helper.make_tensor_value_info(str(v.name), f.dtype, f.shape)
        for v, f in zip(terms.g.values, terms.g.facts, strict=True)
        if v.const_value is None
    ]
    graph = helper.make_graph(writer.nodes, "witness", inputs, outputs, writer.initializers)
    others = sorted({node.domain for node in writer.nodes} - {""})
    imports = [helper.make_opsetid("", terms.opset), *(helper.make_opsetid(each, 1) for each in others)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def saturation_of(law: Law, witness: Any, opset: int, rounds: int = 1) -> SaturationReport:
    """What a law does in the e-graph of its witness: as it is read, or as it is where reading folds it."""
    for lowered in _lowered(witness, opset):
        report = saturate_terms(lowered, (law,), {}, nodes=5_000, rounds=rounds, seconds=60)[1]
        if report.matches or report.dropped:
            break
    return report


def _lowered(witness: Any, opset: int) -> Iterator[Lowered]:
    """A witness as a model is read, which none with operators of targets is, and then as examples are, in
    which nothing is folded."""
    roots, terms = concrete(witness, opset)
    model = model_of(roots, terms)
    if not any(node.domain for node in model.graph.node):
        region = saturate(model, rewrites=[]).region
        assert region is not None
        yield region.lowered
    yield lowered_at(replace(terms.g.fires(tuple(roots)), opset=opset))
