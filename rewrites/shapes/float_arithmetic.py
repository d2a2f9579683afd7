"""Integers that are divided or multiplied in floats, which shapes know nothing of.

Cast_S(Floor(Cast_T(n) / d)) -> n / d                 likewise without Floor, since casts round towards 0
Cast_S(Ceil(Cast_T(n) / d)) -> (n + d - 1) / d
Cast_S(Cast_T(n) * c) -> n * c                        Floor and Ceil do nothing here

For n from 0 to where the float type has every integer: such a quotient never rounds to an integer that it
is not.  Of symbolic dims that is known where a greatest length is assumed.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, hosted, law, number_like, rewrite
from egraph_opt.laws.sorts import DataType, Int, Number, String, Tensor
from egraph_opt.operators import binary, cast, unary
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.view_shapes import same_dims
from egraph_opt.rewrites.shapes.casts import WHOLE

LARGEST = 2**30
"""Up to where both types of indices have every integer, and the sum of two."""


@hosted()
def divisor(op: str, c: Fact, place: int) -> Number | None:
    """The integer that is divided by: a factor that is one part of a power of two divides by that."""
    if c.splat is None or not 0 < c.splat < LARGEST or place:
        return None
    if op == "Mul":
        part = int(1 / c.splat)
        return part if 1 < part < LARGEST and part.bit_count() == 1 and part * c.splat == 1 else None
    return int(c.splat) if op == "Div" and c.splat == int(c.splat) else None


@hosted()
def less_one(d: int) -> Number:
    return d - 1


@hosted()
def whole_factor(c: Fact) -> Number | None:
    known = c.splat is not None and 0 <= c.splat < LARGEST and c.splat == int(c.splat)
    return int(c.splat) if known and c.splat is not None else None


@hosted()
def stays_whole(n: Fact, through: DataType, to: DataType, most: int) -> bool:
    """n is not negative, and all types have it `most` times."""
    known = range_of(n)
    if not {n.dtype, to} <= {T.INT32, T.INT64} or through not in (T.FLOAT, T.DOUBLE) or known is None:
        return False
    least = min(WHOLE[through], LARGEST)
    return known[0] >= 0 and known[1] * max(most, 1) <= least


@hosted()
def keeps_dims(n: Fact, z: Fact) -> bool:
    """What is beside n does not make it longer."""
    return same_dims(n.shape, z.shape)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    n, wide = (unary("Clip", (("max", k), ("min", 0)), g.input((3,), T.INT64)) for k in (5000, 2**29))
    signed = unary("Clip", (("max", 50), ("min", -50)), g.input((3,), T.INT32))

    def beside_number(x: Tensor, op: str, number: float, through: int = T.FLOAT) -> Tensor:
        found: Tensor = binary(op, cast(x, through), cast(g.constant(np.array(number, np.float32)), through))
        return found

    third, seven = beside_number(n, "Div", 3), beside_number(n, "Mul", 7)
    quarter, wider = beside_number(n, "Mul", 0.25), beside_number(wide, "Div", 3, T.DOUBLE)
    floors, ceils = (tuple(unary(op, (), z) for z in (third, seven, wider)) for op in ("Floor", "Ceil"))
    for rounded in (third, seven, quarter, *floors, *ceils):
        yield g.fires(cast(rounded, T.INT64))
    for z, why in (
        (beside_number(n, "Div", 2.5), "no integer"),
        (beside_number(n, "Mul", 1 / 3), "a third is rounded"),
        (beside_number(n, "Mul", 2.0**-128), "2^128 is no integer of 64 bits"),
        (beside_number(signed, "Div", 3), "negative numbers are rounded upwards"),
        (beside_number(wide, "Div", 3), "float32 has 24 bits"),
        (beside_number(n, "Mul", 5000), "float32 has 24 bits"),
        (binary("Div", g.constant(np.array(3, np.float32)), cast(n, T.FLOAT)), "it is the divisor"),
    ):
        for rounded in (z, unary("Floor", (), z), unary("Ceil", (), z)):
            yield g.near_miss(cast(rounded, T.INT64), why)
    several = g.constant(np.full((2, 3), 4, np.float32))
    for op in ("Div", "Mul"):
        for rounded in (
            z := binary(op, cast(n, T.FLOAT), several),
            unary("Floor", (), z),
            unary("Ceil", (), z),
        ):
            yield g.near_miss(cast(rounded, T.INT64), "more elements than n has")


@law(
    "shapes", numerics="bitwise", source="Resize and pooling by hand", uses=(either_side,), examples=_examples
)
def integers_in_floats(n: Tensor, c: Tensor, op: String, t: DataType, s: DataType, k: Int):
    """Cast_S(Floor(Cast_T(n) / d)) = n / d for n of 0 or more, likewise Ceil, and factors"""
    because, z = "forgets the float", beside(op, cast(n, t), c, k)
    d, whole = divisor(op, c, k), (keeps_dims(n, z), stays_whole(n, t, s, 1))
    quotient = cast(n / number_like(n, d), s)
    above = cast((n + number_like(n, less_one(d))) / number_like(n, d), s)
    yield rewrite(cast(z, s), quotient, *whole, because=because)
    yield rewrite(cast(unary("Floor", (), z), s), quotient, *whole, because=because)
    yield rewrite(cast(unary("Ceil", (), z), s), above, *whole, because=because)
    product, factor = beside("Mul", cast(n, t), c, k), whole_factor(c)
    fits = (keeps_dims(n, product), stays_whole(n, t, s, factor))
    for rounded in (product, unary("Floor", (), product), unary("Ceil", (), product)):
        yield rewrite(cast(rounded, s), cast(n * number_like(n, factor), s), *fits, because=because)
