"""Products of matrices whose rows were joined or moved, and are parted or moved back behind.

Reshape(x) @ W -> Reshape(x @ W)              where the view keeps x's last axis, W is one matrix
Transpose_p(x) @ W -> Transpose_p(x @ W)      where p does
Transpose_q(Reshape(x) @ W) -> Reshape(Transpose_p(x)) @ W      where the view joins axes, x being a Transpose
Transpose_q(Reshape(Reshape(x) @ W + b)) -> Reshape(Transpose_p(x)) @ W + b         likewise

The first two only where something becomes a tensor with the rows of x, or is transposed back: there what is
behind has its inverse.  The last has two transposes that are one.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Permutation, Tensor, Unit
from egraph_opt.operators import reshape, transpose
from egraph_opt.rewrites.transposes.composition import invert
from egraph_opt.rewrites.transposes.view_order import over_joined


@hosted()
def keeps_rows(x: Fact, dims: Dims, w: Fact) -> bool:
    """The view joins axes of the rows of x, or parts them into no axis of 1; W is one matrix.

    It is not an empty one: rows without elements may be any number of rows to a view.
    """
    if x.shape is None or min(len(x.shape), len(dims)) < 2 or w.rank != 2 or w.shape is None:
        return False
    if not isinstance(w.shape[0], int) or w.shape[0] == 0:
        return False
    parts = len(x.shape) < len(dims) and dims.count(1) <= x.shape.count(1)
    return (parts or len(x.shape) > len(dims)) and symbolic.known_equal(x.shape[-1], dims[-1])


@table()
def parted(rows: Dims) -> Unit:
    """Something is viewed as rows of these dims."""


@hosted()
def rows_of(dims: Dims) -> Dims | None:
    return dims[:-1] or None


@hosted()
def rows_of_heads(dims: Dims) -> Dims | None:
    return dims[:-2] or None


@hosted()
def rows_of_operand(x: Fact) -> Dims | None:
    return x.shape[:-1] if x.is_symbolic and x.shape else None


@auxiliary()
def parting(x: Tensor, d: Dims):
    """Fills `parted`, also where the columns are parted into heads."""
    yield rule(reshape(x, d), then=parted(rows_of(d)))
    yield rule(reshape(x, d), then=parted(rows_of_heads(d)))


# --- moved rows -----------------------------------------------------------------------------------------


@hosted()
def keeps_last(p: Permutation, w: Fact) -> bool:
    """A transpose of two axes or more leaves the last one alone, along which a matrix sums."""
    return len(p) > 1 and p[-1] == len(p) - 1 and w.rank == 2


@table()
def turned(p: Permutation) -> Unit:
    """Something is transposed in the way that undoes p."""


@auxiliary()
def turning(x: Tensor, p: Permutation):
    """Fills `turned`."""
    yield rule(transpose(x, p), then=turned(invert(p)))


# --- both -----------------------------------------------------------------------------------------------


@hosted()
def dims_of_product(dims: Dims, w: Fact) -> Dims | None:
    return (*dims[:-1], w.shape[-1]) if w.is_symbolic and w.shape else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, rows = g.input(("N", 2, 12)), g.random(12, 8), symbolic.mul("N", 2)
    yield g.fires(reshape(relu(reshape(x, (rows, 12)) @ w), ("N", 2, 8)))
    yield g.fires(reshape(reshape(x, (rows, 12)) @ w, ("N", 2, 4, 2)))
    wide = reshape(g.input((2, 3, 4, 5)), (6, 4, 5)) @ g.input((5, 7))
    yield g.fires(reshape(wide, (2, 3, 4, 7)))
    narrow = reshape(g.input((6, 4, 5)), (2, 3, 4, 5)) @ g.input((5, 7))
    yield g.fires(reshape(relu(narrow), (6, 4, 7)))
    yield g.near_miss(reshape(narrow, (24, 7)), why="the rows of x are not asked for, here either")
    yield g.near_miss(reshape(wide, (24, 7)), why="the rows of x are not asked for")
    yield g.near_miss(reshape(reshape(g.input((4, 6)), (2, 12)) @ w, (4, 4)), why="rows are joined")
    stack = reshape(g.input((2, 3, 4, 5)), (6, 4, 5)) @ g.input((6, 5, 7))
    yield g.near_miss(reshape(stack, (2, 3, 4, 7)), why="W is a stack of matrices")
    moved = transpose(g.input((4, 2, 12)), (1, 0, 2)) @ w
    yield g.fires(transpose(relu(moved), (1, 0, 2)))
    yield g.near_miss(transpose(x, (1, 0, 2)) @ g.random(2, 12, 8), why="W is a stack")
    yield g.near_miss(transpose(g.input((4, 3, 2, 12)), (2, 0, 1, 3)) @ w, why="nothing is transposed back")
    last = transpose(g.input((4, 12, 2)), (0, 2, 1))
    yield g.near_miss(transpose(last @ w, (0, 2, 1)), why="the last axis moves")
    vector = reshape(g.input((12,)), (1, 12)) @ w
    yield g.near_miss(reshape(vector, (2, 4)), why="x is a vector")


@law(
    "matmul",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="Ascend auto-optimizer, DynamicReshape; Swin Transformer, arXiv 2103.14030: windows and back",
    examples=_examples,
    uses=(parting, turning),
)
def rows_of_product(x: Tensor, w: Tensor, d: Dims, p: Permutation):
    """Reshape(x) @ W = Reshape(x @ W), Transpose_p(x) @ W = Transpose_p(x @ W), the last axis being kept"""
    behind, demand = reshape(x @ w, dims_of_product(d, w)), guard(parted(rows_of_operand(x)))
    yield rewrite(reshape(x, d) @ w, behind, keeps_rows(x, d, w), demand, because="only with demand")
    demand = guard(turned(p))
    yield rewrite(
        transpose(x, p) @ w, transpose(x @ w, p), keeps_last(p, w), demand, because="only with demand"
    )


# --- in front of joined columns ---------------------------------------------------------------------------


def _joined(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    both, w = transpose(g.input(("L", 2, "N", 4)), (0, 2, 1, 3)), g.random(8, 5)
    yield g.fires(transpose(reshape(both, ("L", "N", 8)) @ w, (1, 0, 2)))
    plain, cube = reshape(g.input(("L", "N", 2, 4)), ("L", "N", 8)), transpose(g.input((2, 3, 4)), (1, 0, 2))
    yield from g.near_misses(
        (transpose(plain @ w, (1, 0, 2)), "it would meet no transpose"),
        (transpose(reshape(both, ("L", "N", 8)) @ w, (0, 2, 1)), "columns are transposed"),
        (transpose(reshape(cube, (2, 3, 4)) @ g.random(4, 5), (1, 0, 2)), "the view joins nothing"),
    )


@law(
    "matmul",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="CRNN, arXiv 1507.05717: bidirectional LSTMs in front of a classifier",
    examples=_joined,
)
def rows_of_joined(x: Tensor, y: Tensor, w: Tensor, d: Dims, p: Permutation, q: Permutation):
    """Transpose_q(Reshape(x) @ W) = Reshape(Transpose_p(x)) @ W where the view joins axes

    Where x is a Transpose, with which that one is one.
    """
    first = over_joined(q, x, d)
    before, written = reshape(transpose(x, first[0]), first[1]), guard(eq(x, transpose(y, p)))
    product = transpose(reshape(x, d) @ w, q)
    yield rewrite(product, before @ w, keeps_last(q, w), written, because="forgets what was joined")


@hosted()
def parted_again(dims: Dims, y: Fact, w: Fact) -> Dims | None:
    """The dims of a view of y @ W that keeps its columns as those of one of y; W is no empty matrix."""
    columns = w.shape[-1] if w.rank == 2 and w.shape else None
    if y.shape is None or not dims or not isinstance(columns, int) or not columns or len(dims) < 2:
        return None
    return (*dims[:-1], y.shape[-1]) if y.shape[-1] != 0 and dims[-1] == columns else None


@hosted()
def is_row(b: Fact, w: Fact) -> bool:
    """b is one row for all of x @ W, or one number."""
    columns = w.shape[-1] if w.shape else None
    return b.shape in ((), (1,)) or (b.rank == 1 and b.shape == (columns,) and isinstance(columns, int))


def _parted(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    both, w, b = transpose(g.input(("L", 2, 3, 4)), (0, 2, 1, 3)), g.random(8, 5), g.random(5)
    flat = reshape(both, ("3*L", 8))
    yield from g.all_fire(
        transpose(reshape(flat @ w, ("L", 3, 5)), (1, 0, 2)),
        transpose(reshape(flat @ w + b, ("L", 3, 5)), (1, 0, 2)),
        transpose(reshape(flat @ w + g.input((1,)), ("L", 3, 5)), (1, 0, 2)),
    )
    plain, wide = reshape(g.input(("L", 3, 2, 4)), ("3*L", 8)), g.random(8, 6)
    cube = reshape(transpose(g.input((4, 2, 4, 2)), (0, 2, 1, 3)), (16, 4))
    square, row = g.random(4, 4), g.random(4)
    yield from g.near_misses(
        (transpose(reshape(plain @ w, ("L", 3, 5)), (1, 0, 2)), "it would meet no transpose"),
        (transpose(reshape(flat @ w, ("L", 3, 5)), (1, 2, 0)), "columns are transposed"),
        (transpose(reshape(cube @ square, (4, 4, 4)), (1, 2, 0)), "columns of a cube are transposed"),
        (transpose(reshape(cube @ square + row, (4, 4, 4)), (1, 2, 0)), "columns of a cube are transposed"),
        (transpose(reshape(cube @ square + g.random(16, 4), (4, 4, 4)), (1, 0, 2)), "rows differ in b"),
        (transpose(reshape(flat @ wide, ("L", 3, 3, 2)), (1, 0, 2, 3)), "columns are parted"),
        (transpose(reshape(relu(flat @ w), ("L", 3, 5)), (1, 0, 2)), "a function is between"),
    )


@law(
    "matmul",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="torch.nn.MultiheadAttention: heads are joined, and tokens with the batch, in front of a Gemm",
    examples=_parted,
)
def rows_of_parted(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, d: Dims, e: Dims, p: Permutation, q: Permutation
):  # fmt: skip
    """Transpose_q(Reshape(Reshape(x) @ W + b)) = Reshape(Transpose_p(x)) @ W + b where both views join axes

    Where x is a Transpose, with which that one is one; with and without b.
    """
    flat = reshape(x, d)
    first = over_joined(q, x, parted_again(e, flat, w))
    made, written = reshape(transpose(x, first[0]), first[1]) @ w, guard(eq(x, transpose(y, p)))
    product, known = transpose(reshape(flat @ w, e), q), keeps_last(q, w)
    yield rewrite(product, made, known, written, because="forgets what was joined")
    shifted = transpose(reshape(flat @ w + b, e), q)
    yield rewrite(shifted, made + b, known, is_row(b, w), written, because="forgets what was joined")
