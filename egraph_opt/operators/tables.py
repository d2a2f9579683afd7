"""Tables, relations and shorthands of laws, and the relation of what is known of terms."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from egraph_opt.operators.expressions import Function, Merge, Sort, declare, declared_functions, signature


def declare_known(function: Function) -> None:
    """Declare the relation of a function's terms with the facts of their operands.

    Its columns are the function's parameters, the term's class, and a fact for each operand.  The analysis
    fills it; facts that have been refined since stay in it.  See `egraph.companions` for what it serves.
    """
    facts = [(f"fact_{k}", Sort("object")) for k in function.operand_positions]
    if facts:
        parameters = (*function.parameters, ("whole", function.result), *facts)
        declare(Function(f"known_{function.name}", parameters, Sort("unit")))


def known_with_facts(function: Function) -> Function | None:
    """The relation of a function's terms with the facts of their operands, where there is one."""
    return declared_functions.get(f"known_{function.name}")


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
