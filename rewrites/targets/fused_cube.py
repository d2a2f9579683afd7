"""Kernels of Ascend: a cube operator (Conv, ConvTranspose, MatMul, Gemm) and what is computed with it.

A kernel is one cube operator with element-wise stages on its result, written as one pseudo-operator whose
operands are the outer ones of all.  It says what is executed at once, not what is computed, and is expanded
when the graph is rebuilt; whoever needs an inner value pays for that again.  So all laws run one way.

Conv(x, w, b) -> Kernel[Conv](x, w, b)

What follows the cube operator: see `ascend_fusion`.
"""

from typing import Annotated, Any

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import (
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    law,
    rewrite,
    rule,
    shorthand,
    table,
    union,
)
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Settings, String, Tensor, Tensors, Unit
from egraph_opt.operators import (
    ConvWindow,
    GemmSettings,
    binary,
    conv,
    conv_transpose,
    gemm,
    matmul,
    none,
    unary,
)
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, Earlier, OnnxForm, Step, operator, operator_named
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.terms import cons, limit, listed, nil
from egraph_opt.rewrites.conditions.formats import runs
from egraph_opt.rewrites.targets.stages import PSEUDO, Stages, steps_of

Cube = Annotated[tuple[str, tuple[Any, ...]], attribute_sort("Cube")]
"""An operator of the cube unit: name and attributes."""

_OPERANDS = {"conv": 3, "conv_transpose": 3, "gemm": 3, "matmul": 2}


def _expand(attributes: tuple[Cube, Stages]) -> tuple[Step, ...]:
    (name, settings), stages = attributes
    first = _OPERANDS[name]
    cube = Step(name, settings, tuple(range(first)))
    return (cube, *steps_of(stages, Earlier(0), 1, first))


def _form(opset: int, attributes: tuple[Cube, Stages], facts: tuple[Fact, ...]) -> OnnxForm | None:
    """FusedCube: the cube operator's inputs, then those of the stages in their order.

    Attributes: `cube` (ONNX operator), `settings` (its attributes), `operands` (how many inputs are its own),
    `stages`.
    """
    (name, settings), stages = attributes
    first = _OPERANDS[name]
    cube = operator_named(name).form(opset, settings, facts[:first])  # type: ignore[misc]
    if cube is None:
        return None
    others = tuple(reversed(range(first, len(facts))))
    described = (
        ("cube", cube.op_type),
        ("operands", len(cube.inputs)),
        ("settings", cube.attributes),
        ("stages", stages),
    )
    return OnnxForm("FusedCube", (*cube.inputs, *others), described, PSEUDO_DOMAIN)


@operator(form=_form, expand=_expand)
def fused_cube(cube: Cube, stages: Stages, operands: Tensors, others: Tensors) -> Tensor:
    """One kernel: a `Cube` on `operands`, then `stages`, whose operands from outside are `others`, the last
    one first."""


# --- the cube operator -----------------------------------------------------------------------------------


@hosted()
def image_cube(name: str, window: ConvWindow, x: Fact) -> Cube | None:
    """A convolution in two or three dimensions; in one there is a squeeze before what follows."""
    return (name, (window,)) if runs(x) and x.rank is not None and x.rank >= 4 else None


@hosted()
def product_cube(x: Fact, y: Fact) -> Cube | None:
    return ("matmul", ()) if runs(x) or runs(y) else None


@hosted()
def gemm_cube(settings: GemmSettings, x: Fact, y: Fact) -> Cube | None:
    return ("gemm", (settings,)) if runs(x) or runs(y) else None


def all_constant(w: Fact, b: Fact) -> bool:
    return w.const and (b.const or b == ABSENT)


@hosted()
def are_constant_weights(operands: tuple[Fact, ...]) -> bool:
    """The weight of a cube operator, and its bias if it has one."""
    return all_constant(operands[1], operands[-1])


@hosted()
def some_computed(operands: tuple[Fact, ...]) -> bool:
    return not all_constant(operands[1], operands[-1])


@shorthand
def cube_operator(cube: Cube, operands: Tensors) -> Tensor:
    """A cube operator, with its attributes and operands."""


@table(merge="first")
def weights(y: Tensor, x: Tensor, cube: Cube) -> Tensors:
    """The operands with which a cube operator makes y of x: the first found, since constants cost nothing."""


@table()
def followed(y: Tensor) -> Unit:
    """An element-wise operator takes y: there may be stages behind it."""


@auxiliary()
def following(op: String, y: Tensor, z: Tensor, c: Tensor, s: Settings):
    """Fills `followed`."""
    for taken in (unary(op, s, y), binary(op, y, c), binary(op, c, y)):
        yield rule(limit("fused_stages"), eq(z, taken), then=followed(y))


@auxiliary()
def cubes(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, rest: Tensors, xs: Tensors, u: ConvWindow, s: GemmSettings,
    cube: Cube,
):  # fmt: skip
    """Says what `cube_operator` is, and fills `weights`."""
    three, demand = listed(x, w, b), guard(limit("fused_stages"))
    for product, made, operands in (
        (conv(x, w, b, u), image_cube("conv", u, x), three),
        (conv_transpose(x, w, b, u), image_cube("conv_transpose", u, x), three),
        (gemm(x, w, b, s), gemm_cube(s, x, w), three),
        (x @ w, product_cube(x, w), listed(x, w)),
    ):
        yield rewrite(product, cube_operator(made, operands), demand)
    found = (eq(y, cube_operator(cube, xs)), eq(xs, cons(x, rest)), are_constant_weights(xs))
    yield rule(*found, then=assign(weights(y, x, cube), xs))


def example_products(g: Operands, rows: int | str = "L") -> tuple[Any, Any]:
    """An image's convolution and a matrix product."""
    window = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
    return (
        conv(g.input(("N", 3, rows, 5)), g.random(4, 3, 3, 3), g.random(4), window),
        matmul(g.input((2, rows, 3)), g.random(3, 4)),
    )


def _kernel_examples(rng):
    g = Operands(rng)
    image, product = example_products(g)
    yield g.fires(relu(image), fused_stages=1)
    yield g.fires(product + g.input((4,)), fused_stages=1)
    yield g.near_miss(relu(image), why="the target fuses nothing")
    yield g.near_miss(image, why="nothing follows", fused_stages=1)
    row = conv(g.input((2, 3, 9)), g.random(4, 3, 3), none(), ConvWindow((1,), (1, 1), (1,)))
    yield g.near_miss(relu(row), why="one dimension", fused_stages=1)


@law(
    "ascend.fusion",
    numerics="bitwise",
    kind="fuse",
    serves="target",
    source="the definition of the pseudo-operator",
    uses=(cubes, following),
    examples=_kernel_examples,
)
def cube_kernel(x: Tensor, y: Tensor, xs: Tensors, cube: Cube):
    """Conv(x, w, b) = Kernel[Conv](x, w, b)

    The same for ConvTranspose, MatMul and Gemm, where an element-wise operator follows.  Of all constant
    weights that give one value one will do: other laws spell them in a dozen ways.
    """
    kernel, demand = fused_cube(cube, (), xs, nil()), guard(limit("fused_stages"), followed(y))
    computed = (eq(y, cube_operator(cube, xs)), guard(some_computed(xs)))
    yield rule(computed, demand, then=union(y, kernel), because=PSEUDO)
    yield rule(eq(xs, weights(y, x, cube)), demand, then=union(y, kernel), because=PSEUDO)
