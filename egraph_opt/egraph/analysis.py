"""The e-class analysis inside egglog: types, constancy and known elements of every class.

One rule per declared operator calls the operator's inference on the facts of its operands; the merge of
`fact` is `facts.meet`.  A class whose fact is a clash shows that an unsound law fired.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.laws.statements import Equals, Rule, assign, eq, rule, union
from egraph_opt.operators.constants import content_of, output
from egraph_opt.operators.declaration import Operator, operator_named, operators
from egraph_opt.operators.expressions import Function, Sort, functions, variable
from egraph_opt.operators.expressions import declare as declare_function
from egraph_opt.operators.host import hosted
from egraph_opt.operators.tables import LISTED, known_with_facts, place_of_list, with_listed
from egraph_opt.operators.terms import FACTS_OF, append, cons, fact, facts, listed, nil, opset
from egraph_opt.operators.typing import infer_operator


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


def _analysis_rule(declared: Operator) -> Rule:
    """fact(op(x, a)) = infer(a, fact(x))."""
    whole, variables, facts_of = _term(declared.function)
    found = _variable("found", "object")
    given = [facts_of.get(k, parameter) for k, parameter in enumerate(variables)]
    return rule(
        eq(whole, declared.function(*variables)),
        *_looked_up(variables, facts_of),
        eq(found, infer_term(declared.name, opset(), *given)),
        then=assign(FACTS_OF[declared.result](whole), found),
    )


def _known_rule(function: Function, relation: Function) -> Rule:
    """A term is known with the facts of its operands."""
    whole, variables, facts_of = _term(function)
    return rule(
        eq(whole, function(*variables)),
        *_looked_up(variables, facts_of),
        then=relation(*variables, whole, *facts_of.values()),
    )


def _term(function: Function) -> tuple[Any, list[Any], dict[int, Any]]:
    """Variables for a term, for its parameters, and for the facts of its operands by parameter."""
    variables = [variable(name, sort) for name, sort in function.parameters]
    facts_of = {k: _variable(f"fact_{k}", "object") for k in function.operand_positions}
    return _variable("whole", function.result.kind), variables, facts_of


def _looked_up(variables: list[Any], facts_of: dict[int, Any]) -> Iterator[Equals]:
    """The facts of operands, from their tables: the relations of what is known are made of those."""
    for k, known in facts_of.items():
        yield eq(known, FACTS_OF[variables[k].sort.kind](variables[k]))


def _variable(name: str, kind: Any) -> Any:
    return variable(name, Sort(kind))


@hosted()
def content(known: Fact) -> str | None:
    return content_of(known)


constant_with = declare_function(
    Function(
        "constant_with", (("text", Sort("object")),), Sort("tensor"), doc="The constant that has a content."
    )
)


def analysis_rules() -> list[tuple[str, Rule]]:
    """The rules of the analysis and of list arithmetic, by name; run to a fixed point after every round."""
    x, y, b, k = (
        _variable(n, kind) for n, kind in zip("xybk", ("tensor", "tensor", "bundle", "int"), strict=True)
    )
    xs, ys, zs = (_variable(name, "tensors") for name in ("xs", "ys", "zs"))
    known = _variable("known", "object")
    rules = [
        ("lists.append_nil", rule(eq(zs, append(nil(), ys)), then=union(zs, ys))),
        ("lists.append_cons", rule(eq(zs, append(cons(x, xs), ys)), then=union(zs, cons(x, append(xs, ys))))),
        ("lists.facts_nil", rule(eq(zs, nil()), then=assign(facts(zs), ()))),
        (
            "lists.facts_cons",
            rule(eq(zs, cons(x, xs)), eq(known, prepend(x, xs)), then=assign(facts(zs), known)),
        ),
        ("analysis.output", rule(eq(y, output(b, k)), eq(known, pick(b, k)), then=assign(fact(y), known))),
        # Constants of one content are one class; otherwise (c * -1) * -1, being c, is multiplied for ever.
        ("analysis.equal_constants", rule(eq(known, fact(x)), then=union(x, constant_with(content(x))))),
    ]
    for declared in operators().values():
        if declared.name == "output":
            continue
        if declared.form is not None or declared.infer is not None or declared.expand is not None:
            rules.append((f"analysis.{declared.name}", _analysis_rule(declared)))
    return rules


def known_rules() -> list[tuple[str, Rule]]:
    """The rules that note terms with the facts of their operands, by name."""
    found = ((function, known_with_facts(function)) for function in functions().values())
    return [(f"known.{f.name}", _known_rule(f, relation)) for f, relation in found if relation is not None]


def known_rules_of_lists() -> dict[Function, tuple[str, Rule]]:
    """The rules that note terms with the operands of a list and their facts, named, by what they fill."""
    return {
        relation: (f"known.{function.name}_of_{count}", _rule_of_list(function, relation, count))
        for function in functions().values()
        for count in LISTED
        if (relation := known_with_facts(function, count)) is not None
    }


def _rule_of_list(function: Function, relation: Function, count: int) -> Rule:
    known = known_with_facts(function)
    place = place_of_list(function)
    assert known is not None and place is not None
    whole, variables, facts_of = _term(function)
    items = [_variable(f"item_{k}", "tensor") for k in range(count)]
    picked = [_variable(f"fact_of_item_{k}", "object") for k in range(count)]
    facts = with_listed(list(facts_of.values()), list(facts_of).index(place), picked)
    return rule(
        known(*variables, whole, *facts_of.values()),
        eq(variables[place], listed(*items)),
        *(eq(one, pick(facts_of[place], k)) for k, one in enumerate(picked)),
        then=relation(*with_listed(variables, place, items), whole, *facts),
    )
