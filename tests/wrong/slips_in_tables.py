"""Tables by rank and by equation with a slip in an entry that no example shows."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Equation, Permutation, Tensor, hosted, listed, relu, rewrite
from egraph_opt.operators import einsum, reshape, softmax, transpose

from . import fires_on, is_single, of_one, of_two, wrong

TO_LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
TO_SECOND = {3: (0, 2, 1), 4: (0, 3, 1, 2), 5: (0, 4, 2, 3, 1)}
"""Orders in which channels are last, and second again."""

SHAPE = (2, 3, 4, 2, 3)


@hosted()
def go_and_come_back(p: Permutation, q: Permutation) -> bool:
    return p == TO_LAST.get(len(p)) and q == TO_SECOND.get(len(q))


def back(n: int):
    return of_one(lambda x: transpose(relu(transpose(x, TO_LAST[n])), TO_SECOND[n]), SHAPE[:n])


@wrong("bitwise", back(5), examples=fires_on(back(4), back(3)))
def relu_of_last(x: Tensor, p: Permutation, q: Permutation):
    """Transpose(Relu(Transpose(x))) = Relu(x) where channels go last and come back

    Wrong of rank 5, of which the table has a slip.
    """
    yield rewrite(
        transpose(relu(transpose(x, p)), q), relu(x), go_and_come_back(p, q), because="there and back"
    )


LAST_OF = {3: 2, 4: 3, 5: 3}


@hosted()
def second_axis(p: Permutation, a: Axis) -> Axis | None:
    """Of channels, where they are last."""
    return 1 if p == TO_LAST.get(len(p)) and a == LAST_OF[len(p)] else None


def softmax_of(n: int):
    return of_one(lambda x: softmax("Softmax", transpose(x, TO_LAST[n]), LAST_OF[n]), SHAPE[:n])


@wrong("reassociates", softmax_of(5), examples=fires_on(softmax_of(4), softmax_of(3)))
def softmax_of_last(x: Tensor, p: Permutation, a: Axis):
    """Softmax_last(Transpose(x)) = Transpose(Softmax_1(x)) where channels go last

    Wrong of rank 5, of which the table has a slip.
    """
    yield rewrite(
        softmax("Softmax", transpose(x, p), a),
        transpose(softmax("Softmax", x, second_axis(p, a)), p),
        because="where they are",
    )


@hosted()
def order_of_rest(x: Fact, p: Permutation, d: Dims) -> Permutation | None:
    """Images of one column: the order of the axes that are left."""
    if not x.is_static or p not in ((0, 2, 1, 3), (0, 2, 3, 1, 4)) or x.shape[-1] != 1:  # type: ignore[index]
        return None
    left = {4: (0, 2, 1), 5: (0, 2, 1, 3)}[len(p)]
    return left if d == tuple(x.shape[k] for k in p)[:-1] else None  # type: ignore[index]


@hosted()
def without_last(x: Fact) -> Dims | None:
    return x.shape[:-1] if x.is_static else None  # type: ignore[index]


def squeezed(shape: tuple[int, ...], p: tuple[int, ...]):
    dims = tuple(shape[k] for k in p)[:-1]
    return of_one(lambda x: reshape(transpose(x, p), dims), shape)


@wrong(
    "bitwise",
    squeezed((2, 3, 3, 3, 1), (0, 2, 3, 1, 4)),
    examples=fires_on(squeezed((2, 3, 4, 1), (0, 2, 1, 3))),
)
def squeezed_before_turn(x: Tensor, p: Permutation, d: Dims):
    """Squeeze(Transpose(x)) = Transpose(Squeeze(x)) of columns

    Wrong of rank 5, of which the table has a slip.
    """
    yield rewrite(
        reshape(transpose(x, p), d),
        transpose(reshape(x, without_last(x)), order_of_rest(x, p, d)),
        because="one column",
    )


ATTENTION = {
    "bhqd,bhkd->bhqk": ((0, 1, 2, 3), (0, 1, 3, 2)),
    "bqhd,bkhd->bhqk": ((0, 2, 1, 3), (0, 2, 3, 1)),
    "bhqk,bhkd->bhqd": ((0, 1, 2, 3), (0, 1, 2, 3)),
    "bhqk,bkhd->bhqd": ((0, 1, 2, 3), (0, 2, 1, 3)),
    "bhdq,bhdk->bhqk": ((0, 1, 3, 2), (0, 1, 3, 2)),
}
"""How the operands of a product of heads are turned."""


@hosted()
def turned_for(e: Equation, k: int) -> Permutation | None:
    return ATTENTION[e][k] if e in ATTENTION else None


@hosted()
def letters_agree(e: Equation, x: Fact, y: Fact) -> bool:
    """Each letter has one length, and none of them 1 or 0."""
    if not (x.is_static and y.is_static) or {0, 1} & {*x.shape, *y.shape}:  # type: ignore[misc]
        return False
    a, b = e.partition("->")[0].split(",")
    pairs = [*zip(a, x.shape, strict=True), *zip(b, y.shape, strict=True)]  # type: ignore[arg-type]
    return len({letter for letter, _ in pairs}) == len({*pairs})


def heads(e: str, shape: tuple[int, ...] = (2, 3, 4, 4)):
    return of_two(lambda x, y: einsum(e, listed(x, y)), shape)


@wrong(
    "reassociates",
    heads("bhdq,bhdk->bhqk"),
    examples=fires_on(heads("bhqd,bhkd->bhqk"), heads("bqhd,bkhd->bhqk", (2, 3, 2, 4))),
)
def products_of_heads(e: Equation, x: Tensor, y: Tensor):
    """Einsum of heads = a product of matrices, both turned

    Wrong of the last equation, whose keys are not to be turned.
    """
    yield rewrite(
        einsum(e, listed(x, y)),
        transpose(x, turned_for(e, 0)) @ transpose(y, turned_for(e, 1)),
        letters_agree(e, x, y),
        is_single(x),
        because="a product of matrices",
    )
