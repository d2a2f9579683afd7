"""The e-class analysis inside egglog: types, constancy and known elements of every class.

One rule per declared operator calls the operator's inference on the facts of its operands; the merge of
`fact` is `facts.meet`.  A class whose fact is a clash shows that an unsound law fired.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import egglog
from egglog import PyObject, eq, i64, ne, rule, set_, union, var

from egraph_opt.facts.fact import ABSENT, CLASH, UNKNOWN, Fact
from egraph_opt.inference.core import infer_node
from egraph_opt.operators.constants import literal_fact, output
from egraph_opt.operators.declaration import (
    PSEUDO_DOMAIN,
    Earlier,
    Literal,
    OnnxForm,
    Operator,
    Scalar,
    Step,
    operator_named,
    operators,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import (
    Bundle,
    Tensor,
    Tensors,
    append,
    bundle_facts,
    bundle_node,
    cons,
    fact,
    facts,
    limit,
    list_node,
    nil,
    node,
    opset,
)


def form_facts(form: OnnxForm, operands: tuple[Fact, ...]) -> tuple[Fact | None, ...]:
    """The facts of a form's ONNX inputs."""
    answer: list[Fact | None] = []
    for item in form.inputs:
        if item is None:
            answer.append(None)
        elif isinstance(item, Literal):
            answer.append(literal_fact(item))
        else:
            answer.append(None if operands[item] == ABSENT else operands[item])
    return tuple(answer)


def infer_operator(name: str, opset: int, attributes: tuple[Any, ...], operands: tuple[Fact, ...]) -> Any:
    """The fact of an operator's result (a tuple of them for a bundle) from its operands' facts."""
    return _infer_operator(name, opset, attributes, operands, repr(attributes))


@lru_cache(maxsize=1 << 17)
def _infer_operator(
    name: str, opset: int, attributes: tuple[Any, ...], operands: tuple[Fact, ...], written: str
) -> Any:
    """`written` tells attributes apart that are equal, and not the same: 0.0 and -0.0."""
    declared = operator_named(name)
    if any(f.dtype == CLASH.dtype for f in operands):
        return UNKNOWN
    if declared.infer is not None:
        return declared.infer(opset, attributes, operands)
    form = declared.form(opset, attributes, operands) if declared.form is not None else None
    if declared.expand is not None and (form is None or form.domain == PSEUDO_DOMAIN):
        steps = declared.expand(attributes)
        return UNKNOWN if steps is None else (*operands[:1], *infer_steps(steps, opset, operands))[-1]
    if form is None:
        return UNKNOWN
    return infer_node(form.op_type, form.domain, form.attributes, form_facts(form, operands), 1, opset=opset)[
        0
    ]


def infer_steps(steps: Sequence[Step], opset: int, operands: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts of what the steps of a pseudo-operator compute."""
    found: list[Fact] = []
    for step in steps:
        given = step_operands(step, operands, found)
        found.append(infer_operator(step.operator, opset, step.attributes, given))
    return tuple(found)


def step_operands(step: Step, operands: Sequence[Fact], earlier: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts of a step's operands.

    Args:
        operands: of the pseudo-operator.
        earlier: of the results of the steps before.
    """
    given: list[Fact] = []
    for item in step.operands:
        if isinstance(item, Scalar):
            dtype = operands[0].dtype
            given.append(literal_fact(item.literal(dtype)) if dtype > 0 else UNKNOWN)
        else:
            given.append(earlier[item.step] if isinstance(item, Earlier) else operands[item])
    return tuple(given)


@hosted(default=UNKNOWN)
def infer_term(name: str, opset: int, *parameters: Any) -> Any:
    """`infer_operator` on parameters as the constructor has them: attributes and facts interleaved."""
    declared = operator_named(name)
    attributes = tuple(parameters[k] for k in declared.attribute_positions)
    operands: list[Fact] = []
    for k in declared.operand_positions:
        if declared.kinds[k] == "tensors":
            operands.extend(parameters[k])
        else:
            operands.append(parameters[k])
    return infer_operator(name, opset, attributes, tuple(operands))


@hosted(default=())
def prepend(first: Fact, rest: tuple[Fact, ...]) -> tuple[Fact, ...]:
    return (first, *rest)


@hosted(default=UNKNOWN)
def pick(of_bundle: tuple[Fact, ...], index: int) -> Fact:
    return of_bundle[index]


_SORTS: dict[str, Any] = {
    "tensor": Tensor,
    "tensors": Tensors,
    "bundle": Bundle,
    "string": egglog.String,
    "int": egglog.i64,
    "object": PyObject,
}


def _analysis_rule(declared: Operator) -> Any:
    """fact(op(x, a)) = infer(a, fact(x))."""
    variables = [var(name, _SORTS[kind]) for name, kind in zip(declared.names, declared.kinds, strict=True)]
    conditions: list[Any] = []
    arguments: list[Any] = []
    for variable, name, kind in zip(variables, declared.names, declared.kinds, strict=True):
        if kind in ("tensor", "tensors"):
            known = var(f"{name}__fact", PyObject)
            conditions.append(eq(known).to(fact(variable) if kind == "tensor" else facts(variable)))
            arguments.append(known)
        elif kind == "string":
            arguments.append(PyObject.from_string(variable))
        elif kind == "int":
            arguments.append(PyObject.from_int(variable))
        else:
            arguments.append(variable)
    whole: Any = var("whole__", _SORTS[declared.result])
    number = var("opset__", i64)
    inferred = PyObject(infer_term)(PyObject(declared.name), PyObject.from_int(number), *arguments)
    target = bundle_facts(whole) if declared.result == "bundle" else fact(whole)
    return rule(
        eq(whole).to(declared.function(*variables)),
        eq(number).to(opset()),
        *conditions,
        name=f"analysis.{declared.name}",
    ).then(set_(target).to(inferred))


@hosted()
def content(known: Fact) -> str | None:
    """A text that constants of the same type, shape and elements share; None where these are not known."""
    if not known.const or not known.is_static or known.dtype <= 0:
        return None
    if known.splat is not None:
        return repr((known.dtype, known.shape, known.splat))
    if known.data is None or any(isinstance(element, str) for element in known.data):
        return None
    return repr((known.dtype, known.shape, known.data))


@egglog.function(egg_fn="constant_with")
def constant_with(text: PyObject) -> Tensor:
    """The constant that has a content."""


def equal_constants() -> Any:
    """Constants of one content are one class; otherwise (c * -1) * -1, being c, is multiplied for ever."""
    x, known, text = var("x", Tensor), var("known", PyObject), var("text", PyObject)
    written = (eq(text).to(PyObject(content)(known)), ne(text).to(PyObject(None)))
    found = rule(eq(known).to(fact(x)), *written, name="analysis.equal_constants")
    return found.then(union(x).with_(constant_with(text)))


def analysis_rules() -> list[Any]:
    """The rules of the analysis and of list arithmetic; run to a fixed point after every round."""
    x, xs, ys, whole = var("x", Tensor), var("xs", Tensors), var("ys", Tensors), var("whole", Tensors)
    first, rest, b, k = var("first", PyObject), var("rest", PyObject), var("b", Bundle), var("k", i64)
    y = var("y", Tensor)
    rules = [
        rule(eq(whole).to(append(nil(), ys)), name="lists.append_nil").then(union(whole).with_(ys)),
        rule(eq(whole).to(append(cons(x, xs), ys)), name="lists.append_cons").then(
            union(whole).with_(cons(x, append(xs, ys)))
        ),
        rule(eq(whole).to(nil()), name="lists.facts_nil").then(set_(facts(whole)).to(PyObject(()))),
        rule(
            eq(whole).to(cons(x, xs)), eq(first).to(fact(x)), eq(rest).to(facts(xs)), name="lists.facts_cons"
        ).then(set_(facts(whole)).to(PyObject(prepend)(first, rest))),
        rule(eq(y).to(output(b, k)), eq(rest).to(bundle_facts(b)), name="analysis.output").then(
            set_(fact(y)).to(PyObject(pick)(rest, PyObject.from_int(k)))
        ),
        equal_constants(),
    ]
    for declared in operators().values():
        if declared.name == "output":
            continue
        if declared.form is not None or declared.infer is not None or declared.expand is not None:
            rules.append(_analysis_rule(declared))
    return rules


def table_rules() -> list[Any]:
    """Rules that only make the host's tables exist: egglog knows a function once a rule mentions it."""
    b, k, y, whole = var("b", Bundle), var("k", i64), var("y", Tensor), var("whole", Tensors)
    s, z = var("s", egglog.String), var("z", i64)
    rules = [
        rule(eq(y).to(node(k)), name="tables.node").then(union(y).with_(y)),
        rule(eq(b).to(bundle_node(k)), name="tables.bundle").then(union(b).with_(b)),
        rule(eq(whole).to(list_node(k)), name="tables.list").then(union(whole).with_(whole)),
        rule(eq(z).to(limit(s)), name="tables.limit").then(set_(limit(s)).to(z)),
    ]
    for declared in operators().values():
        variables = [var(n, _SORTS[kind]) for n, kind in zip(declared.names, declared.kinds, strict=True)]
        result = var("whole__", _SORTS[declared.result])
        rules.append(
            rule(
                eq(result).to(declared.function(*variables)),
                eq(z).to(declared.made_by(*variables)),
                name=f"tables.{declared.name}",
            ).then(set_(declared.made_by(*variables)).to(z))
        )
    return rules
