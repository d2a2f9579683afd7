"""Whole models of motifs, by seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import helper

from . import bodies, elementwise, functions, linear, opaque, quantised, slicing, structured, views
from .drawing import IR_VERSION, OPSETS, Drawing, Refused, Value, session
from .planting import planted
from .varying import vary

Seed = int | Sequence[int]

FAMILIES = (elementwise, views, slicing, linear, structured, bodies, functions, quantised, opaque)
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
    (1, 2, 1, 3, 2, 2),
    ("N", 2, 1, 2, 3, 1),
)

OTHER_TYPES = (np.float16, np.float64, np.int64, np.int32, np.bool_, np.int64, np.float64, np.uint8, np.int8)
"""Element types of inputs besides float32."""

MOST_NODES = 24
"""Nodes, constants included, from which on nothing is added."""


def random_model(seed: Seed) -> onnx.ModelProto | None:
    """The model of a seed; None where what was drawn is no valid model."""
    return model_of(drawing_of(seed))


def drawing_of(seed: Seed) -> Drawing:
    """What is drawn for a seed: the same on any machine."""
    rng = np.random.default_rng(seed)
    drawing = Drawing(rng, int(rng.choice(OPSETS)))
    draw(drawing)
    return drawing


def draw(drawing: Drawing) -> None:
    """Inputs, then motifs; sometimes of one family mostly, and often around an example of a law."""
    for _ in range(drawing.integer(1, 3)):
        dtype = np.float32 if drawing.chance(0.72) else drawing.one_of(OTHER_TYPES)
        drawing.input(drawing.one_of(SHAPES if drawing.chance(0.7) else SHAPES[:10]), dtype)
    motifs = list(MOTIFS)
    weights = np.array([MOTIFS[motif] for motif in motifs])
    if drawing.chance(0.5):
        favourite = drawing.one_of(FAMILIES).MOTIFS
        weights *= [5 if motif in favourite else 1 for motif in motifs]
    wanted = drawing.integer(1, 6)
    plants = drawing.integer(1, 3) if drawing.chance(0.65) else 0
    for _ in range(4 * (wanted + plants)):
        if plants and drawing.chance(0.5):
            plants -= tried(drawing, planted)
        elif wanted:
            motif = motifs[int(drawing.rng.choice(len(motifs), p=weights / weights.sum()))]
            wanted -= tried(drawing, motif)
        if wanted + plants <= 0 or len(drawing.nodes) > MOST_NODES:
            break


def tried(drawing: Drawing, motif: Callable[[Drawing], object]) -> bool:
    """Add a motif; whether it fits."""
    try:
        motif(drawing)
    except Refused:
        return False
    return True


def model_of(drawing: Drawing) -> onnx.ModelProto | None:
    """The drawing as a model with outputs; None where ONNX's checker or onnxruntime refuse it."""
    made = [v for v in drawing.values if any(v.name in n.output for n in drawing.nodes)]
    ends = [v for v in made if not v.uses and (not v.constant or drawing.chance(0.1))]
    chosen = ends[-6:] or made[-1:]
    chosen += [v for v in made if v not in chosen and drawing.chance(0.08)]
    if not chosen:
        return None
    inputs = {value.name for value in drawing.inputs}
    chosen += [v for v in drawing.values if v.name in inputs and drawing.chance(0.03)]
    drawing.rng.shuffle(chosen)
    outputs = [_declared(drawing, value) for value in chosen]
    graph = helper.make_graph(drawing.nodes, "fuzz", drawing.inputs, outputs, drawing.initializers)
    opsets = [helper.make_opsetid(name, version) for name, version in drawing.opsets().items()]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, functions=drawing.functions)
    vary(model, drawing.rng)
    try:
        onnx.checker.check_model(model, full_check=True)
        session(model)
    except Exception:  # whatever is wrong with what was drawn, it is left out
        return None
    return model


def _declared(drawing: Drawing, value: Value) -> onnx.ValueInfoProto:
    """An output, sometimes with the dims that are known."""
    kind = helper.np_dtype_to_tensor_dtype(value.arrays[0].dtype)
    told = drawing.chance(0.3)
    dims = [d if s and told else None for d, s in zip(value.shape, value.static, strict=True)]
    return helper.make_tensor_value_info(value.name, kind, dims)
