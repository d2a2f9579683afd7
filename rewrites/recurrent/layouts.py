"""Which axes are what in transposes and views of a recurrent layer's outputs; no laws here."""

from typing import Annotated

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import assign, auxiliary, eq, hosted, rule, table
from egraph_opt.laws.sorts import Bundle, Dims, Int, Permutation, Tensor, Tensors
from egraph_opt.operators import output, recurrent, reshape, transpose
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.recurrent import RecurrentLayer

Layout = Annotated[str, attribute_sort("Layout")]
"""What each axis of a tensor is: S steps, D directions, B batch, H hidden units, X those of both
directions, one after the other, 1 nothing (its dim is 1)."""

LAYOUTS = ("SDBH", "DBH", "DBH")
"""The layouts of a layer's outputs."""


@table()
def layout(v: Tensor, layer: Bundle, k: Int) -> Layout:
    """The axes of v, which has the elements of output k of a layer."""


@hosted()
def layout_of_output(s: RecurrentLayer, k: int) -> Layout:
    return LAYOUTS[k] if s.direction == "bidirectional" else LAYOUTS[k].replace("D", "1")


@hosted()
def layout_of_transpose(axes: Layout, p: Permutation) -> Layout:
    return "".join(axes[axis] for axis in p)


@hosted()
def layout_of_view(axes: Layout, v: Fact, dims: Dims) -> Layout | None:
    """The axes of a view that inserts and takes away axes of 1, and joins directions with hidden units."""
    if not v.is_symbolic or len(axes) != v.rank:
        return None
    left = [(name, dim) for name, dim in zip(axes, v.shape or (), strict=True) if name != "1"]
    found = ""
    for dim in dims:
        if left and symbolic.known_equal(dim, left[0][1]):
            found += left.pop(0)[0]
        elif [name for name, _ in left[:2]] == ["D", "H"] and symbolic.known_equal(
            dim, symbolic.mul(left[0][1], left[1][1])
        ):
            found, left = found + "X", left[2:]
        elif dim == 1:
            found += "1"
        else:
            return None
    return None if left else found


@auxiliary()
def layouts(v: Tensor, x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, b: Bundle,
            p: Permutation, d: Dims, k: Int):  # fmt: skip
    """Fills `layout`."""
    made = eq(b, recurrent(x, w, n, h, c, s))
    yield rule(made, eq(v, output(b, k)), then=assign(layout(v, b, k), layout_of_output(s, k)))
    known = layout(x, b, k)
    yield rule(known, eq(v, transpose(x, p)), then=assign(layout(v, b, k), layout_of_transpose(known, p)))
    yield rule(known, eq(v, reshape(x, d)), then=assign(layout(v, b, k), layout_of_view(known, x, d)))
