"""What integer inputs are for: found by what they feed, as no kernel survives every number.

An input that ends up as an index, a count, a shape or the like stays as small as planned, unless it is an
index and a Clip between constants is in front of it.  So does one that reaches a divisor, or is divided by
what may be -1: ONNX Runtime ends the process at the least number over -1, some releases at 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import onnx

from egraph_opt.model.encoding import bodies_of, graphs_of
from egraph_opt.verification.comparison import Array
from egraph_opt.verification.turning_points import small_constants

ALL = -1
"""In the place of operands: every one."""

NOT_ANY: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("Reshape", "Expand", "Squeeze", "Unsqueeze", "Trilu", "CumSum"), (1,)),
    **dict.fromkeys(("Gather", "GatherElements", "GatherND", "TopK", "Split", "SplitToSequence"), (1,)),
    **dict.fromkeys(("ScatterElements", "ScatterND", "Scatter", "ReverseSequence", "Upsample"), (1,)),
    **dict.fromkeys(("SequenceAt", "SequenceErase", "CenterCropPad", "AffineGrid", "BitShift"), (1,)),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "Pow", "CumProd"), (1,)),
    **dict.fromkeys(("Tile", "DFT", "Col2Im", "MaxUnpool"), (1, 2)),
    **dict.fromkeys(("OneHot",), (0, 1)),
    **dict.fromkeys(("Range", "ConstantOfShape", "Loop", "Scan", "MelWeightMatrix"), (ALL,)),
    **dict.fromkeys(("BlackmanWindow", "HannWindow", "HammingWindow", "Multinomial"), (ALL,)),
    **dict.fromkeys(("Attention", "RotaryEmbedding", "TensorScatter", "STFT", "SequenceMap"), (ALL,)),
    "Pad": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Resize": (1, 2, 3),
    "NonMaxSuppression": (2, 3, 4),
    "SequenceInsert": (2,),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), (4,)),
}
"""Operands that are indices, counts, shapes, axes or divisors, by operator."""

INDICES = frozenset(
    {("Gather", 1), ("GatherElements", 1), ("GatherND", 1), ("OneHot", 0), ("Slice", 1), ("Slice", 2)}
)
"""Operands that take -1 for the last place, and say where they do not."""

DIVISIONS = frozenset({("Div", 0), ("Div", 1), ("Mod", 0), ("Mod", 1)})

KEEPING = frozenset("Cast Identity Reshape Squeeze Unsqueeze Expand Transpose Flatten".split())
"""Operators that make no 0 and no -1 of small numbers that are neither."""

STANDARD = frozenset({"", "ai.onnx"})

Reached = set[tuple[str, int]]

Origins = dict[str, set[tuple[str, bool]]]
"""By tensor the inputs that it depends on, and whether a Clip between constants is on the way."""


def reached(models: Sequence[onnx.ModelProto], names: Sequence[str]) -> dict[str, Reached]:
    """By input the operands in `NOT_ANY`, of any of the models, that its values may come to."""
    found: dict[str, Reached] = {name: set() for name in names}
    for model in models:
        origins: Origins = {name: {(name, False)} for name in names}
        for name, operand in _reached(model.graph, origins, _divisors(model), _clipped(model)):
            found[name].add(operand)
    return found


def divide_safely(models: Sequence[onnx.ModelProto], names: Collection[str]) -> bool:
    """Whether all divisors are these inputs as they are, or constants; of what has bodies nothing is said."""
    for model in models:
        known = _divisors(model) | {*names}
        for node in model.graph.node:
            if node.op_type in ("Div", "Mod") and node.input[1] not in known:
                return False
            if next(bodies_of(node), None) is not None:
                return False
            if node.op_type in KEEPING and node.input[0] in known:
                known.update(node.output)
    return True


def _divisors(model: onnx.ModelProto) -> set[str]:
    """What anything may be divided by: constants, and what Clips keep above 0."""
    constants = dict(small_constants(model))
    known = {name for name, array in constants.items() if not ((array == -1) | (array == 0)).any()}
    clips = _clips(model, constants)
    above = (clip for clip in clips if all((constants[bound] > 0).all() for bound in clip.input[1:]))
    return known | {clip.output[0] for clip in above}


def _clipped(model: onnx.ModelProto) -> set[str]:
    """What Clips between constants make."""
    return {clip.output[0] for clip in _clips(model, dict(small_constants(model)))}


def _clips(model: onnx.ModelProto, constants: Mapping[str, Array]) -> Iterator[onnx.NodeProto]:
    """The Clips between these constants."""
    nodes = (node for graph in graphs_of(model.graph) for node in graph.node if node.domain in STANDARD)
    clips = (node for node in nodes if node.op_type == "Clip" and len(node.input) == 3)
    return (node for node in clips if constants.keys() >= {*node.input[1:]})


def _reached(
    graph: onnx.GraphProto, origins: Origins, divisors: Collection[str], clipped: set[str]
) -> Iterator[tuple[str, tuple[str, int]]]:
    """Which inputs come to which operands; not those that a Clip keeps within an axis.

    Args:
        divisors: tensors that anything may be divided by.
        clipped: tensors that a Clip between constants makes.
    """
    for node in graph.node:
        bodies = list(bodies_of(node)) if node.attribute else []
        if not bodies and origins.keys().isdisjoint(node.input):
            continue
        given = [origins.get(name, set()) for name in node.input]
        is_known = node.domain in STANDARD
        kept = NOT_ANY.get(node.op_type, ()) if is_known else (ALL,)
        if node.op_type.startswith("Reduce") and is_known:
            kept = (1,)
        if node.op_type in ("Div", "Mod"):
            kept = () if len(node.input) == 2 and node.input[1] in divisors else (0, 1)
        for k, names in enumerate(given):
            if k in kept or ALL in kept:
                operand = (node.op_type, k)
                free = operand in INDICES
                yield from ((name, operand) for name, within in sorted(names) if not (within and free))
        through = set().union(*given)
        for body in bodies:
            yield from _reached(body, origins, divisors, clipped)
            through |= set().union(*(origins.get(output.name, set()) for output in body.output))
        if not clipped.isdisjoint(node.output):
            through = {(name, True) for name, _ in through}
        if through and node.op_type not in ("Shape", "Size"):
            origins.update({name: origins.get(name, set()) | through for name in node.output if name})
