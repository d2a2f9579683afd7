"""What a statement says is one is shown to be: types, dims, and elements at every index."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.check.resolution import Join
from egraph_opt.check.scope import Rejected
from egraph_opt.check.sides import Side
from egraph_opt.proofs.equality import follows_soon, prove_equal
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.paths import Dead, Unproved
from egraph_opt.proofs.sides import Sides
from egraph_opt.proofs.sums import decided, index_below
from egraph_opt.semantics.values import Value


def joined(side: Side, scene: Instance, most: int) -> tuple[Side, Join]:
    """A statement with what fills the tables that it asks, for any rules that do, and which those are."""
    scene.notes.add(f"entries of tables are filled by at most {most} rules")
    try:
        return side.joined_by(scene.choose, most)
    except Rejected as error:
        raise Dead from error


def show_goals(sides: Sides) -> None:
    """Show that one of the pairs that have to be equal is; each is another path.

    Raises:
        Unproved: it does not follow.
    """
    pairs = [pair for goal in sides.goals() for pair in _pairs(*goal)]
    if pairs:
        _show(sides.scene, *pairs[sides.scene.choose(len(pairs))])


def _pairs(left: Any, right: Any) -> list[tuple[Any, Any]]:
    """The tensors that have to be one, of bundles their outputs."""
    if not (isinstance(left, tuple) and isinstance(right, tuple)):
        return [(left, right)]
    if len(left) != len(right):
        raise Unproved("that there are as many outputs")
    return list(zip(left, right, strict=True))


def _show(scene: Instance, left: Any, right: Any) -> None:
    """Show that two values are one.

    Raises:
        Unproved: it does not follow.
    """
    if left is None or right is None:
        if left is not right:
            raise Unproved("that an operand is there")
        return
    assert isinstance(left, Value) and isinstance(right, Value)
    if left is right:
        return
    if left.rank != right.rank:
        raise Unproved(f"that the ranks are equal: {left.rank} and {right.rank}")
    for a, b in zip(left.shape, right.shape, strict=True):
        if not scene.same(a, b) and not prove_equal(scene, a, b):
            raise Unproved(f"that dims are equal: {a} and {b}")
    if scene.root(left.dtype) != scene.root(right.dtype) and left.dtype() != right.dtype():
        raise Unproved("that the types are equal")
    if left.origin is right.origin:  # views with the same dims
        return
    scene.showing = False
    try:
        index = [_index(scene, dim) for dim in right.shape]
    except Dead:  # no elements: they are equal
        return
    scene.showing = True
    a, b = (value.at(index) for value in (left, right))
    if not scene.folds and follows_soon(scene, a, b):
        return
    a, b = (decided(scene.path.follows, each) for each in (a, b))
    if not prove_equal(scene, a, b):
        raise Unproved(f"that elements are equal: {z3.simplify(a)} and {z3.simplify(b)}"[:600])


def _index(scene: Instance, dim: z3.ArithRef) -> z3.ArithRef:
    """Any index along an axis."""

    def fresh(bound: z3.ArithRef) -> z3.ArithRef:
        made = scene.whole("i")
        scene.path.assume(z3.And(made >= 0, made < bound))  # there is none where the bound is 0
        return made

    return index_below(z3.simplify(dim), fresh)
