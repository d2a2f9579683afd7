"""Where the element of a view stands in what it is a view of.

The flat index of both is one number.  Taken apart by division it is out of a solver's reach where the dims
are symbols, so axes are first put into the smallest groups that have as many elements on both sides, and a
division by a dim is done on the polynomial wherever that is enough.
"""

from __future__ import annotations

import z3

from egraph_opt.semantics.polynomials import divided
from egraph_opt.semantics.values import Index, Scene, is_number, number, product


def reshaped_index(scene: Scene, index: Index, shape: Index, source: Index) -> list[z3.ArithRef]:
    """Where the element at an index of a tensor of `shape` stands in one of `source`."""
    asked = (*index, *shape, *source)
    key = len(index), tuple(formula.get_id() for formula in asked)
    if key not in scene.places:
        scene.places[key] = asked, _place(scene, index, shape, source)
    return scene.places[key][1]


def _place(scene: Scene, index: Index, shape: Index, source: Index) -> list[z3.ArithRef]:
    found: list[z3.ArithRef] = []
    for here, there in groups(scene, shape, source):
        dims, own = [source[k] for k in there], [(index[k], shape[k]) for k in here]
        own = [(i, d) for i, d in own if not is_number(d, 1)]
        flat: z3.ArithRef = number(0)
        for i, d in own:
            flat = z3.simplify(flat * d + i, som=True)
        found += _apart(scene, flat, dims)
    return found


def _apart(scene: Scene, flat: z3.ArithRef, dims: list[z3.ArithRef]) -> list[z3.ArithRef]:
    """The index whose flat index is given."""
    many = [k for k, dim in enumerate(dims) if not is_number(dim, 1)]
    found = [number(0)] * len(dims)
    for k in reversed(many):
        if k == many[0]:
            found[k] = flat
        else:
            flat, found[k] = divided(scene, flat, dims[k])
    return found


def groups(scene: Scene, left: Index, right: Index) -> list[tuple[list[int], list[int]]]:
    """Consecutive axes of two shapes that have as many elements on both sides, as few together as may be."""
    found: list[tuple[list[int], list[int]]] = []
    a = b = 0
    while a < len(left) or b < len(right):
        size = next(
            (
                (i, j)
                for total in range(1, len(left) - a + len(right) - b + 1)
                for i in range(min(total, len(left) - a), -1, -1)
                for j in [total - i]
                if j <= len(right) - b and scene.same(product(left[a : a + i]), product(right[b : b + j]))
            ),
            (len(left) - a, len(right) - b),
        )
        found.append((list(range(a, a + size[0])), list(range(b, b + size[1]))))
        a, b = a + size[0], b + size[1]
    return found
