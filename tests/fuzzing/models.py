"""Whole models of motifs, by seed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper

from . import bodies, elementwise, linear, slicing, views
from .drawing import IR_VERSION, OPSETS, SIZES, Array, Drawing, Refused, session

FAMILIES = (elementwise, views, slicing, linear, bodies)
MOTIFS = {motif: weight for family in FAMILIES for motif, weight in family.MOTIFS.items()}

SHAPES: tuple[tuple[int | str, ...], ...] = (
    ("N", 4, 6, "L"),
    ("N", 4, 6, 6),
    (1, 3, "L", "M"),
    (2, 4, 5, 5),
    ("N", 6, "L"),
    ("N", "L", 8),
    (1, 4, 9),
    ("N", 8),
    (3, 4),
    ("L", 6),
    (5,),
    ("L",),
    (1,),
    (),
    (2, 1, 6, 1),
    ("N", 1, "L"),
    (1, 2, 3, 4, 3),
    (0, 3),
    ("N", 0, 4),
    (1, 1),
    (6, 2, 4),
)


def random_model(seed: int) -> onnx.ModelProto | None:
    """The model of a seed; None where what was drawn is no valid model."""
    rng = np.random.default_rng(seed)
    drawing = Drawing(rng, int(rng.choice(OPSETS)), wild=bool(rng.random() < 0.08))
    draw(drawing)
    return finish(drawing)


def draw(drawing: Drawing) -> None:
    """Inputs, then motifs; sometimes of one family mostly."""
    for _ in range(drawing.integer(1, 3)):
        kind = drawing.rng.random()
        dtype = np.float32
        if kind > 0.72:
            dtype = drawing.one_of(
                (np.float16, np.float64, np.int64, np.int32, np.bool_, np.int64, np.float64)
            )
        drawing.input(drawing.one_of(SHAPES if drawing.chance(0.7) else SHAPES[:10]), dtype)
    motifs = list(MOTIFS)
    weights = np.array([MOTIFS[motif] for motif in motifs])
    if drawing.chance(0.5):
        favourite = drawing.one_of(FAMILIES).MOTIFS
        weights *= [5 if motif in favourite else 1 for motif in motifs]
    wanted = drawing.integer(2, 9)
    for _ in range(4 * wanted):
        motif = motifs[int(drawing.rng.choice(len(motifs), p=weights / weights.sum()))]
        try:
            motif(drawing)
        except Refused:
            continue
        wanted -= 1
        if wanted <= 0:
            break


def finish(drawing: Drawing) -> onnx.ModelProto | None:
    """The drawing as a model with outputs; None where ONNX's checker or onnxruntime refuse it."""
    made = [v for v in drawing.values if any(v.name in n.output for n in drawing.nodes)]
    ends = [v for v in made if not v.uses and (not v.constant or drawing.chance(0.1))]
    chosen = ends[-6:] or made[-1:]
    chosen += [v for v in made if v not in chosen and drawing.chance(0.08)]
    if not chosen:
        return None
    drawing.rng.shuffle(chosen)
    outputs = []
    for value in chosen:
        kind = helper.np_dtype_to_tensor_dtype(value.arrays[0].dtype)
        told = drawing.chance(0.3)
        dims = [d if s and told else None for d, s in zip(value.shape, value.static, strict=True)]
        outputs.append(helper.make_tensor_value_info(value.name, kind, dims))
    graph = helper.make_graph(drawing.nodes, "fuzz", drawing.inputs, outputs, drawing.initializers)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", drawing.opset)], ir_version=IR_VERSION
    )
    try:
        onnx.checker.check_model(model, full_check=True)
        session(model)
    except Exception:  # whatever is wrong with what was drawn, it is left out
        return None
    return model


def feeds_of(model: onnx.ModelProto, sizes: Mapping[str, int], kind: str, seed: int) -> dict[str, Array]:
    """Inputs: "exact" multiples of 1/4, "normal" numbers, or "odd" ones with zeros of both signs."""
    rng = np.random.default_rng([seed, len(kind)])
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else sizes[d.dim_param] for d in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        array = Drawing(rng, 0).elements(shape, dtype.type)
        if np.issubdtype(dtype, np.floating) and kind == "normal":
            array = rng.standard_normal(shape).astype(dtype)
        if np.issubdtype(dtype, np.floating) and kind == "odd":
            array = np.where(rng.random(shape) < 0.2, np.asarray(-0.0, dtype), array).astype(dtype)
        feeds[value.name] = array
    return feeds


__all__ = ["SIZES", "feeds_of", "random_model"]
