"""Tables, relations and shorthands of laws, and the relation of what is known of terms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from egraph_opt.operators.expressions import (
    OPERANDS,
    Function,
    Merge,
    Sort,
    declare,
    declared_functions,
    signature,
)

Parameters = tuple[tuple[str, Sort], ...]
T = TypeVar("T")

LISTED = (1, 2)
"""So many operands in a list there are relations of with the facts of each.

Laws ask for longer lists so seldom that filling their relation takes as long as the joins that it saves.
"""


def declare_known(function: Function) -> None:
    """Declare the relations of a function's terms with the facts of their operands.

    Their columns are the function's parameters, the term's class, and a fact for each operand; where a list
    of operands has so many (`LISTED`), these take its place.  The analysis fills them; facts that have been
    refined since stay there.  See `egraph.companions` for what they serve.
    """
    if function.operand_positions:
        _declare_relation(function, f"known_{function.name}", function.parameters)
    if place_of_list(function) is not None:
        for count in LISTED:
            _declare_relation(function, f"known_{function.name}_of_{count}", parameters_of(function, count))


def _declare_relation(function: Function, name: str, parameters: Parameters) -> None:
    operands = [name for name, sort in parameters if sort.kind in OPERANDS]
    facts = [(f"fact_of_{name}", Sort("object")) for name in operands]
    declare(Function(name, (*parameters, ("whole", function.result), *facts), Sort("unit")))


def place_of_list(function: Function) -> int | None:
    """Which parameter is the list of operands; None where there is none, or several."""
    places = [k for k, (_, sort) in enumerate(function.parameters) if sort.kind == "tensors"]
    return places[0] if len(places) == 1 else None


def parameters_of(function: Function, count: int) -> Parameters:
    """The parameters of a function with so many operands in place of the list."""
    place = place_of_list(function)
    assert place is not None
    name, _ = function.parameters[place]
    items = [(f"{name}_{k}", Sort("tensor")) for k in range(count)]
    return with_listed(function.parameters, place, items)


def with_listed(whole: Sequence[T], place: int, items: Iterable[T]) -> tuple[T, ...]:
    """What belongs to the operands of a list, in place of what belongs to the list."""
    return (*whole[:place], *items, *whole[place + 1 :])


def known_with_facts(function: Function, listed: int | None = None) -> Function | None:
    """The relation of a function's terms with the facts of their operands, where there is one.

    Args:
        listed: how many operands there are in the list, which are columns by themselves.
    """
    return declared_functions.get(f"known_{function.name}" + ("" if listed is None else f"_of_{listed}"))


def table(*, merge: Merge = "first") -> Callable[[Callable[..., Any]], Function]:
    """Declare a table or relation of laws from a stub; see `auxiliary` for the rules that fill it.

    A stub that returns `Unit` is a relation.  `merge` says which value stays where a key gets two: the
    "first", the "last", the "max", or what a host function answers of both.  A stub with ``merge="new"``
    returns a new class for every key, which a rule defines.
    """

    def register(stub: Callable[..., Any]) -> Function:
        parameters, result = signature(stub)
        kept = None if result.kind == "unit" or merge == "new" else merge
        return declare(Function(_name_of(stub), parameters, result, kept, inspect.getdoc(stub) or ""))

    return register


def shorthand(stub: Callable[..., Any]) -> Function:
    """Declare a term that stands for any of several operators, for laws that hold of all of them.

    An auxiliary says which, by `equal(operator, shorthand)`, or by `rewrite` where no law writes it.  Terms
    of operators are then found under both names, and the operators that a law writes by a shorthand are
    stamped with that law.
    """
    parameters, result = signature(stub)
    name = _name_of(stub)
    declare(Function(f"made_by_{name}", parameters, Sort("int"), "first"))
    function = Function(name, parameters, result, None, inspect.getdoc(stub) or "", shorthand=True)
    declare_known(function)
    return declare(function)


def _name_of(stub: Callable[..., Any]) -> str:
    return f"{stub.__module__.removeprefix('egraph_opt.')}.{stub.__name__}".replace(".", "_")
