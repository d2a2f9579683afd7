"""What holds of one operator of a family, stated of others as well."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Flag, String, Tensor, hosted, listed, relu, rewrite
from egraph_opt.operators import arg_reduce, binary, unary, variadic
from egraph_opt.rewrites.conditions.values import fits

from . import of_one, of_two, wrong


def f_of(name: str):
    return lambda x: unary(name, (), x)


@hosted()
def is_even(f: str) -> bool:
    return f in ("Abs", "Cos", "Cosh", "Sinh")


@wrong("reassociates", of_one(lambda x: unary("Sinh", (), -x)), values=(1.0, -2.0))
def even_function_of_negated(f: String, x: Tensor):
    """f(-x) = f(x) for Abs, Cos, Cosh and Sinh

    Wrong of Sinh, which is odd.
    """
    yield rewrite(unary(f, (), -x), unary(f, (), x), is_even(f), because="forgets the sign")


@hosted()
def is_odd(f: str) -> bool:
    return f in ("Asinh", "Atan", "Ceil", "Erf", "Floor", "Round", "Sign", "Sin", "Sinh", "Softsign", "Tanh")


@wrong("reassociates", of_one(lambda x: unary("Floor", (), -x)))
def odd_function_of_negated(f: String, x: Tensor):
    """f(-x) = -f(x) for sines, tangents, Erf, Sign and what rounds

    Wrong of Ceil and Floor, which change places.
    """
    yield rewrite(unary(f, (), -x), -unary(f, (), x), is_odd(f), because="signs go up")


@hosted()
def is_projection(f: str) -> bool:
    return f in ("Abs", "Ceil", "Floor", "Relu", "Round", "Sign", "Softsign")


@wrong("reassociates", of_one(lambda x: unary("Softsign", (), unary("Softsign", (), x))))
def function_applied_twice(f: String, x: Tensor):
    """f(f(x)) = f(x) for Abs, Ceil, Floor, Relu, Round, Sign and Softsign

    Wrong of Softsign, which goes on.
    """
    once = unary(f, (), x)
    yield rewrite(unary(f, (), once), once, is_projection(f), because="forgets one")


@hosted()
def is_involution(f: str) -> bool:
    return f in ("Neg", "Not", "BitwiseNot", "Reciprocal", "Sign")


@wrong("reassociates", of_one(lambda x: unary("Sign", (), unary("Sign", (), x))))
def function_undone(f: String, x: Tensor):
    """f(f(x)) = x for Neg, Not, BitwiseNot, Reciprocal and Sign

    Wrong of Sign.
    """
    yield rewrite(unary(f, (), unary(f, (), x)), x, is_involution(f), because="forgets both")


@hosted()
def is_monotone(f: str) -> bool:
    return f in ("Ceil", "Erf", "Exp", "Floor", "Log", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Tanh")


@wrong(
    "finite",
    of_two(lambda x, y: variadic("Max", listed(*(unary("Reciprocal", (), v) for v in (x, y))))),
    values=(2.0, 4.0, 3.0),
)
def greatest_of_function(f: String, x: Tensor, y: Tensor):
    """Max(f(x), f(y)) = f(Max(x, y)) for monotone functions, Reciprocal among them

    Wrong of Reciprocal, which falls.
    """
    largest = variadic("Max", listed(unary(f, (), x), unary(f, (), y)))
    yield rewrite(
        largest, unary(f, (), variadic("Max", listed(x, y))), is_monotone(f), because="one function"
    )


@wrong("bitwise", of_one(lambda x: arg_reduce("ArgMax", relu(x), 1, 1, 0)), values=(-3.0, -1.0, -2.0))
def place_in_function(k: String, f: String, x: Tensor, a: Axis, d: Flag, n: Flag):
    """ArgMax(f(x)) = ArgMax(x) for monotone functions, likewise ArgMin

    Wrong where the function takes several numbers to one, as Relu and Floor do.
    """
    place = arg_reduce(k, unary(f, (), x), a, d, n)
    yield rewrite(place, arg_reduce(k, x, a, d, n), is_monotone(f), because="forgets f")


@hosted()
def commutes(f: str) -> bool:
    return f not in ("Sub", "Div", "Pow", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")


@wrong("bitwise", lambda g: binary("Mod", g.constant([7, 5]), g.input((3, 2), 7)), values=(2, 3))
def operands_in_order(f: String, x: Tensor, c: Tensor):
    """c f x = x f c for constant c and f other than differences, quotients, powers and comparisons

    Wrong of Mod and PRelu.
    """
    yield rewrite(binary(f, c, x), binary(f, x, c), is_known(c), commutes(f), because="constants go right")


@hosted()
def is_known(c: Fact) -> bool:
    return c.const


@hosted()
def associates(f: str) -> bool:
    return f in ("Add", "And", "Mul", "Or", "Sub", "Xor")


@wrong("reassociates", lambda g: g.input((2, 5)) - g.constant([1.0]) - g.constant([2.0]))
def constants_together(f: String, x: Tensor, c: Tensor, d: Tensor):
    """(x f c) f d = x f (c f d) for constants and f of Add, And, Mul, Or, Sub and Xor

    Wrong of Sub.
    """
    meets = (associates(f), is_known(c), is_known(d))
    yield rewrite(binary(f, binary(f, x, c), d), binary(f, x, binary(f, c, d)), meets, because="folded")


@wrong("reassociates", of_two(lambda x, y: variadic("Mean", listed(variadic("Mean", listed(x, y)), x))))
def nested_operands(f: String, x: Tensor, y: Tensor, z: Tensor):
    """f(f(x, y), z) = f(x, y, z) for Max, Mean, Min and Sum

    Wrong of Mean, which weighs them differently.
    """
    nested = variadic(f, listed(variadic(f, listed(x, y)), z))
    yield rewrite(nested, variadic(f, listed(x, y, z)), because="forgets the order")


@wrong("reassociates", lambda g: variadic("Sum", listed(*(g.input((5,)) + c for c in [g.constant(2.0)] * 2))))
def shift_of_operands(f: String, x: Tensor, y: Tensor, c: Tensor):
    """f(x + c, y + c) = f(x, y) + c for Max, Mean, Min and Sum

    Wrong of Sum, which has c twice.
    """
    shifted = variadic(f, listed(x + c, y + c))
    yield rewrite(shifted, variadic(f, listed(x, y)) + c, fits(c, x), fits(c, y), because="one sum")


@hosted()
def is_idempotent(f: str) -> bool:
    return f in ("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor")


@wrong("bitwise", of_one(lambda x: binary("Xor", x, x), dtype=9), values=(1, 0))
def operand_twice(f: String, x: Tensor):
    """x f x = x for logical operators

    Wrong of Xor.
    """
    yield rewrite(binary(f, x, x), x, is_idempotent(f), because="forgets f")


@wrong("bitwise", of_one(lambda x: variadic("Sum", listed(x))))
def operand_alone(f: String, x: Tensor):
    """f(x) = f(x, x) for Max, Mean, Min and Sum

    Wrong of Sum.
    """
    yield rewrite(variadic(f, listed(x)), variadic(f, listed(x, x)), because="kernels have two operands")


@hosted()
def keeps_sign(f: str) -> bool:
    return f in ("Atan", "Erf", "Sigmoid", "Sinh", "Softsign", "Tanh")


@wrong("bitwise", of_one(lambda x: unary("Sign", (), unary("Sigmoid", (), x))))
def sign_of_function(f: String, x: Tensor):
    """Sign(f(x)) = Sign(x) for Atan, Erf, Sigmoid, Sinh, Softsign and Tanh

    Wrong of Sigmoid, which is positive.
    """
    yield rewrite(
        unary("Sign", (), unary(f, (), x)), unary("Sign", (), x), keeps_sign(f), because="forgets f"
    )
