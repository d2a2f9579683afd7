"""What works element by element, as functions of real numbers; true is 1 and false is 0.

Functions that no law reasons about are functions of which nothing is known.  So are the division
of integers, powers and bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from typing import Any, TypeAlias

import z3
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.operators.activations import expand_activation
from egraph_opt.operators.declaration import Earlier, Scalar, Step
from egraph_opt.operators.elementwise import BINARY, UNARY, VARIADIC
from egraph_opt.semantics.activations import DEFINED, OF_EXPONENTIALS, WITH_SETTINGS, maximum, minimum
from egraph_opt.semantics.integers import held_by, ordered
from egraph_opt.semantics.taken_types import taken_by
from egraph_opt.semantics.values import (
    ElementType,
    NoMeaningError,
    Scene,
    Value,
    broadcast_index,
    broadcast_shape,
    means,
    of_type,
)

Real: TypeAlias = z3.ArithRef


def _truth(condition: z3.BoolRef) -> Real:
    return z3.If(condition, z3.RealVal(1), z3.RealVal(0))


def _holds(value: Real) -> z3.BoolRef:
    return value != 0


KNOWN_UNARY: dict[str, Callable[[Real], Real]] = {
    "Abs": lambda a: z3.If(a >= 0, a, -a),
    "Not": lambda a: _truth(a == 0),
    "Relu": lambda a: z3.If(a > 0, a, z3.RealVal(0)),
    "Sign": lambda a: z3.If(a > 0, z3.RealVal(1), z3.If(a < 0, z3.RealVal(-1), z3.RealVal(0))),
}


def _stepwise(scene: Any, steps: Sequence[Step], dtype: ElementType, a: Real) -> Real:
    """An activation that stands for several operators."""
    found: list[Real] = []
    for step in steps:
        values = []
        for each in step.operands:
            if isinstance(each, Earlier):
                values.append(found[each.step])
            else:
                values.append(scene.real_formula(each.value) if isinstance(each, Scalar) else a)
        if step.operator == "binary":
            found.append(arithmetic(scene, step.attributes[0], dtype, *values))
        else:
            whole = Value(dtype, (), lambda i, v=values[0]: v)  # type: ignore[misc]
            found.append(unary(scene, *step.attributes, whole).at(()))
    return found[-1]


KNOWN_BINARY: dict[str, Callable[[Real, Real], Real]] = {
    "And": lambda a, b: _truth(z3.And(_holds(a), _holds(b))),
    "Equal": lambda a, b: _truth(a == b),
    "Greater": lambda a, b: _truth(a > b),
    "GreaterOrEqual": lambda a, b: _truth(a >= b),
    "Less": lambda a, b: _truth(a < b),
    "LessOrEqual": lambda a, b: _truth(a <= b),
    "Or": lambda a, b: _truth(z3.Or(_holds(a), _holds(b))),
    "Xor": lambda a, b: _truth(_holds(a) != _holds(b)),
}
OF_RINGS: dict[str, Callable[[Real, Real], Real]] = {
    "Add": lambda a, b: a + b,
    "Mul": lambda a, b: a * b,
    "Sub": lambda a, b: a - b,
}
"""Arithmetic of integers, which is exact but for whole turns."""

LOGIC = ("And", "Or", "Xor")
COMPARES = frozenset("Equal Greater GreaterOrEqual Less LessOrEqual".split())


def _compared(scene: Any, name: str, a: Real, b: Real) -> Real:
    """A comparison of which is known what is so of NaN as well: a > b is b < a."""
    if name.startswith("Greater"):
        name, a, b = name.replace("Greater", "Less"), b, a
    if name == "Equal":
        return scene.without_order("binary Equal", a, b)
    return scene.function(f"binary {name}", a, b)


def mapped(function: Callable[..., Real], *xs: Value) -> Callable[[], Real | None]:
    """The one number of a function of tensors that are one number each."""

    def splat() -> Real | None:
        given = [x.splat() for x in xs]
        return None if None in given else function(*given)

    return splat


UNARY_NAMES = (*UNARY, "Clip")
TESTS = ("IsNaN", "IsInf")


def any_operator(names: Sequence[str]) -> Callable[..., Any]:
    return lambda scene, given: scene.name(names)


def any_settings(scene: Any, given: dict[str, Any]) -> Any:
    return scene.settings(given["op"])


@means("unary", op=any_operator(UNARY_NAMES), settings=any_settings)
def unary(scene: Any, op: Any, settings: Any, x: Value) -> Value:
    scene.once_named(op, lambda name: scene.among(x.dtype, taken_by(name)))

    def function(a: Real) -> Real:
        name, given = scene.name_so_far(op), scene.settings_so_far(settings)
        if name == "Neg":
            if scene.is_surely_in(x.dtype, INTEGERS):
                return -a
            return scene.negated(a)
        if name == "Abs" and not scene.compares:
            made = scene.function("unary Abs ()", a)
            scene.known(scene.function("unary Abs ()", scene.negated(a)) == made)
            return made
        if name in KNOWN_UNARY and (scene.compares or name == "Not"):
            return KNOWN_UNARY[name](ordered(scene, x.dtype, a))
        if scene.compares and isinstance(given, tuple) and name in WITH_SETTINGS:
            return WITH_SETTINGS[name](scene, dict(given), ordered(scene, x.dtype, a))
        if scene.reals and isinstance(given, tuple) and name in OF_EXPONENTIALS:
            return OF_EXPONENTIALS[name](scene, dict(given), a)
        if name in DEFINED and (scene.reals or (name == "Softsign" and scene.compares)):
            return DEFINED[name](scene, a)
        if scene.reals and isinstance(given, tuple) and (steps := expand_activation(name, given)):
            return _stepwise(scene, steps, x.dtype, a)
        return scene.function(f"unary {name} {given!r}", a)

    known = _result_type(scene, op, x, UNARY_NAMES, TESTS)
    return Value(known, x.shape, lambda i: function(x.at(i)), mapped(function, x))


def _result_type(
    scene: Any, op: Any, x: Value, names: Collection[str], questions: Collection[str]
) -> ElementType:
    """The type of a result: bool of operators that answer yes or no, that of x of the others.

    Args:
        names: of all operators that it may be.
    """

    def token() -> Any:
        name = scene.name_so_far(op)
        if name in questions:
            return TensorProto.BOOL
        return x.dtype.token() if name in names else ("result", name, x.dtype.token())

    def dtype() -> int:
        return TensorProto.BOOL if scene.spelled(op) in questions else x.dtype()

    known = ElementType(token, dtype)
    unnamed = known.token()
    scene.once_named(op, lambda name: scene.retyped(unnamed, known))
    return known


def arithmetic(scene: Any, name: str, dtype: ElementType, a: Real, b: Real) -> Real:
    """A binary operator of two numbers."""
    if scene.is_surely_in(dtype, INTEGERS) and name in OF_RINGS:  # which wrap around, in any order
        return OF_RINGS[name](a, b)
    if name == "Add":
        return scene.add(a, b)
    if name == "Mul":
        return scene.multiply(a, b)
    if name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        made = scene.without_order(f"binary {name}", a, b)
        if name != "BitwiseAnd":
            scene.known(z3.Implies(a == 0, made == b), z3.Implies(b == 0, made == a))
        return made
    if name in LOGIC or (name in KNOWN_BINARY and (scene.compares or scene.is_surely_in(dtype, INTEGERS))):
        return KNOWN_BINARY[name](ordered(scene, dtype, a), ordered(scene, dtype, b))
    if name in COMPARES:
        return _compared(scene, name, a, b)
    if name == "Sub":
        made = scene.add(a, scene.negated(b))
        scene.known(z3.Implies(b == 0, made == a))  # of -0.0 too
        return made
    if name == "Div" and z3.is_rational_value(a) and a.as_fraction() == 1 and scene.is_in(dtype, FLOATS):
        return scene.function("unary Reciprocal ()", b)
    if scene.reals and name == "Div" and scene.is_in(dtype, FLOATS):
        return scene.multiply(a, scene.function("unary Reciprocal ()", b))
    square = name == "Pow" and z3.is_rational_value(b) and b.as_fraction() == 2
    if scene.reals and square and scene.is_in(dtype, FLOATS):  # runtimes raise integers in floats
        return scene.multiply(a, a)
    if scene.compares and name == "PRelu":
        return z3.If(a >= 0, a, scene.multiply(a, b))
    of = " of integers" if scene.is_surely_in(dtype, INTEGERS) else ""  # 7 / 2 is 3 of them
    made = scene.function(f"binary {name}{of}", a, b)
    if name == "Div" or (name == "Pow" and scene.is_surely_in(dtype, FLOATS)):
        scene.known(z3.Implies(b == 1, made == a))
    if name == "Div" and scene.is_surely_in(dtype, FLOATS):
        scene.known(z3.Implies(a == 1, made == scene.function("unary Reciprocal ()", b)))
    if name == "Pow" and scene.compares and scene.is_surely_in(dtype, FLOATS):
        scene.known(z3.Implies(b == 2, made == scene.multiply(a, a)))
    return made


def _no_wider_slope(scene: Any, op: Any, x: Value, shape: Sequence[z3.ArithRef]) -> None:
    """A slope of a PRelu is broadcast against x, which is not broadcast itself."""
    if len(shape) != x.rank:
        scene.must_if_named(op, "PRelu", z3.BoolVal(False))
    elif not all(map(scene.same, shape, x.shape)):
        scene.must_if_named(op, "PRelu", z3.And([a == b for a, b in zip(shape, x.shape, strict=True)]))


@means("binary", op=any_operator(BINARY))
def binary(scene: Any, op: Any, x: Value, y: Value) -> Value:
    scene.alike(x.dtype, y.dtype)
    scene.once_named(op, lambda name: scene.among(x.dtype, taken_by(name)))
    shape = broadcast_shape(scene, [x.shape, y.shape])
    _no_wider_slope(scene, op, x, shape)

    def function(a: Real, b: Real) -> Real:
        return arithmetic(scene, scene.name_so_far(op), x.dtype, a, b)

    known = _result_type(scene, op, x, BINARY, COMPARES)
    return Value(
        known,
        shape,
        lambda i: function(x.at(broadcast_index(x, i, shape)), y.at(broadcast_index(y, i, shape))),
        mapped(function, x, y),
    )


@means("where")
def where(scene: Scene, condition: Value, x: Value, y: Value) -> Value:
    scene.alike(x.dtype, y.dtype)
    scene.among(condition.dtype, (TensorProto.BOOL,))
    shape = broadcast_shape(scene, [condition.shape, x.shape, y.shape])
    return Value(
        x.dtype,
        shape,
        lambda i: z3.If(
            _holds(condition.at(broadcast_index(condition, i, shape))),
            x.at(broadcast_index(x, i, shape)),
            y.at(broadcast_index(y, i, shape)),
        ),
    )


@means("variadic", op=any_operator(VARIADIC))
def variadic(scene: Any, op: Any, xs: Sequence[Value]) -> Value:
    scene.must(len(xs) > 0)
    for x in xs[1:]:
        scene.alike(x.dtype, xs[0].dtype)
    shape = broadcast_shape(scene, [x.shape for x in xs])
    name = scene.spelled(op)
    scene.among(xs[0].dtype, taken_by(name))
    joins: dict[str, Any] = {"Sum": scene.add, "Mean": scene.add, "Max": maximum, "Min": minimum}
    compares = name in ("Max", "Min")
    if not scene.compares:
        joins |= {n: lambda a, b, n=n: scene.function(f"variadic {n}", a, b) for n in ("Max", "Min")}

    def at(i: Any) -> Real:
        given = [x.at(broadcast_index(x, i, shape)) for x in xs]
        total: Real = reduce(joins[name], [ordered(scene, xs[0].dtype, a) if compares else a for a in given])
        return scene.multiply(total, z3.Q(1, len(xs))) if name == "Mean" else total

    return Value(xs[0].dtype, shape, at)


@means("literal", value=lambda scene, given: None)
def literal(scene: Any, value: Any) -> Value:
    if value is None:
        raise NoMeaningError("a literal that a pattern leaves open")
    dims = tuple(map(scene.formula, value.dims))
    dtype = of_type(value.dtype)
    numbers = [held_by(scene, dtype, scene.real_formula(v)) for v in value.values]
    listed = lambda: tuple(value.values)  # noqa: E731
    if len(numbers) == 1:
        one = numbers[0]
        return Value(dtype, dims, lambda i: one, lambda: one, listed, written=True)
    if len(dims) != 1:
        raise NoMeaningError("a literal of several axes")

    def at(i: Any) -> Real:
        found = numbers[-1]
        for k in range(len(numbers) - 2, -1, -1):
            found = z3.If(i[0] == k, numbers[k], found)
        return found

    return Value(dtype, dims, at, listed=listed, written=True)
