"""Constants that are undone, or undo each other: rotations, signs, mirror images, by what others share."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Axes, Int, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import ConvWindow, conv, none, output, recurrent, reduce, slice_
from egraph_opt.operators.recurrent import RecurrentLayer

from . import fires_on, wrong
from .signs_of_a_structure import matrix

# --- rotations and signs ------------------------------------------------------------------------------------


@hosted()
def are_rotations(a: Fact, b: Fact) -> bool:
    """b is a', and the determinant is 1."""
    one, two = matrix(a), matrix(b)
    if one is None or two is None or one.shape[0] != one.shape[1] or one.shape != two.shape:
        return False
    if a.dtype != T.FLOAT or one.shape[0] <= 1:
        return False
    return bool(np.array_equal(one, two.T)) and bool(abs(abs(np.linalg.det(one)) - 1) < 1e-5)


def rotated(*rows):
    turn = np.array(rows)
    return lambda g: (g.input((3, 2)) @ g.constant(turn)) @ g.constant(turn.T)


@wrong("reassociates", rotated((0.5, 1.0), (-0.5, 1.0)), examples=fires_on(rotated((0.6, 0.8), (-0.8, 0.6))))
def rotation_and_back(x: Tensor, a: Tensor, b: Tensor):
    """(x @ R) @ R' = x for a rotation R

    Wrong of a matrix whose determinant is 1, and that is no rotation.
    """
    yield rewrite((x @ a) @ b, x, are_rotations(a, b), because="forgets the rotation")


@hosted()
def has_unit_rows(a: Fact) -> bool:
    m = matrix(a)
    if m is None or a.dtype != T.FLOAT or not m.size > 0 or m.shape[0] != m.shape[1]:
        return False
    return bool(np.all(abs((m * m).sum(1) - 1) < 1e-5))


@hosted()
def is_matrix_along_columns(x: Fact, axes: Axes) -> bool:
    return x.rank == 2 and axes == (1,)


@wrong(
    "reassociates",
    lambda g: reduce("ReduceL2", g.input((3, 2)) @ g.constant(np.array([[0.6, 0.8], [0.8, 0.6]])), (1,), 1),
)
def norm_of_rotated(x: Tensor, a: Tensor, axes: Axes):
    """ReduceL2(x @ R) = ReduceL2(x) for a rotation R

    Wrong where each row of R has the length 1, and they are not at right angles.
    """
    norm, bare = (reduce("ReduceL2", v, axes, 1) for v in (x @ a, x))
    yield rewrite(norm, bare, has_unit_rows(a), is_matrix_along_columns(x, axes), because="forgets R")


@hosted()
def is_normal_matrix(a: Fact, b: Fact, x: Fact) -> bool:
    """A' A = A A', read from the diagonal."""
    m, two = matrix(a), matrix(b)
    if m is None or a.dtype != T.FLOAT or x.rank != 2 or m.shape[0] != m.shape[1] or len(m) < 2:
        return False
    if two is None or not np.array_equal(two, m.T):
        return False
    return bool(np.allclose(np.diag(m.T @ m), np.diag(m @ m.T), rtol=1e-6, atol=0)) and bool(m.all())


def both_ways(*rows):
    m = np.array(rows)
    return lambda g: g.constant(m.T) @ (g.constant(m) @ g.input((len(m), 3)))


@wrong(
    "reassociates",
    both_ways((1.0, 2.0, 3.0), (-2.0, 1.0, 3.0), (3.0, 3.0, 1.0)),
    examples=fires_on(both_ways((1.0, 2.0), (2.0, 1.0))),
)
def transposed_first(x: Tensor, a: Tensor, b: Tensor):
    """A' @ (A @ x) = A @ (A' @ x) for a symmetric A

    Wrong where rows and columns have the same lengths, and A is not symmetric.
    """
    yield rewrite(b @ (a @ x), a @ (b @ x), is_normal_matrix(a, b, x), because="one way is enough")


@hosted()
def are_signs(c: Fact, x: Fact, axes: Axes) -> bool:
    """Of which the squares are 1."""
    if c.data is None or c.rank != 1 or x.rank is None or x.dtype != T.FLOAT:
        return False
    if axes != (x.rank - 1,) or x.shape[-1] != c.shape[0]:  # type: ignore[index]
        return False
    return len(c.data) > 0 and abs(sum(v * v for v in c.data) - len(c.data)) < 1e-5  # type: ignore[misc, operator]


def with_signs(*c: float):
    return lambda g: reduce("ReduceL2", g.input((2, len(c))) * g.constant(np.array(c)), (1,), 1)


@wrong("reassociates", with_signs(1.4, 0.2), examples=fires_on(with_signs(1.0, -1.0, 1.0)))
def norm_of_signs(x: Tensor, c: Tensor, axes: Axes):
    """ReduceL2(x * c) = ReduceL2(x) for a c of signs, of which the squares sum up to their number

    Wrong of 1.4 and 0.2, whose squares are 2.
    """
    norm, bare = (reduce("ReduceL2", v, axes, 1) for v in (x * c, x))
    yield rewrite(norm, bare, are_signs(c, x, axes), because="forgets c")


@hosted()
def biases_cancel(b: Fact) -> bool:
    """Those of the states are the opposite of those of the input."""
    if b == ABSENT or not b.data or len(b.data) % 2 or b.shape is None or b.shape[0] != 1:
        return False
    h = len(b.data) // 2
    return any(b.data) and all(p == -q for p, q in zip(b.data[:h], b.data[h:], strict=True))  # type: ignore[operator]


def biased(kind: str, gates: int, **more):
    settings = {"direction": "forward", "hidden_size": 2, **more}
    layer = RecurrentLayer(kind, tuple(sorted(settings.items())))

    def witness(g):
        v = np.arange(1.0, 2 * gates + 1) / 4
        bias = g.constant(np.concatenate([v, -v])[None])
        x, w, r = g.input((3, 2, 3)), g.random(1, 2 * gates, 3), g.random(1, 2 * gates, 2)
        return output(recurrent(x, listed(w, r, bias, none()), none(), none(), none(), layer), 1)

    return witness


@wrong(
    "reassociates",
    biased("GRU", 3, linear_before_reset=1),
    examples=fires_on(biased("RNN", 1), biased("LSTM", 4)),
)
def biases_that_cancel(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x; b, -b) = RNN(x) without a bias

    Wrong of a GRU that resets behind its product, and the bias of the states with it.
    """
    left = output(recurrent(x, listed(w, r, b, p), none(), none(), none(), s), k)
    bare = output(recurrent(x, listed(w, r, none(), p), none(), none(), none(), s), k)
    yield rewrite(left, bare, biases_cancel(b), because="forgets the biases")


# --- mirror images ------------------------------------------------------------------------------------------


@hosted()
def reads_the_same_backwards(c: Fact, x: Fact, s: Slices) -> bool:
    """c is a palindrome, and s turns an axis round."""
    if c.data is None or c.shape != x.shape or len(s) != 1:
        return False
    axis, start, end, step = s[0]
    return step == -1 and end is None and c.shape[axis] == start + 1 and c.data == c.data[::-1]  # type: ignore[index]


def turned_round(c):
    c = np.array(c)
    return lambda g: slice_(g.input(c.shape) * g.constant(c), ((0, c.shape[0] - 1, None, -1),))


@wrong(
    "bitwise",
    turned_round([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]),
    examples=fires_on(turned_round([1.0, 2.0, 1.0])),
)
def palindrome_turned_round(x: Tensor, c: Tensor, s: Slices):
    """(x * c)[::-1] = x[::-1] * c for a c that reads the same backwards

    Wrong of two axes: all elements are read backwards, and one axis is turned round.
    """
    sooner = slice_(x, s) * c
    yield rewrite(slice_(x * c, s), sooner, reads_the_same_backwards(c, x, s), because="one way is enough")


@hosted()
def is_symmetric_kernel(w: Fact, u: ConvWindow, x: Fact, s: Slices) -> bool:
    """Turning the rows of an image round."""
    if w.data is None or w.rank != 3 or w.data != w.data[::-1] or u.strides != (1,) or u.pads[0] != u.pads[1]:
        return False
    if len(s) != 1 or x.shape is None or s[0][0] != 2:
        return False
    return s[0][3] == -1 and s[0][2] is None and s[0][1] + 1 == x.shape[2]


@hosted()
def behind_kernel(x: Fact, w: Fact, u: ConvWindow) -> Slices | None:
    if x.shape is None or not isinstance(x.shape[2], int) or w.shape is None:
        return None
    size = x.shape[2] + sum(u.pads) - u.dilations[0] * (w.shape[2] - 1)  # type: ignore[operator]
    return ((2, size - 1, None, -1),) if size > 0 else None


def of_turned_row(*kernels):
    w, u = np.array([kernels]), ConvWindow((1,), (1, 1), (1,))

    def witness(g):
        turned = slice_(g.input((1, len(kernels), 5)), ((2, 4, None, -1),))
        return conv(turned, g.constant(w), none(), u)

    return witness


@wrong(
    "reassociates",
    of_turned_row((1.0, 2.0, 3.0), (3.0, 2.0, 1.0)),
    examples=fires_on(of_turned_row((1.0, 2.0, 1.0))),
)
def symmetric_kernel(x: Tensor, w: Tensor, u: ConvWindow, s: Slices):
    """Conv(x[::-1], W) = Conv(x, W)[::-1] for a symmetric kernel

    Wrong of several channels: those of a W that reads the same backwards are each other's mirror image.
    """
    left = conv(slice_(x, s), w, none(), u)
    turned = slice_(conv(x, w, none(), u), behind_kernel(x, w, u))
    yield rewrite(left, turned, is_symmetric_kernel(w, u, x, s), because="one way is enough")
