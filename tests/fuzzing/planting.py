"""Graphs in which laws have something to do: examples of a law, drawn from its pattern, in a random context."""

from __future__ import annotations

import zlib
from functools import cache, lru_cache

import numpy as np
import onnx

from egraph_opt.check.alternatives import rebuilt_original
from egraph_opt.check.building import built
from egraph_opt.check.choices import Choices
from egraph_opt.check.sides import sides_of
from egraph_opt.check.terms import lower_example
from egraph_opt.laws.law import Example, Law
from egraph_opt.laws.selection import LEGALIZE, all_laws

from .drawing import SIZES, Drawing, Refused, Value
from .feeding import elements

EXAMPLES = 3
"""Examples that are drawn of a side of a statement."""

TRIES = 60


@lru_cache(maxsize=1)
def plantable() -> tuple[Law, ...]:
    """The laws whose examples are graphs of ONNX."""
    return tuple(
        law for law in all_laws() if law.ruleset != LEGALIZE and not law.ruleset.startswith("tests.")
    )


@cache
def _written(key: str) -> tuple[Example, ...]:
    """The examples of a law's author, near-misses as well."""
    law = next(law for law in plantable() if law.key == key)
    if law.examples is None:
        return ()
    return tuple(law.examples(np.random.default_rng(zlib.crc32(key.encode()))))


@cache
def _drawn(key: str, number: int) -> tuple[Example, ...]:
    """Examples of a side of a statement of a law; the same ones whenever they are asked for."""
    law = next(law for law in plantable() if law.key == key)
    sides = sides_of(law)
    side = sides[number % len(sides)]
    choices = Choices(zlib.crc32(f"{key} {number}".encode()))
    found = []
    for example in built(side, choices, TRIES):
        choices.keep()
        found.append(example)
        if len(found) == EXAMPLES:
            break
    return tuple(found)


@cache
def _sides(key: str) -> int:
    law = next(law for law in plantable() if law.key == key)
    return len(sides_of(law))


@lru_cache(maxsize=4096)
def _model(key: str, side: int, place: int, opset: int) -> onnx.ModelProto | None:
    """An example as a model, of its author where no side is given; None where that opset cannot say it."""
    example = (_written(key) if side < 0 else _drawn(key, side))[place]
    try:
        return rebuilt_original(lower_example(example, opset), opset)
    except Exception:  # operands that do not suit an operator make inference fail in many ways
        return None


def planted(g: Drawing) -> None:
    """An example of a law on values that are there already, as far as they fit."""
    key = g.one_of(plantable()).key
    side = -1 if g.chance(0.35) else g.integer(0, _sides(key) - 1)
    examples = _written(key) if side < 0 else _drawn(key, side)
    g.require(examples)
    model = _model(key, side, g.integer(0, len(examples) - 1), g.opset)
    if model is None:
        raise Refused("this opset cannot say it")
    graft(g, model)
    g.planted.append(key)


def graft(g: Drawing, model: onnx.ModelProto) -> list[Value]:
    """Add the nodes of a model; its inputs are values that fit, or new ones."""
    names: dict[str, Value] = {}
    for tensor in model.graph.initializer:
        names[tensor.name] = g.constant(onnx.numpy_helper.to_array(tensor))
    for given in model.graph.input:
        if given.name not in names:
            names[given.name] = _bound(g, given)
    made: list[Value] = []
    for node in model.graph.node:
        if node.op_type == "Identity" and g.chance(0.8):  # which names an output
            names[node.output[0]] = names[node.input[0]]
            continue
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = ""
        copy.input[:] = [names[name].name if name else "" for name in node.input]
        copy.output[:] = [g.fresh("v") if name else "" for name in node.output]
        results = g.add(copy, [names[name] for name in node.input if name])
        shown = [name for name in node.output if name]
        names.update(zip(shown, results, strict=True))
        made = results
    return made


def _bound(g: Drawing, given: onnx.ValueInfoProto) -> Value:
    kind = given.type.tensor_type
    dims = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in kind.shape.dim]
    g.require(all(isinstance(d, int) or d in SIZES[0] for d in dims))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).type
    shapes = [tuple(d if isinstance(d, int) else sizes[d] for d in dims) for sizes in SIZES]
    fitting = [v for v in g.values if v.dtype == dtype and [a.shape for a in v.arrays] == shapes]
    if fitting and g.chance(0.6):
        return g.one_of(fitting)
    if len(g.inputs) < 6 or not all(isinstance(d, int) for d in dims):
        return g.input(dims, dtype)
    return g.constant(elements(g.rng, shapes[0], dtype))
