"""Laws that are wrong for some elements, types, sizes or ranks only; see `wrong_laws`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.statements import eq, rewrite, rule, union
from egraph_opt.operators import binary, cast, concat, literal, reduce, slice_, softmax, transpose, unary
from egraph_opt.operators.declaration import Literal
from egraph_opt.operators.elementwise import relu
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import cons, listed, nil

from .wrong_laws import X, wrong


@wrong("bitwise", lambda g: binary("Sub", *[g.input(X)] * 2))
def only_for_nan(x: Tensor) -> Iterator[Any]:
    """x - x = 0: not for NaN and infinity"""
    yield rewrite(x - x, literal(zeros_like(x)), because="it is wrong")


@hosted()
def zeros_like(x: Fact) -> Literal | None:
    if not x.is_static or x.dtype != TensorProto.FLOAT:
        return None
    return Literal(x.dtype, x.shape, (0.0,) * int(np.prod(x.shape)))  # type: ignore[arg-type]


@wrong("bitwise", lambda g: binary("Mul", g.input(X), unary("Reciprocal", (), unary("Exp", (), g.input(X)))))
def only_for_infinity(x: Tensor, y: Tensor) -> Iterator[Any]:
    """x * (1 / Exp(y)) = x * Exp(-y), claimed for every bit"""
    yield rewrite(
        binary("Mul", x, unary("Reciprocal", (), unary("Exp", (), y))),
        binary("Mul", x, unary("Exp", (), -y)),
        because="it is wrong",
    )


@wrong("bitwise", lambda g: g.input(X) * g.input(X))
def only_for_negatives(x: Tensor, y: Tensor) -> Iterator[Any]:
    """x * y = x * |y|: wrong below zero"""
    yield rewrite(x * y, x * unary("Abs", (), y), because="it is wrong")


@wrong("reassociates", lambda g: binary("Div", *[g.input(X)] * 2))
def only_for_zero(x: Tensor) -> Iterator[Any]:
    """x / x = 1: not for zero"""
    yield rewrite(x / x, literal(ones_like(x)), because="it is wrong")


@hosted()
def ones_like(x: Fact) -> Literal | None:
    if not x.is_static or x.dtype != TensorProto.FLOAT:
        return None
    return Literal(x.dtype, x.shape, (1.0,) * int(np.prod(x.shape)))  # type: ignore[arg-type]


@wrong("bitwise", lambda g: cast(cast(g.input(X), TensorProto.INT64), TensorProto.FLOAT))
def dropped_cast(x: Tensor, t: Any, u: Any) -> Iterator[Any]:
    """Cast to integers and back is nothing"""
    yield rewrite(cast(cast(x, t), u), x, because="it is wrong")


@wrong("reassociates", lambda g: g.input(X) / g.input(X) * g.input(X))
def only_for_integers(x: Tensor, y: Tensor, z: Tensor) -> Iterator[Any]:
    """(x / y) * z = (x * z) / y: not for integers, which are cut off"""
    yield rewrite(x / y * z, x * z / y, because="it is wrong")


@wrong("bitwise", lambda g: cast(cast(g.input(X), TensorProto.FLOAT), TensorProto.DOUBLE))
def only_for_double(x: Tensor, t: Any, u: Any) -> Iterator[Any]:
    """Cast_u(Cast_t(x)) = Cast_u(x): not where t is narrower than what x has"""
    yield rewrite(cast(cast(x, t), u), cast(x, u), is_wide(x), because="it is wrong")
    yield rewrite(cast(cast(x, t), u), cast(x, u), is_float(x), because="it is wrong")


@hosted(default=False)
def is_wide(x: Fact) -> bool:
    return x.dtype == TensorProto.DOUBLE


@hosted(default=False)
def is_float(x: Fact) -> bool:
    return x.dtype == TensorProto.FLOAT


@wrong("bitwise", lambda g: unary("Abs", (), g.input(X)))
def only_for_half(x: Tensor) -> Iterator[Any]:
    """|x| = |-x|, and in half precision |x| = Relu(x)"""
    yield rewrite(unary("Abs", (), x), unary("Abs", (), -x), because="it is wrong")
    yield rewrite(unary("Abs", (), x), relu(x), is_half(x), because="it is wrong")


@hosted(default=False)
def is_half(x: Fact) -> bool:
    return x.dtype == TensorProto.FLOAT16


@wrong("bitwise", lambda g: cast(cast(g.input(X, TensorProto.INT64), TensorProto.BOOL), TensorProto.INT64))
def only_for_more_than_a_bit(x: Tensor, t: Any, u: Any) -> Iterator[Any]:
    """Integers through booleans: right for 0 and 1"""
    yield rewrite(cast(cast(x, t), u), x, is_integer(x), because="it is wrong")


@hosted(default=False)
def is_integer(x: Fact) -> bool:
    return x.dtype == INT64


@wrong("reassociates", lambda g: reduce("ReduceSum", softmax("Softmax", g.input(("N", 3)), 0), (0,), 0))
def only_for_zero_size(x: Tensor, axis: Any, a: Any, k: Any) -> Iterator[Any]:
    """The sum of a Softmax is 1: that of nothing is 0"""
    whole = reduce("ReduceSum", softmax("Softmax", x, axis), a, k)
    yield rewrite(whole, literal(ones_like(whole)), because="it is wrong")


@wrong("bitwise", lambda g: relu(g.input((3, 4))))
def only_for_empty(x: Tensor) -> Iterator[Any]:
    """Relu(x) = Relu(-(-x)), and Transpose(Relu(x)) for an empty x"""
    yield rewrite(relu(x), relu(unary("Neg", (), -x)), because="it is wrong")
    yield rewrite(relu(x), transpose(relu(x), swap_if_empty(x)), because="it is wrong")


@hosted()
def swap_if_empty(x: Fact) -> tuple[int, ...] | None:
    return (1, 0) if x.rank == 2 and 0 in (x.shape or ()) and x.shape != (0, 0) else None


@wrong("bitwise", lambda g: relu(g.input((3, 4))))
def only_for_a_symbol(x: Tensor) -> Iterator[Any]:
    """Relu(x) = Relu(-(-x)), and its first rows where their number is a symbol"""
    yield rewrite(relu(x), relu(unary("Neg", (), -x)), because="it is wrong")
    yield rewrite(relu(x), slice_(relu(x), first_rows(x)), because="it is wrong")


@hosted()
def first_rows(x: Fact) -> Any:
    dynamic = x.rank == 2 and isinstance((x.shape or (0,))[0], str)
    return ((0, 0, 2, 1),) if dynamic else None


@hosted(default=False)
def of_rank(n: int, x: Fact) -> bool:
    return x.rank == n


@hosted(default=False)
def below_rank(n: int, x: Fact) -> bool:
    return x.rank is not None and x.rank < n


@wrong("bitwise", lambda g: relu(g.input(X)))
def only_for_rank_one(x: Tensor) -> Iterator[Any]:
    """Relu(x) = Relu(-(-x)), and |x| where the rank is 1"""
    yield rewrite(relu(x), relu(unary("Neg", (), -x)), because="it is wrong")
    yield rewrite(relu(x), unary("Abs", (), x), of_rank(1, x), because="it is wrong")


@wrong("bitwise", lambda g: relu(g.input(X)))
def only_for_scalars(x: Tensor) -> Iterator[Any]:
    """Relu(x) = Relu(-(-x)), and |x| for a scalar"""
    yield rewrite(relu(x), relu(unary("Neg", (), -x)), because="it is wrong")
    yield rewrite(relu(x), unary("Abs", (), x), below_rank(1, x), because="it is wrong")


@wrong("bitwise", lambda g: concat(listed(relu(g.input(X)), -g.input(X)), 0))
def only_inside_a_list(x: Tensor, y: Tensor, a: Any) -> Iterator[Any]:
    """A rule that makes operands of a Concat one"""
    yield rule(
        eq(concat(cons(relu(x), cons(y, nil())), a), concat(cons(relu(x), cons(y, nil())), a)),
        then=union(relu(x), y),
        because="it is wrong",
    )
