"""Kernels of Ascend: a cube operator (Conv, ConvTranspose, MatMul, Gemm) and what is computed with it.

A kernel is one cube operator with element-wise stages on its result, written as one pseudo-operator whose
operands are the outer ones of all.  It says what is executed at once, not what is computed, and is expanded
when the graph is rebuilt; whoever needs an inner value pays for that again.  So all laws run one way.

Conv(x, w, b) -> Kernel[Conv](x, w, b)

What follows the cube operator: see `ascend_fusion`.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Operands, assign, auxiliary, eq, hosted, law, rewrite, rule, table, union
from egraph_opt.laws.sorts import Tensor, Tensors
from egraph_opt.operators import ConvWindow, GemmSettings, conv, conv_transpose, gemm, matmul, none
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, Earlier, OnnxForm, Step, operator, operator_named
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.terms import limit, listed, nil

Cube = Annotated[tuple[str, tuple[Any, ...]], attribute_sort("Cube")]
"""An operator of the cube unit: name and attributes."""

Stage = tuple[str, tuple[Any, ...], str, int]
"""An element-wise stage: ONNX operator, its attributes, its other operand and that operand's position.  The
operand is "" where there is none, "value" or "constant" for a tensor from outside, "cube" for the cube
operator's own result."""

Stages = Annotated[tuple[Stage, ...], attribute_sort("Stages")]

OUTSIDE = ("value", "constant")

_FLOATS = frozenset((1, 10, 16))
PSEUDO = "a kernel is expanded when the graph is rebuilt"

_OPERANDS = {"conv": 3, "conv_transpose": 3, "gemm": 3, "matmul": 2}


def _expand(attributes: tuple[Cube, Stages]) -> tuple[Step, ...]:
    (name, settings), stages = attributes
    first = _OPERANDS[name]
    steps = [Step(name, settings, tuple(range(first)))]
    values = sum(source in OUTSIDE for _, _, source, _ in stages)
    for op, own, source, position in stages:
        result = Earlier(len(steps) - 1)
        if not source:
            steps.append(Step("unary", (op, own), (result,)))
            continue
        other: int | Earlier = Earlier(0)
        if source in OUTSIDE:
            values -= 1
            other = first + values  # the last stage's operand stands first
        steps.append(Step("binary", (op,), (other, result) if position == 0 else (result, other)))
    return tuple(steps)


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
    return (name, (window,)) if _runs(x) and x.rank is not None and x.rank >= 4 else None


@hosted()
def product_cube(x: Fact, y: Fact) -> Cube | None:
    return ("matmul", ()) if _runs(x) or _runs(y) else None


@hosted()
def gemm_cube(settings: GemmSettings, x: Fact, y: Fact) -> Cube | None:
    return ("gemm", (settings,)) if _runs(x) or _runs(y) else None


def _runs(x: Fact) -> bool:
    """A float value that is computed when the model runs."""
    return x.dtype in _FLOATS and not x.const


@hosted()
def all_constant(w: Fact, b: Fact) -> bool:
    return w.const and (b.const or b == ABSENT)


@hosted()
def some_computed(w: Fact, b: Fact) -> bool:
    return not all_constant(w, b)


def _cubes(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: GemmSettings) -> Iterator[Any]:
    """The cube operators, each with its operands, its bias and the `Cube` that it is."""
    three = listed(x, w, b)
    yield conv(x, w, b, u), three, b, image_cube("conv", u, x)
    yield conv_transpose(x, w, b, u), three, b, image_cube("conv_transpose", u, x)
    yield gemm(x, w, b, s), three, b, gemm_cube(s, x, w)
    yield x @ w, listed(x, w), ABSENT, product_cube(x, w)


@table(merge="first")
def weights(y: Tensor, x: Tensor, cube: Cube) -> Tensors:
    """The operands with which a cube operator makes y of x: the first found, since constants cost nothing."""


@auxiliary()
def constant_weights(x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: GemmSettings):
    """Fills `weights`."""
    for product, operands, bias, cube in _cubes(x, w, b, u, s):
        entry = weights(y, x, cube)
        yield rule(eq(y, product), all_constant(w, bias), then=assign(entry, operands))


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
    yield g.fires(image, fused_stages=1)
    yield g.fires(product, fused_stages=1)
    yield g.near_miss(image, why="the target fuses nothing")
    row = conv(g.input((2, 3, 9)), g.random(4, 3, 3), none(), ConvWindow((1,), (1, 1), (1,)))
    yield g.near_miss(row, why="one dimension", fused_stages=1)


@law(
    "ascend.fusion",
    numerics="bitwise",
    kind="fuse",
    serves="target",
    source="the definition of the pseudo-operator",
    uses=(constant_weights,),
    examples=_kernel_examples,
)
def cube_kernel(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, xs: Tensors, u: ConvWindow, s: GemmSettings, cube: Cube
):
    """Conv(x, w, b) = Kernel[Conv](x, w, b)

    The same for ConvTranspose, MatMul and Gemm.  Of all constant weights that give one value one will do:
    other laws spell them in a dozen ways.
    """
    runs = limit("fused_stages")
    for product, operands, bias, made in _cubes(x, w, b, u, s):
        kernel = fused_cube(made, (), operands, nil())
        yield rewrite(product, kernel, runs, some_computed(w, bias), because=PSEUDO)
    found = union(y, fused_cube(cube, (), xs, nil()))
    yield rule(runs, eq(xs, weights(y, x, cube)), then=found, because=PSEUDO)
