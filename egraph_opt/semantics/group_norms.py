"""Normalization of groups of channels: mean and variance of each group of each instance."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.semantics.folds import mean
from egraph_opt.semantics.polynomials import divided
from egraph_opt.semantics.taken_types import taken_by
from egraph_opt.semantics.values import Index, Value, means


def any_groups(scene: Any, given: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Any number of groups, which are equally large."""
    groups = scene.whole("groups")
    scene.must(groups >= 1)
    return (("epsilon", scene.real("epsilon")), ("num_groups", scene.plain(groups)))


@means("group_norm", settings=any_groups)
def group_norm(scene: Any, x: Value, scale: Value, bias: Value, settings: Any) -> Value:
    """Each element less the mean of its group, by the root of its variance; scale and bias are by channel."""
    given = dict(settings)
    groups, epsilon = scene.formula(given["num_groups"]), scene.real_formula(given["epsilon"])
    scene.must(x.rank >= 3 and scale.rank == 1 and bias.rank == 1)
    scene.must(groups >= 1)
    scene.among(x.dtype, taken_by("GroupNormalization"))
    for v in (scale, bias):
        scene.must(v.shape[0] == x.shape[1])
        scene.alike(v.dtype, x.dtype)
    own = scene.share(x.shape[1], groups, 0)

    def at(i: Index) -> z3.ArithRef:
        first = i[1] - divided(scene, i[1], own)[1]
        part = [own, *x.shape[2:]]
        element = lambda k: x.at([i[0], z3.simplify(first + k[0]), *k[1:]])  # noqa: E731
        middle = mean(scene, part, element)

        def square(k: Index) -> z3.ArithRef:
            rest = scene.add(element(k), -middle)
            return scene.multiply(rest, rest)

        root = scene.function("unary Sqrt ()", scene.add(mean(scene, part, square), epsilon))
        factor = scene.multiply(scale.at([i[1]]), scene.function("unary Reciprocal ()", root))
        return scene.add(scene.multiply(scene.add(x.at(i), -middle), factor), bias.at([i[1]]))

    return Value(x.dtype, x.shape, at)
