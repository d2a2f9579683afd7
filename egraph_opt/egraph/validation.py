"""Snapshots out of files: nothing in them is believed before it was looked at.

What is checked is that the arrays go together, that the terms of the model are the e-nodes that they are
said to be, and that no class has nodes of contradicting types.  That laws were right to make two nodes equal
is not written in a file: what is extracted is compared with the model, as always.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.dim_parser import parse
from egraph_opt.facts.fact import ABSENT, CLASH, Fact, meet
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.typing import infer_operator


def _is_key(name: object) -> bool:
    """Whether it could be the key of a law, `ruleset.name`, of whoever's."""
    return isinstance(name, str) and 0 < name.rfind(".") < len(name) - 1 and not re.search(r"[\s(\"']", name)


def check_account(account: Mapping[str, Any]) -> None:
    """Check what a file says of a saturation, by its fields; raises ValueError where it makes no sense."""
    by_name = [account[name] for name in ("matches", "seconds", "rule_matches")]
    numbers = [account[name] for name in ("rounds", "nodes", "classes")]
    if not all(isinstance(counts, dict) for counts in by_name):
        raise ValueError("counts of laws that have no names")
    numbers += [number for counts in by_name for number in counts.values()]
    if not all(type(number) in (int, float) and number >= 0 for number in (*numbers, *account["by_round"])):
        raise ValueError("a count that is none")
    names = (*account["matches"], *account["rested"], *account["rule_matches"])
    laws = [name.split("#")[0] if isinstance(name, str) else name for name in names]
    if not all(map(_is_key, laws)):
        raise ValueError("a count of no law")
    told = (*account["dropped"], *account["raised"])
    if account["stop"] not in STOPS or not all(isinstance(text, str) for text in told):
        raise ValueError("a saturation that ended otherwise than they do")


STOPS = ("saturated", "nodes", "rounds", "seconds", "memory")
"""What ends a saturation."""


def check_snapshot(snapshot: Snapshot) -> None:
    """Check that the parts of a snapshot go together.

    Raises:
        ValueError: they do not.
    """
    for problem in _of_sizes(snapshot):
        raise ValueError(problem)
    for problem in (*_of_ranges(snapshot), *_of_nodes(snapshot), *_of_facts(snapshot)):
        raise ValueError(problem)


def _of_sizes(snapshot: Snapshot) -> Iterator[str]:
    n = snapshot.n_nodes
    for name in ("attributes", "node_class", "made_by"):
        if len(getattr(snapshot, name)) != n:
            yield f"{len(getattr(snapshot, name))} entries of {name} for {n} e-nodes"
    starts = snapshot.child_ptr
    if (
        len(starts) != n + 1
        or starts[0] != 0
        or starts[-1] != len(snapshot.child)
        or (np.diff(starts) < 0).any()
    ):
        yield "operands that do not belong to e-nodes"
    if not all(isinstance(fact, Fact) for fact in snapshot.facts):
        yield "a fact that is none"
    if not all(map(_is_key, snapshot.laws)):
        yield "a law without a name"


def _of_ranges(snapshot: Snapshot) -> Iterator[str]:
    limits = {
        "node_class": snapshot.n_classes,
        "child": snapshot.n_classes,
        "term_node": snapshot.n_nodes,
        "made_by": len(snapshot.laws) + 1,
    }
    for name, limit in limits.items():
        numbers = getattr(snapshot, name)
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
            yield f"{name} beyond the {limit} that there are"


def _of_nodes(snapshot: Snapshot) -> Iterator[str]:
    known = operators()
    for k, name in enumerate(snapshot.operator):
        declared = known.get(name) if isinstance(name, str) else None
        if declared is None:
            yield f"an operator {str(name)[:40]!r} that there is not"
            return
        attributes, count = snapshot.attributes[k], len(snapshot.children(k))
        fixed = sum(declared.kinds[p] != "tensors" for p in declared.operand_positions)
        listed = fixed < len(declared.operand_positions)
        if not isinstance(attributes, tuple) or len(attributes) != len(declared.attribute_positions):
            yield f"a {name} with other attributes than it has"
        elif count < fixed or (count > fixed and not listed):
            yield f"a {name} of {count} operands"
    empty = set(range(snapshot.n_classes)).difference(snapshot.node_class.tolist())
    if empty.intersection(snapshot.child.tolist()):
        yield "operands that nothing computes"


def _of_facts(snapshot: Snapshot) -> Iterator[str]:
    for fact in snapshot.facts:
        dims, elements = fact.shape or (), (*(fact.value or ()), *(fact.data or ()))
        if type(fact.dtype) is not int or type(fact.const) is not bool or type(dims) is not tuple:
            yield "a fact of another form"
        elif not all(dim is None or _is_size(dim) for dim in dims):
            yield "a dim that is none"
        elif not all(isinstance(element, (int, float)) or _is_size(element) for element in elements):
            yield "an element that is no number"


def _is_size(value: object) -> bool:
    """Whether it is a number of 0 or more, or an expression for one."""
    if not isinstance(value, str):
        return type(value) is int and value >= 0
    try:
        parse(value)
    except (ValueError, ArithmeticError, RecursionError):
        return False
    return True


def _clashes(snapshot: Snapshot, node: int, opset: int) -> bool:
    """Whether an e-node has another type than its class."""
    declared, attributes = operators()[snapshot.operator[node]], snapshot.attributes[node]
    if declared.result != "tensor" or not (declared.form or declared.infer or declared.expand):
        return False
    operands = tuple(snapshot.facts[c] for c in snapshot.children(node))
    if any(fact.dtype < 0 and fact != ABSENT for fact in operands):
        return True
    try:
        found = infer_operator(declared.name, opset, attributes, operands)
    except Exception as error:  # of an operator's own function, on attributes of any kind
        raise ValueError(f"a {declared.name} of attributes that it cannot have") from error
    owner = snapshot.facts[int(snapshot.node_class[node])]
    return isinstance(found, Fact) and meet(found, owner).dtype == CLASH.dtype


def check_terms(snapshot: Snapshot, lowered: Lowered) -> None:
    """Check that a snapshot has the terms of a graph as e-nodes, where it says, and types that fit.

    Raises:
        ValueError: it has others.
    """
    for node, name in enumerate(snapshot.operator):
        if _clashes(snapshot, node, lowered.opset):
            raise ValueError(f"a {name} whose type is not that of its class")
    if len(snapshot.term_node) != len(lowered.terms):
        raise ValueError(f"{len(snapshot.term_node)} terms for {len(lowered.terms)} of the model")
    classes = snapshot.term_classes.tolist()
    for index, term in enumerate(lowered.terms):
        node = int(snapshot.term_node[index])
        operands: list[int] = []
        for item in term.operands:
            operands.extend(classes[k] for k in item) if isinstance(item, tuple) else operands.append(
                classes[item]
            )
        same = snapshot.operator[node] == term.operator and snapshot.children(node) == operands
        if not same or repr(snapshot.attributes[node]) != repr(term.attributes):
            raise ValueError(f"term {index} of the model is another one there")
        known = lowered.facts[index]
        if known is not None and meet(known, snapshot.facts[classes[index]]).dtype == CLASH.dtype:
            raise ValueError(f"term {index} of the model has another type there")
