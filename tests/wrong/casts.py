"""Casts through types that do not hold what they are given."""

from onnx import TensorProto as T

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, DataType, Flag, String, Tensor, hosted, number_like, rewrite
from egraph_opt.operators import arg_reduce, binary, cast, gather, reduce, unary
from egraph_opt.rewrites.conditions.values import is_float, is_integer

from . import fires_on, of_one, of_two, wrong


@hosted()
def is_own(x: Fact, t: DataType) -> bool:
    return x.dtype == t


@hosted()
def is_whole(t: DataType) -> bool:
    return t in INTEGERS


@hosted()
def are_whole(x: Fact, t: DataType) -> bool:
    return x.dtype in INTEGERS and t in INTEGERS


@hosted()
def is_real(t: DataType) -> bool:
    return t in FLOATS


def there_and_back(dtype: int, through: int):
    return of_one(lambda x: cast(cast(x, through), dtype), (2, 5), dtype)


@wrong(
    "bitwise",
    there_and_back(T.INT64, T.INT32),
    values=(2**31, -3),
    examples=fires_on(there_and_back(T.INT32, T.INT64)),
)
def through_other_integers(x: Tensor, t: DataType, s: DataType):
    """Cast_S(Cast_T(x)) = x for integers x of type S and another type T of integers

    Wrong where T is narrower, or has other signs.
    """
    yield rewrite(cast(cast(x, t), s), x, is_own(x, s), are_whole(x, t), because="forgets T")


@wrong("bitwise", of_one(lambda x: cast(x, T.INT64)), values=(2.0**31, 1.0))
def floats_through_int32(x: Tensor):
    """Cast_int64(x) = Cast_int64(Cast_int32(x)) for floats x

    Wrong from 2^31 on.  The gate took it until it cast floats beyond 127.
    """
    narrow = cast(cast(x, T.INT32), T.INT64)
    yield rewrite(cast(x, T.INT64), narrow, is_float(x), because="sizes are small")


@wrong("bitwise", there_and_back(T.INT32, T.FLOAT), values=(2**24 + 1, -3))
def int32_through_float(x: Tensor):
    """Cast_int32(Cast_float(x)) = x for x of int32

    Wrong beyond 2^24.
    """
    yield rewrite(cast(cast(x, T.FLOAT), T.INT32), x, is_own(x, T.INT32), because="both have 32 bits")


@wrong("bitwise", there_and_back(T.INT64, T.DOUBLE), values=(2**53 + 1, -3))
def int64_through_double(x: Tensor):
    """Cast_int64(Cast_double(x)) = x for x of int64

    Wrong beyond 2^53.
    """
    yield rewrite(cast(cast(x, T.DOUBLE), T.INT64), x, is_own(x, T.INT64), because="both have 64 bits")


@wrong("bitwise", there_and_back(T.INT32, T.FLOAT16), values=(2049, -3))
def integers_through_half(x: Tensor, t: DataType):
    """Cast_T(Cast_float16(x)) = x for integers of type T

    Wrong beyond 2^11.
    """
    yield rewrite(cast(cast(x, T.FLOAT16), t), x, is_own(x, t), is_integer(x), because="forgets float16")


@wrong("bitwise", there_and_back(T.FLOAT, T.BFLOAT16), values=(1.00390625, 3e38))
def float_through_half(x: Tensor, t: DataType):
    """Cast_float(Cast_T(x)) = x for another type T of floats

    Wrong in the digits that T has not.
    """
    back = cast(cast(x, t), T.FLOAT)
    yield rewrite(back, x, is_own(x, T.FLOAT), is_real(t), because="forgets T")


@wrong("finite", there_and_back(T.DOUBLE, T.FLOAT), values=(1e-60, 1.0))
def double_through_float(x: Tensor):
    """Cast_double(Cast_float(x)) = x for x of double

    Wrong in the digits, and of what is too small for a float.
    """
    yield rewrite(
        cast(cast(x, T.FLOAT), T.DOUBLE), x, is_own(x, T.DOUBLE), because="rounding of one operator"
    )


@wrong("bitwise", there_and_back(T.INT64, T.BOOL))
def through_bool(x: Tensor, t: DataType):
    """Cast_T(Cast_bool(x)) = x for integers of type T

    Wrong of all but 0 and 1.
    """
    yield rewrite(cast(cast(x, T.BOOL), t), x, is_own(x, t), is_integer(x), because="forgets the bool")


@wrong("bitwise", of_one(lambda x: cast(cast(x, T.INT32), T.BOOL)))
def bool_of_integer(x: Tensor, t: DataType):
    """Cast_bool(Cast_int(x)) = Cast_bool(x)

    Wrong of fractions, which are true.
    """
    yield rewrite(cast(cast(x, t), T.BOOL), cast(x, T.BOOL), is_whole(t), because="forgets the integer")


@wrong("bitwise", of_one(lambda x: cast(cast(x, T.INT32), T.FLOAT)))
def floor_by_casts(x: Tensor, t: DataType):
    """Cast_float(Cast_int(x)) = Floor(x)

    Wrong below zero: casts truncate.
    """
    whole = cast(cast(x, t), T.FLOAT)
    yield rewrite(whole, unary("Floor", (), x), is_whole(t), is_own(x, T.FLOAT), because="one node")


@wrong("bitwise", of_one(lambda x: cast(unary("Floor", (), x), T.INT64)))
def cast_of_floor(x: Tensor, t: DataType):
    """Cast_int(Floor(x)) = Cast_int(x)

    Wrong below zero: casts truncate.
    """
    yield rewrite(
        cast(unary("Floor", (), x), t), cast(x, t), is_whole(t), because="a cast rounds down anyway"
    )


@wrong("bitwise", of_one(lambda x: cast(unary("Round", (), x), T.INT64)))
def cast_of_rounded(x: Tensor, t: DataType):
    """Cast_int(Round(x)) = Cast_int(x)

    Wrong of all fractions above a half.
    """
    yield rewrite(cast(unary("Round", (), x), t), cast(x, t), is_whole(t), because="a cast rounds anyway")


@wrong("reassociates", of_two(lambda x, y: cast(x + y, T.INT32)))
def cast_of_sum(x: Tensor, y: Tensor, t: DataType):
    """Cast_T(x + y) = Cast_T(x) + Cast_T(y)

    Wrong of integers T: the fractions may make a whole.
    """
    yield rewrite(cast(x + y, t), cast(x, t) + cast(y, t), because="narrower types first")


@wrong("reassociates", of_two(lambda x, y: cast(x * y, T.INT64), dtype=T.INT32), values=(2**20,))
def widened_later(x: Tensor, y: Tensor, t: DataType):
    """Cast_int64(x * y) = Cast_int64(x) * Cast_int64(y) for integers

    Wrong where the product wraps.
    """
    wide = cast(x, t) * cast(y, t)
    yield rewrite(cast(x * y, t), wide, are_whole(x, t), because="wider integers are exact")


@wrong("bitwise", of_two(lambda x, y: cast(x, T.INT32) + cast(y, T.INT32), dtype=T.UINT8), values=(200,))
def narrow_sum(x: Tensor, y: Tensor, t: DataType):
    """Cast_T(x) + Cast_T(y) = Cast_T(x + y) for integers of one type

    Wrong where the sum wraps in the narrower type.
    """
    yield rewrite(
        cast(x, t) + cast(y, t), cast(x + y, t), are_whole(x, t), are_whole(y, t), because="one cast"
    )


@wrong(
    "bitwise",
    of_two(lambda x, y: binary("Less", cast(x, T.FLOAT), cast(y, T.FLOAT)), dtype=T.INT64),
    values=(2**24, 2**24 + 1),
)
def comparison_of_casts(x: Tensor, y: Tensor, t: DataType):
    """Cast_T(x) < Cast_T(y) = x < y

    Wrong where T takes two numbers for one.
    """
    yield rewrite(
        binary("Less", cast(x, t), cast(y, t)), binary("Less", x, y), same_type(x, y), because="forgets T"
    )


@hosted()
def same_type(x: Fact, y: Fact) -> bool:
    return x.dtype == y.dtype and x.dtype in FLOATS | INTEGERS


@wrong("bitwise", of_one(lambda x: arg_reduce("ArgMax", cast(x, T.INT32), 1, 1, 0)))
def place_in_cast(k: String, x: Tensor, t: DataType, a: Axis, d: Flag, n: Flag):
    """ArgMax(Cast_T(x)) = ArgMax(x)

    Wrong where T takes two numbers for one.
    """
    after = arg_reduce(k, x, a, d, n)
    yield rewrite(arg_reduce(k, cast(x, t), a, d, n), after, is_float(x), because="forgets T")


@wrong(
    "bitwise",
    of_one(lambda x: reduce("ReduceSum", cast(x, T.INT64), (1,), 1), (2, 5), T.INT32),
    values=(2**31 - 1,),
)
def sum_before_cast(k: String, x: Tensor, t: DataType, a: Axes, d: Flag):
    """ReduceSum(Cast_T(x)) = Cast_T(ReduceSum(x)) for integers

    Wrong where the sum wraps in the narrower type.
    """
    yield rewrite(reduce(k, cast(x, t), a, d), cast(reduce(k, x, a, d), t), are_whole(x, t), because="later")


@wrong("bitwise", lambda g: gather(g.input((6, 2)), cast(g.input((2,), T.UINT8), T.INT64), 0), values=(1, 2))
def indices_of_any_type(x: Tensor, i: Tensor, a: Axis, t: DataType):
    """Gather(x, Cast_T(i)) = Gather(x, i) for integers i

    Wrong of all types but int32 and int64, which Gather does not take.
    """
    yield rewrite(gather(x, cast(i, t), a), gather(x, i, a), is_integer(i), because="forgets T")


@wrong(
    "bitwise",
    lambda g: gather(g.input((300, 2)), cast(cast(g.input((2,), T.INT64), T.UINT8), T.INT64), 0),
    values=(1, 299, 5),
)
def indices_through_bytes(x: Tensor, i: Tensor, a: Axis, t: DataType, s: DataType):
    """Gather(x, Cast_S(Cast_T(i))) = Gather(x, i)

    Wrong where the inner cast changes an index.
    """
    twice = gather(x, cast(cast(i, t), s), a)
    yield rewrite(twice, gather(x, i, a), are_indices(i), because="indices are small")


@hosted()
def are_indices(i: Fact) -> bool:
    return i.dtype in (T.INT32, T.INT64)


@wrong("bitwise", of_one(lambda x: cast(cast(x, T.INT32), T.INT64)), values=(3e9, 1.0))
def widened_twice(x: Tensor, t: DataType, s: DataType):
    """Cast_S(Cast_T(x)) = Cast_S(x) for integers T and S

    Wrong of floats that T does not hold.
    """
    yield rewrite(cast(cast(x, t), s), cast(x, s), is_wider(t, s), because="forgets T")


@hosted()
def is_wider(t: DataType, s: DataType) -> bool:
    return (t, s) in ((T.INT32, T.INT64), (T.INT16, T.INT32), (T.INT8, T.INT32), (T.INT8, T.INT64))


@wrong("bitwise", of_one(lambda x: cast(x, T.FLOAT) * number_like(cast(x, T.FLOAT), 0.5), (2, 5), T.INT32))
def scale_before_cast(x: Tensor, c: Tensor, t: DataType):
    """Cast_T(x) * c = Cast_T(x * Cast(c)) for a number c

    Wrong where c is no number of the type of x.
    """
    inner = x * number_like(x, number_of(c))
    yield rewrite(
        cast(x, t) * c, cast(inner, t), is_integer(x), is_real(t), because="products of integers are exact"
    )


@hosted()
def number_of(c: Fact):
    return c.splat


@wrong("bitwise", of_one(lambda x: cast(unary("Exp", (), x), T.FLOAT), dtype=T.FLOAT16), values=(0.3, 1.7))
def function_in_wider_float(x: Tensor):
    """Cast_float(Exp(x)) = Exp(Cast_float(x)) for x of float16

    Wrong in the digits that float16 has not.
    """
    inside = unary("Exp", (), cast(x, T.FLOAT))
    yield rewrite(cast(unary("Exp", (), x), T.FLOAT), inside, is_own(x, T.FLOAT16), because="float32 is near")


@wrong("bitwise", of_one(lambda x: cast(x / number_like(x, 2.0), T.DOUBLE), dtype=T.INT32), values=(7, -3))
def quotient_in_double(x: Tensor, y: Tensor):
    """Cast_double(x / y) = Cast_double(x) / Cast_double(y) for integers x, y

    Wrong where y does not divide x.
    """
    apart = cast(x, T.DOUBLE) / cast(y, T.DOUBLE)
    yield rewrite(cast(x / y, T.DOUBLE), apart, is_own(x, T.INT32), because="double holds both")
