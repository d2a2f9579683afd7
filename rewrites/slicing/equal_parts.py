"""An equal part of an axis is one place along an axis of its own, which a transpose of all parts brings to
the front.

T(Reshape(Slice(x))) -> Slice_0(T'(Reshape(x)))               for one of several equal parts
T(Reshape(Slice(x))) -> T''(Slice_0(T'(Reshape(x))))          where another part has another transpose

The heads of queries, keys and values, parts of one projection, are one transpose and a Split.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, ne, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Int, Permutation, Slices, Tensor
from egraph_opt.operators import reshape, slice_, transpose
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims
from egraph_opt.rewrites.slicing.slice import taken_by
from egraph_opt.rewrites.transposes.composition import is_identity

law = laws_of(
    "split",
    numerics="bitwise",
    resumes=True,
    kind="move",
    serves="launches",
    source="Ascend auto-optimizer, SplitQKVMatmul; Vaswani et al., Attention Is All You Need",
)


def _part(x: Fact, s: Slices) -> tuple[int, int, int] | None:
    """The axis of which a slice takes an equal part, how many there are, and which of them it takes."""
    if x.shape is None or len(s) != 1:
        return None
    (axis, _, _, step), dim = s[0], x.shape[s[0][0]]
    if step != 1 or not isinstance(dim, int):
        return None
    taken = taken_by(s[0], dim)
    width = len(taken)
    if width < 2 or width == dim or dim % width or taken.start % width:
        return None  # one element is a place already, of which other laws speak
    return axis, dim // width, taken.start // width


def _lead(x: Fact, s: Slices, dims: Shape) -> tuple[Shape, Shape] | None:
    """The dims of a view of a part in front of where the part begins, and behind; those of one left out.

    So views that differ in such axes only become one view of the whole.
    """
    found = _part(x, s)
    if found is None or x.shape is None:
        return None
    lead, view = (tuple(d for d in shape if d != 1) for shape in (x.shape[: found[0]], dims))
    if not same_dims(lead, view[: len(lead)]):
        return None
    return lead, view[len(lead) :]


@hosted()
def parted(x: Fact, s: Slices, dims: Dims) -> Dims | None:
    """The dims of x with its parts on an axis of their own, where each begins as it is reshaped."""
    found, split = _part(x, s), _lead(x, s, dims)
    return None if found is None or split is None else (*split[0], found[1], *split[1])


@hosted()
def parts_in_front(x: Fact, s: Slices, dims: Dims, p: Permutation) -> Permutation | None:
    """The permutation of each part, with that of the parts in front."""
    split, axes = _lead(x, s, dims), [k for k, d in enumerate(dims) if d != 1]
    moved = tuple(axes.index(k) for k in p if k in axes)
    if split is None or is_identity(moved):
        return None
    place = len(split[0])
    return (place, *(k if k < place else k + 1 for k in moved))


@hosted()
def place_of_part(x: Fact, s: Slices) -> Slices | None:
    found = _part(x, s)
    return None if found is None else ((0, found[2], found[2] + 1, 1),)


def _parts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, image = g.input(("N", 5, 24)), g.input((2, 12, 3, 4))
    heads, p = ("N", 5, 2, 4), (0, 2, 1, 3)

    def part(first: int, size: int) -> Tensor:
        return slice_(x, ((2, first, first + size, 1),))  # type: ignore[no-any-return]

    yield from g.all_fire(
        transpose(reshape(part(0, 8), heads), p),
        transpose(reshape(part(16, 8), heads), (2, 3, 0, 1)),
        transpose(reshape(slice_(image, ((1, 6, 12, 1),)), (2, 2, 3, 12)), (0, 1, 3, 2)),
    )
    yield from g.near_misses(
        (transpose(reshape(part(4, 8), heads), p), "it begins within a part"),
        (transpose(reshape(part(0, 10), ("N", 5, 2, 5)), p), "the parts are not equal"),
        (transpose(reshape(part(3, 1), (1, "N", 5)), (1, 2, 0)), "it is a place"),
        (transpose(reshape(slice_(x, ((2, 0, 16, 2),)), heads), p), "every other element"),
        (transpose(reshape(slice_(image, ((1, 0, 6, 1),)), (3, 4, 12)), (1, 0, 2)), "no axis is in front"),
    )


def _place_in_whole(x: Tensor, s: Slices, d: Dims, p: Permutation, dims: Dims) -> Tensor:
    """The part as one place of all parts, transposed."""
    whole = transpose(reshape(x, parted(x, s, d)), parts_in_front(x, s, d, p))
    return reshape(slice_(whole, place_of_part(x, s)), dims)  # type: ignore[no-any-return]


@law(examples=_parts)
def transposed_part(x: Tensor, s: Slices, d: Dims, p: Permutation, i: Int, k: Int):
    """T(Reshape(Slice(x))) = Slice_0(T'(Reshape(x))) of one of several equal parts"""
    part = transpose(reshape(slice_(x, s), d), p)
    # What laws made of x, such as one with a scale in its weight, has the same parts again.
    demand = guard(varies(x), eq(x, node(i)), eq(part, node(k)))
    yield rewrite(part, _place_in_whole(x, s, d, p, known_dims(part)), demand, because="all are more to move")


@hosted()
def after(q: Permutation, p: Permutation) -> Permutation | None:
    """What is done after q, so that both are p."""
    return tuple(map(q.index, p)) if sorted(p) == sorted(q) else None


def _two(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, heads = g.input(("N", 5, 16)), ("N", 5, 2, 4)
    one, other = (reshape(slice_(x, ((2, k, k + 8, 1),)), heads) for k in (0, 8))
    p, q = (0, 2, 1, 3), (0, 2, 3, 1)
    yield g.fires(transpose(one, p) @ transpose(other, q))
    yield from g.near_misses(
        (transpose(one, p) * transpose(other, p), "one transpose"),
        (transpose(one, p) @ transpose(one, q), "of one part"),
    )


@law(examples=_two)
def as_another_part(
    x: Tensor, y: Tensor, z: Tensor, s: Slices, t: Slices, d: Dims, p: Permutation, q: Permutation,
    i: Int, k: Int,
):  # fmt: skip
    """T(Reshape(Slice(x))) = T''(Slice_0(T'(Reshape(x)))) where another part has another transpose"""
    part, other = transpose(reshape(slice_(x, s), d), p), transpose(reshape(slice_(x, t), d), q)
    demand = guard(ne(p, q), ne(s, t), eq(part, y), eq(y, node(i)), eq(z, node(k)), varies(x))
    made = transpose(_place_in_whole(x, s, d, q, known_dims(other)), after(q, p))
    yield rewrite(part, made, eq(other, z), demand, because="all are more to move")
