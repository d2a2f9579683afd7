# ruff: noqa
"""The old spelling of laws, until all are moved."""

from typing import Any

from egraph_opt.operators.host import HostFunction, host_function
from egraph_opt.laws.statements import Assignment, Equals, Differs, Rule, Union, flattened
from egraph_opt.laws.statements import guard, rule as _rule, rewrite
from egraph_opt.operators.expressions import (
    Attribute,
    Int,
    Sort,
    String,
    Tensor,
    Tensors,
    Unit,
    constant,
    coerced,
    declare,
    Function,
    signature,
    sort_of,
    variable,
)
from egraph_opt.operators.expressions import Expression

i64 = Int
StringLike = String
i64Like = Int


class PyObjectMeta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, Attribute)


class PyObject(metaclass=PyObjectMeta):
    def __new__(cls, value: Any) -> Any:
        if isinstance(value, HostFunction):
            return value
        if callable(value):
            return host_function(value)
        return constant(value, Sort("object"))


class _To:
    def __init__(self, make, left):
        self.make, self.left = make, left

    def to(self, right: Any) -> Any:
        return self.make(self.left, right)


def _two(make):
    def f(left, right):
        if not isinstance(left, Expression):
            left = coerced(left, right.sort, "eq")
        return make(left, coerced(right, left.sort, "eq"))

    return f


def eq(left: Any) -> _To:
    return _To(_two(Equals), left)


def ne(left: Any) -> _To:
    return _To(_two(Differs), left)


def set_(entry: Any) -> _To:
    return _To(lambda e, v: Assignment(e, coerced(v, e.sort, "set")), entry)


def holds(function: Any, *arguments: Any) -> Any:
    return host_function(function)(*arguments)


def let(var: Any, function: Any, *arguments: Any) -> Any:
    call = host_function(function)(*arguments)
    return (Equals(var, call), Differs(var, constant(None, Sort("object"))))


class Deduction: ...


class Closure(Rule): ...


def closure(*facts: Any, then: Any) -> Any:
    return Closure(flattened(facts), flattened([then]))


rule = _rule
Equal = Union


def var(name: str, sort: Any) -> Any:
    return variable(name, sort_of(PYTHON.get(sort, sort)))


PYTHON = {PyObject: Any}


def function(*, egg_fn: str, merge: Any = None):
    def register(stub):
        parameters, result = signature(stub)
        kept = merge
        if merge is not None and not isinstance(merge, str):
            name = merge.__code__.co_names
            if "max" in name:
                kept = "max"
            elif "PyObject" in name:
                kept = merge.__globals__[[n for n in name if n != "PyObject"][0]]
            else:
                kept = "last" if merge(1, 2) == 2 else "first"
        return declare(
            Function(egg_fn, parameters, result, kept if result.kind != "unit" else None, stub.__doc__ or "")
        )

    return register
