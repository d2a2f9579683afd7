"""The laws of prices on 3,000 random nodes: a price is positive, grows with the work, and not much faster
than it, rises with no resource that gets faster, and of a fused kernel it is at most that of its parts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from onnx import TensorProto

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import PSEUDO_DOMAIN

NODES = 3000
CHIPS = ("310p3", "310", "910b3")
FASTER = ("cores", "vector_cores", "clock_ghz", "memory_gbs", "l2_bytes")
CLIFF = 1.5
"""How many times faster than the work a price may grow."""

Shape = tuple[int, ...]
Maker = Callable[[Shape], NodeView]


def fact(*shape: int, const: bool = False) -> Fact:
    return Fact(TensorProto.FLOAT, shape, const=const)


def simple(op: str, count: int = 1, **attributes: object) -> Maker:
    """An operator on operands of one shape, which is its result's as well."""
    return lambda shape: NodeView(op, "", attributes, (fact(*shape),) * count, (fact(*shape),))


def reduction(shape: Shape) -> NodeView:
    return NodeView("ReduceSum", "", {"axes": (-1,)}, (fact(*shape),), (fact(*shape[:-1], 1),))


def transpose(shape: Shape) -> NodeView:
    return NodeView(
        "Transpose", "", {"perm": (1, 0, 2, 3)}, (fact(*shape),), (fact(shape[1], shape[0], *shape[2:]),)
    )


def convolution(shape: Shape) -> NodeView:
    weight = fact(64, shape[1], 3, 3, const=True)
    return NodeView(
        "Conv", "", {"pads": (1, 1, 1, 1)}, (fact(*shape), weight), (fact(shape[0], 64, *shape[2:]),)
    )


def product(shape: Shape) -> NodeView:
    """Of whole tiles: of others an operand is converted, which is the documented exception."""
    rows, inner = 16 * shape[2], 16 * shape[3]
    y = fact(shape[0], rows, 256)
    return NodeView("MatMul", "", {}, (fact(shape[0], rows, inner), fact(inner, 256, const=True)), (y,))


def pool(shape: Shape) -> NodeView:
    attributes = {"kernel_shape": (2, 2), "strides": (1, 1)}
    return NodeView("MaxPool", "", attributes, (fact(*shape),), (fact(*shape),))


def concat(shape: Shape) -> NodeView:
    return NodeView("Concat", "", {"axis": 0}, (fact(*shape),) * 2, (fact(2 * shape[0], *shape[1:]),))


def gather(shape: Shape) -> NodeView:
    picked = Fact(TensorProto.INT64, (shape[0],))
    return NodeView("Gather", "", {"axis": 0}, (fact(*shape), picked), (fact(*shape),))


def largest(shape: Shape) -> NodeView:
    indices = Fact(TensorProto.INT64, (*shape[:-1], 1))
    return NodeView("ArgMax", "", {"axis": -1}, (fact(*shape),), (indices,))


def scatter(shape: Shape) -> NodeView:
    """Rows that are written at indices."""
    operands = fact(*shape), Fact(TensorProto.INT64, (shape[0], 1)), fact(*shape)
    return NodeView("ScatterND", "", {}, operands, (fact(*shape),))


def halves(shape: Shape) -> NodeView:
    whole = fact(2 * shape[0], *shape[1:])
    return NodeView("Split", "", {"axis": 0}, (whole,), (fact(*shape),) * 2)


MAKERS: tuple[Maker, ...] = (
    *(simple(op) for op in ("Relu", "Exp", "Sigmoid", "Tanh", "Erf", "Gelu", "CumSum", "GridSample")),
    *(simple(op, 2) for op in ("Add", "Mul", "Div", "Pow", "Max")),
    simple("Softmax", axis=-1),
    reduction,
    transpose,
    convolution,
    product,
    pool,
    concat,
    gather,
    largest,
    scatter,
    halves,
    simple("LayerNormalization", axis=-1),
    simple("InstanceNormalization"),
)


def drawn(seed: int) -> Iterator[tuple[Maker, Shape]]:
    """Makers with shapes of four dims each, small, middle-sized and large."""
    rng = random.Random(seed)
    for _ in range(NODES // len(CHIPS)):
        yield rng.choice(MAKERS), tuple(rng.choice((1, 2, 3, 7, 16, 30, 64, 100)) for _ in range(4))


@pytest.mark.parametrize("soc", CHIPS)
def test_prices_of_random_nodes_keep_their_laws(soc: str) -> None:
    keep_their_laws(soc, 0)


def keep_their_laws(soc: str, seed: int) -> None:
    model = Ascend(soc)
    # What L2 holds to the last byte, and twice as much of which half comes from memory.
    cliff = max(CLIFF, (1 + model.soc.l2_speedup) / 2)
    faster = [Ascend(soc, **{name: 2 * getattr(model.soc, name)}) for name in FASTER]
    for number, (make, shape) in enumerate(drawn(sum(map(ord, soc)) + seed)):
        node, axis = make(shape), number % 4
        price = model.cost(node)
        assert price > 0, (node.op_type, shape)
        for other, name in zip(faster, FASTER, strict=True):
            assert other.cost(node) <= price * (1 + 1e-9), (name, node.op_type, shape)
        larger = tuple(2 * d if k == axis else d for k, d in enumerate(shape))
        grown = model.cost(make(larger))
        assert price <= grown * (1 + 1e-9), (node.op_type, shape, larger)
        # A single pixel is in one order in both formats; images of more are converted before and behind.
        converted = 2 * model.soc.fixed_transdata_us if shape[2:] == (1, 1) else 0.0
        assert grown <= cliff * 2 * price + converted, (node.op_type, shape, larger)


@pytest.mark.parametrize("soc", CHIPS)
def test_a_fused_kernel_costs_no_more_than_its_parts(soc: str) -> None:
    model = Ascend(soc)
    for _, shape in islice(drawn(7), 300):
        cube = convolution(shape)
        for op in ("Relu", "Sigmoid", "Tanh"):
            described = {
                "cube": "Conv",
                "operands": 2,
                "settings": (("pads", (1, 1, 1, 1)),),
                "stages": ((op, (), "", 0),),
            }
            fused = NodeView("FusedCube", PSEUDO_DOMAIN, described, cube.inputs, cube.outputs)
            apart = NodeView(op, "", {}, cube.outputs, cube.outputs)
            assert model.cost(fused) <= (model.cost(cube) + model.cost(apart)) * (1 + 1e-9), (op, shape)


@pytest.mark.parametrize("soc", CHIPS)
def test_a_kernel_of_the_vector_units_costs_no_more_than_its_parts(soc: str) -> None:
    model, rng = Ascend(soc), random.Random(soc)
    for _, shape in islice(drawn(8), 300):
        x, ops = fact(*shape), rng.sample(("Relu", "Exp", "Sigmoid", "Tanh", "Add", "Div"), rng.randint(2, 5))
        outside = tuple(x for op in ops if op in ("Add", "Div"))
        stages = tuple((op, (), *(("value", 1) if op in ("Add", "Div") else ("", 0))) for op in ops)
        fused = NodeView("VectorKernel", PSEUDO_DOMAIN, {"stages": stages}, (x, *outside), (x,))
        parts = sum(model.cost(simple(op, 2 if op in ("Add", "Div") else 1)(shape)) for op in ops)
        assert model.cost(fused) <= parts * (1 + 1e-9), (ops, shape)
