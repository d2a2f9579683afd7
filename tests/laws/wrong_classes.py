"""Laws that claim more than they hold; each is true of another class.  See `wrong_laws`."""

from collections.abc import Iterator
from typing import Any

from egraph_opt.laws.algebra import exp, log, number_like, softplus
from egraph_opt.laws.statements import rewrite
from egraph_opt.operators import unary, variadic
from egraph_opt.operators.elementwise import relu
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.terms import listed

from .wrong_laws import X, wrong


@wrong("bitwise", lambda g: g.input(X) + g.constant(0.0))
def sign_of_a_zero(x: Tensor, c: Tensor) -> Iterator[Any]:
    """x + 0 = x, claimed for every bit"""
    yield rewrite(x + c, x, because="it is wrong")


@wrong("bitwise", lambda g: unary("Sqrt", (), g.input(X)))
def no_root(x: Tensor) -> Iterator[Any]:
    """Sqrt(x) = x ^ 0.5, claimed for every bit: not for -infinity and -0.0"""
    yield rewrite(unary("Sqrt", (), x), x ** number_like(x, 0.5), because="it is wrong")


@wrong("bitwise", lambda g: relu(g.input(X)))
def infinity_is_bounded(x: Tensor) -> Iterator[Any]:
    """Relu(x) = Clip(x) from below by 0, claimed for every bit: Clip has the largest number for infinity"""
    yield rewrite(relu(x), unary("Clip", (("max", None), ("min", 0.0)), x), because="it is wrong")


@wrong("finite", lambda g: (g.input(X) + g.input(X)) + g.input(X))
def grouped_otherwise(x: Tensor, y: Tensor, z: Tensor) -> Iterator[Any]:
    """(x + y) + z = x + (y + z), claimed for every element"""
    yield rewrite((x + y) + z, x + (y + z), because="it is wrong")


@wrong("finite", lambda g: variadic("Max", listed(g.input(X), g.constant(0.25))))
def bound_moves(x: Tensor, c: Tensor) -> Iterator[Any]:
    """Max(x, 0.25) = Max(x, 0.25 + 1e-5), in the tolerance for what is large"""
    yield rewrite(
        variadic("Max", listed(x, c)),
        variadic("Max", listed(x, c + number_like(c, 1e-5))),
        because="it is wrong",
    )


@wrong("reassociates", lambda g: softplus(g.input(X)))
def leaves_the_range(x: Tensor) -> Iterator[Any]:
    """Softplus(x) = Log(Exp(x) + 1): equal in real arithmetic, and infinite for an x of 100"""
    yield rewrite(softplus(x), log(exp(x) + number_like(x, 1.0)), because="it is wrong")
