"""What adds up, or picks, elements along axes: reductions, products, softmax, windows and normalizations."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import z3
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.operators.linear import GemmSettings
from egraph_opt.operators.reductions import REDUCTIONS
from egraph_opt.semantics.movement import any_axis
from egraph_opt.semantics.taken_types import taken_by
from egraph_opt.semantics.values import (
    WIDE_EXP,
    WIDE_LOG,
    Index,
    Scene,
    Value,
    broadcast_index,
    broadcast_shape,
    choosers,
    means,
    number,
    of_type,
)


def any_axes(scene: Scene, given: dict[str, Any]) -> tuple[int, ...]:
    rank = given["x"].rank
    sets = [axes for count in range(1, rank + 1) for axes in combinations(range(rank), count)]
    return sets[scene.choose(len(sets))]


def any_flag(scene: Scene, given: dict[str, Any]) -> int:
    return scene.choose(2)


def _reciprocal(scene: Scene, a: z3.ArithRef) -> z3.ArithRef:
    return scene.function("unary Reciprocal ()", a)


def real_product(dims: Index) -> z3.ArithRef:
    """How many elements there are, as a real number that is written alike for all orders of the dims."""
    factors: list[z3.ArithRef] = []
    for dim in dims:
        factors += dim.children() if z3.is_mul(dim) else [dim]
    result: z3.ArithRef = z3.RealVal(1)
    for factor in sorted(factors, key=str):
        result = result * z3.ToReal(factor)
    return z3.simplify(result)


def sum_in(scene: Any, operator: str, bounds: Index, body: Any) -> z3.ArithRef:
    """A sum; but in the reals, each operator has an order of its own in which it adds up."""
    return scene.fold("sum" if scene.reals else f"sum of {operator}", bounds, body)


def mean(scene: Any, bounds: Index, body: Any) -> z3.ArithRef:
    """The mean of what a body is over a box."""
    count = real_product(bounds)
    return scene.multiply(sum_in(scene, "mean", bounds, body), _reciprocal(scene, count))


def _of_sum(inside: Any, outside: str = "") -> Any:
    """A function of the sum of a function of each element."""

    def reduced(scene: Any, bounds: Index, element: Any) -> z3.ArithRef:
        total = scene.fold("sum", bounds, lambda k: inside(scene, element(k)))
        return scene.function(outside, total) if outside else total

    return reduced


def _size(scene: Any, a: z3.ArithRef) -> z3.ArithRef:
    return z3.If(a >= 0, a, -a)


def _square(scene: Any, a: z3.ArithRef) -> z3.ArithRef:
    return scene.multiply(a, a)


DEFINED = {
    "ReduceL1": _of_sum(_size),
    "ReduceL2": _of_sum(_square, "unary Sqrt ()"),
    "ReduceLogSum": _of_sum(lambda scene, a: a, "unary Log ()"),
    "ReduceLogSumExp": _of_sum(lambda scene, a: scene.function(WIDE_EXP, a), WIDE_LOG),
    "ReduceMean": mean,
    "ReduceSum": _of_sum(lambda scene, a: a),
    "ReduceSumSquare": _of_sum(_square),
}
"""Reductions in terms of sums, of floats; the others are of their own kind."""


EXTREMES = ("ReduceMax", "ReduceMin")
"""Reductions that answer the same in any order, and so along any axes."""


def _kind_of_none(scene: Any, name: str, dtype: Any, bounds: Index) -> str:
    """A fold, with what it goes by where there is nothing to fold: its type, which has infinities or not."""
    if scene.reals and scene.is_surely_in(dtype, FLOATS):
        return f"{name} of floats"
    nothing = not all(scene.within(b, number(1), b + 1) for b in bounds)
    return f"{name} of {scene.root(dtype)}" if nothing else name


@means("reduce", kind=lambda scene, given: scene.name(REDUCTIONS))
def reduce(scene: Any, kind: Any, x: Value, axes: tuple[int, ...], keepdims: int) -> Value:
    scene.must(all(axis < x.rank for axis in axes) and len(axes) > 0)
    scene.once_named(kind, lambda name: scene.among(x.dtype, taken_by(name)))
    bounds = [x.shape[axis] for axis in axes]
    kept = [axis for axis in range(x.rank) if axis not in axes]
    shape = tuple(number(1) if a in axes else d for a, d in enumerate(x.shape) if keepdims or a not in axes)

    def at(i: Index) -> z3.ArithRef:
        fixed = dict(zip(kept, ([i[a] for a in kept] if keepdims else i), strict=True))

        def element(k: Index) -> z3.ArithRef:
            folded = dict(zip(axes, k, strict=True))
            return x.at([folded[a] if a in folded else fixed[a] for a in range(x.rank)])

        name = scene.name_so_far(kind)
        if name not in REDUCTIONS:  # any of them
            order = "" if scene.reals else f" along {axes} of {x.rank}"
            return scene.fold(f"{name} of {scene.root(x.dtype)}{order}", bounds, element)
        if not scene.reals and name not in EXTREMES and not scene.is_surely_in(x.dtype, INTEGERS):
            return scene.fold(f"{name} of axes {axes} of {x.rank}", bounds, element)
        if not scene.reals or name not in DEFINED:
            return scene.fold(_kind_of_none(scene, name, x.dtype, bounds), bounds, element)
        if scene.is_whole(x.dtype):
            return scene.fold(f"{name} of integers", bounds, element)
        return DEFINED[name](scene, bounds, element)

    return Value(x.dtype, shape, at)


@means("global_pool", kind=lambda scene, given: scene.name(("GlobalAveragePool", "GlobalMaxPool")))
def global_pool(scene: Any, kind: Any, x: Value) -> Value:
    scene.must(x.rank >= 3)
    name = scene.spelled(kind)
    scene.among(x.dtype, taken_by(name))
    if scene.reals or (name == "GlobalMaxPool" and scene.compares):
        name = "ReduceMean" if name == "GlobalAveragePool" else "ReduceMax"
    return reduce(scene, name, x, tuple(range(2, x.rank)), 1)


@means("softmax", kind=lambda scene, given: scene.name(("Softmax", "LogSoftmax", "Hardmax")), axis=any_axis)
def softmax(scene: Any, kind: Any, x: Value, axis: int) -> Value:
    """exp(x) over the sum of exp: what is subtracted for accuracy cancels in the reals."""
    scene.must(axis < x.rank)
    name = scene.spelled(kind)
    scene.among(x.dtype, taken_by(name))

    def at(i: Index) -> z3.ArithRef:
        def exponential(k: Index) -> z3.ArithRef:
            return scene.function(WIDE_EXP, x.at([*i[:axis], k[0], *i[axis + 1 :]]))

        if name == "Hardmax":
            place = scene.fold(
                "first greatest", [x.shape[axis]], lambda k: x.at([*i[:axis], k[0], *i[axis + 1 :]])
            )
            return z3.If(z3.ToReal(i[axis]) == place, z3.RealVal(1), z3.RealVal(0))
        total = sum_in(scene, name, [x.shape[axis]], exponential)
        if name == "LogSoftmax":
            return scene.add(x.at(i), -scene.function(WIDE_LOG, total))
        return scene.multiply(exponential([i[axis]]), _reciprocal(scene, total))

    return Value(x.dtype, x.shape, at)


@means(
    "arg_reduce",
    kind=lambda scene, given: scene.name(("ArgMax", "ArgMin")),
    axis=any_axis,
    keepdims=any_flag,
    last=any_flag,
)
def arg_reduce(scene: Any, kind: Any, x: Value, axis: int, *flags: int) -> Value:
    """The flags say whether the axis stays, and whether of equals the last is taken."""
    keepdims, last = flags
    scene.among(x.dtype, taken_by(scene.spelled(kind)))
    scene.must(axis < x.rank)
    scene.must(x.shape[axis] >= 1)
    wanted = "greatest" if scene.spelled(kind) == "ArgMax" else "least"
    shape = (*x.shape[:axis], *((number(1),) if keepdims else ()), *x.shape[axis + 1 :])

    def at(i: Index) -> z3.ArithRef:
        rest = i[axis + 1 :] if keepdims else i[axis:]
        picked = f"{'last' if last else 'first'} {wanted}"
        return scene.fold(picked, [x.shape[axis]], lambda k: x.at([*i[:axis], k[0], *rest]))

    return Value(of_type(TensorProto.INT64), shape, at)


@means("matmul")
def matmul(scene: Scene, x: Value, y: Value) -> Value:
    """Of vectors a row on the left and a column on the right, whose axis goes."""
    scene.must(x.rank > 0 and y.rank > 0)
    scene.alike(x.dtype, y.dtype)
    scene.among(x.dtype, taken_by("MatMul"))
    left = (number(1), *x.shape) if x.rank == 1 else x.shape
    right = (*y.shape, number(1)) if y.rank == 1 else y.shape
    scene.must(left[-1] == right[-2])
    lead = broadcast_shape(scene, [left[:-2], right[:-2]])
    rows = (left[-2],) if x.rank > 1 else ()
    columns = (right[-1],) if y.rank > 1 else ()

    def at(i: Index) -> z3.ArithRef:
        row = i[len(lead)] if rows else None
        column = i[-1] if columns else None

        def one(value: Value, dims: Index, inner: list[z3.ArithRef]) -> z3.ArithRef:
            outer = i[len(lead) - (len(dims) - 2) : len(lead)]
            wide = lead[len(lead) - (len(dims) - 2) :]
            own = [
                k if z3.eq(d, w) else z3.simplify(z3.If(d == 1, number(0), k))
                for k, d, w in zip(outer, dims[:-2], wide, strict=True)
            ]
            return value.at([*own, *inner])

        def body(k: Index) -> z3.ArithRef:
            a = one(x, left, [k[0]] if row is None else [row, k[0]])
            b = one(y, right, [k[0]] if column is None else [k[0], column])
            return scene.multiply(a, b)

        return sum_in(scene, "MatMul", [left[-1]], body)

    return Value(x.dtype, (*lead, *rows, *columns), at)


def any_gemm(scene: Any, given: dict[str, Any]) -> GemmSettings:
    # Any number but 0 says that a matrix is transposed, so 1 is not the only one.
    return GemmSettings(scene.real("alpha"), scene.real("beta"), scene.choose(3), scene.choose(3))


@means("gemm", settings=any_gemm)
def gemm(scene: Any, a: Value, b: Value, c: Value | None, settings: GemmSettings) -> Value:
    scene.must(a.rank == b.rank == 2)
    scene.alike(a.dtype, b.dtype)
    scene.among(a.dtype, taken_by("Gemm"))
    rows, inner = a.shape[::-1] if settings.trans_a else a.shape
    other, columns = b.shape[::-1] if settings.trans_b else b.shape
    scene.must(inner == other)
    shape = (rows, columns)
    if c is not None:
        scene.alike(a.dtype, c.dtype)
        scene.must(c.rank <= 2)
        own = zip(c.shape[::-1], shape[::-1], strict=False)
        scene.must(z3.And([z3.Or(d == 1, d == wide) for d, wide in own]))
    alpha, beta = map(scene.real_formula, (settings.alpha, settings.beta))
    if scene.is_whole(a.dtype):  # by what runtimes multiply integers then is not said
        alpha, beta = (scene.function("Gemm of integers", n) for n in (alpha, beta))

    def at(i: Index) -> z3.ArithRef:
        def body(k: Index) -> z3.ArithRef:
            left = [k[0], i[0]] if settings.trans_a else [i[0], k[0]]
            right = [i[1], k[0]] if settings.trans_b else [k[0], i[1]]
            return scene.multiply(a.at(left), b.at(right))

        total = scene.multiply(alpha, sum_in(scene, "MatMul", [inner], body))
        if c is None:
            return total
        return scene.add(total, scene.multiply(beta, c.at(broadcast_index(c, i, shape))))

    return Value(a.dtype, shape, at)


choosers["", "axes"] = any_axes
choosers["", "scale"] = lambda scene, given: scene.real("scale")
choosers["", "wide"] = any_flag
choosers["", "layout"] = lambda scene, given: scene.name(("NC1HWC0", "FRACTAL_NZ"))
choosers["", "epsilon"] = lambda scene, given: scene.real("epsilon")
choosers["", "keepdims"] = any_flag


@means("batchnorm")
def batchnorm(scene: Any, x: Value, *parameters: Any) -> Value:
    """The parameters are scale, bias, mean and variance by channel, and epsilon."""
    *channels, epsilon = parameters
    scene.must(x.rank >= 2)
    scene.among(x.dtype, taken_by("BatchNormalization"))
    for v in channels:
        scene.must(v.rank == 1)
        scene.must(v.shape[0] == x.shape[1])
        scene.alike(v.dtype, x.dtype)

    def at(i: Index) -> z3.ArithRef:
        s, b, m, v = (each.at([i[1]]) for each in channels)
        root = scene.function("unary Sqrt ()", scene.add(v, scene.real_formula(epsilon)))
        factor = scene.multiply(s, _reciprocal(scene, root))
        return scene.add(scene.multiply(scene.add(x.at(i), -m), factor), b)

    return Value(x.dtype, x.shape, at)


@means("instance_norm")
def instance_norm(scene: Any, x: Value, scale: Value, bias: Value, epsilon: Any) -> Value:
    """Mean and variance of each channel of each instance, over all axes behind them."""
    scene.must(x.rank >= 3)
    scene.among(x.dtype, taken_by("InstanceNormalization"))
    for v in (scale, bias):
        scene.must(v.rank == 1)
        scene.must(v.shape[0] == x.shape[1])
        scene.alike(v.dtype, x.dtype)

    def at(i: Index) -> z3.ArithRef:
        plane = x.shape[2:]
        middle = mean(scene, plane, lambda k: x.at([i[0], i[1], *k]))
        spread = mean(scene, plane, lambda k: _square(scene, scene.add(x.at([i[0], i[1], *k]), -middle)))
        root = scene.function("unary Sqrt ()", scene.add(spread, scene.real_formula(epsilon)))
        factor = scene.multiply(scale.at([i[1]]), _reciprocal(scene, root))
        return scene.add(scene.multiply(scene.add(x.at(i), -middle), factor), bias.at([i[1]]))

    return Value(x.dtype, x.shape, at)
