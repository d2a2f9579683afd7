"""What laws of this project claimed until the whole gate tried them: a class, a kernel, what ONNX infers."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Tensor, hosted, kernel, rewrite
from egraph_opt.laws.sorts import DataType, Dims, Equation, Settings, String
from egraph_opt.operators import PoolWindow, cast, einsum, gather, literal, pool, reshape, transpose, unary
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.float_types import has_number, widens
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.linear.einsum_pointwise import diagonal

from . import fires_on, of_one, wrong


def _summed(equation, shape):
    return of_one(lambda x: einsum(equation, listed(x)), shape)


@wrong(
    "bitwise",
    _summed("aab->b", (1, 1, 1)),
    values=(-0.0,),
    examples=fires_on(_summed("ibi->bi", (2, 3, 2)), _summed("iij->ji", (2, 2, 3))),
)
def diagonal_that_is_summed(equation: Equation, x: Tensor):
    """Einsum(x; "aab->b") = Einsum(Gather(Reshape(x), [0, n + 1, ..]); "ba->b")

    Wrong where it is summed, which makes 0.0 of -0.0, and rounds in another order.
    """
    plan = diagonal(equation, x)
    rows = reshape(transpose(x, plan[0]), plan[1])
    taken = gather(rows, literal(plan[2]), plan[3])
    yield rewrite(einsum(equation, listed(x)), einsum(plan[4], listed(taken)), because="one operator")


@hosted()
def are_bounds_of(op: str, settings: Settings, x: Fact) -> bool:
    return op == "Clip" and all(v is not None and has_number(x.dtype, v) for _, v in settings)


def _clipped(low: float, high: float):
    return of_one(lambda x: cast(unary("Clip", (("max", high), ("min", low)), x), T.DOUBLE), (4,))


@wrong("bitwise", _clipped(-0.5, 2.0), opset=11, examples=fires_on(_clipped(-0.5, 2.0), _clipped(0.0, 1.0)))
def clip_behind_wide(op: String, s: Settings, x: Tensor, t: DataType):
    """Cast_double(Clip(x)) = Clip(Cast_double(x)) for bounds that the narrow type has

    Wrong before opset 12, in which onnxruntime has no Clip of doubles.
    """
    known = are_bounds_of(op, s, x), widens(x, t), kernel(is_kernel_float(x))
    yield rewrite(cast(unary(op, s, x), t), unary(op, s, cast(x, t)), *known, because="a law moves casts")


@hosted()
def of_two_rows(u: PoolWindow) -> PoolWindow | None:
    if len(u.strides) != 1:
        return None
    (size,), (step,), (begin, end), (gap,) = u.kernel, u.strides, u.pads, u.dilations
    return PoolWindow((1, size), (1, step), (0, begin, 0, end), (1, gap), u.ceil_mode, u.count_include_pad)


@hosted()
def with_height(x: Fact) -> Dims | None:
    return (*x.shape[:2], 1, *x.shape[2:]) if x.rank == 3 and x.shape is not None and x.is_symbolic else None


def _pooled(pads: tuple[int, int], ceil_mode: int):
    return of_one(lambda x: pool("MaxPool", x, PoolWindow((6,), (6,), pads, (1,), ceil_mode)), (1, 1, 6))


@wrong("bitwise", _pooled((0, 3), 1), examples=fires_on(_pooled((0, 3), 0), _pooled((0, 0), 1)))
def windows_on_pads_lifted(x: Tensor, u: PoolWindow):
    """MaxPool(x) = Squeeze(MaxPool(Unsqueeze(x))) of rows

    Wrong of windows that begin on pads, of which ONNX's inference counts more than onnxruntime: the view of
    the one size is refused for the other.
    """
    y = pool("MaxPool", x, u)
    lifted = pool("MaxPool", reshape(x, with_height(x)), of_two_rows(u))
    yield rewrite(y, reshape(lifted, known_dims(y)), because="images alone are pooled")
