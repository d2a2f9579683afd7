"""What operators mean is what runtimes compute, on terms from the tables of the gate."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from egraph_opt.check import tables
from egraph_opt.check.alternatives import rebuilt_original
from egraph_opt.check.batches import lowered_at
from egraph_opt.check.building import built
from egraph_opt.check.choices import Choices
from egraph_opt.check.feeds.kinds import ORDINARY
from egraph_opt.check.judging.trials import Original
from egraph_opt.check.sides import side_of
from egraph_opt.laws import Example, Operands
from egraph_opt.laws.statements import Equality
from egraph_opt.operators import none
from egraph_opt.operators.blocks import blockwise
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.expressions import variable
from egraph_opt.operators.sequences import reverse_sequence
from egraph_opt.rewrites.targets.onnxruntime_operators import fused_matmul, own_gelu
from egraph_opt.semantics.concrete import UndefinedError, evaluate
from egraph_opt.semantics.values import NoMeaningError, meanings

TERMS = 12
"""Of an operator that are compared."""

WRAPPING = {TensorProto.UINT32, TensorProto.UINT64}
"""Types below 0 of which numbers go on from the other end, which meanings do not."""

LARGEST = 60
"""Elements of a result, each of which is computed by itself."""

WRITTEN_BY_LAWS = {"identity", "literal", "output"}
"""Operators that have no operands to draw, or are drawn with others."""


def _blocks(g: Operands):
    """Blocks of 1 and 2, in both modes."""
    for shape in ((1, 4, 2, 4), (2, 8, 1, 2), (1, 12, 2, 2)):
        x = g.input(shape)
        for size in (1, 2):
            for mode in ("DCR", "CRD"):
                yield g.fires(blockwise("DepthToSpace", x, (("blocksize", size), ("mode", mode))))
            if shape[2] % size == 0:
                yield g.fires(blockwise("SpaceToDepth", x, (("blocksize", size),)))


def _sequences(g: Operands):
    for shape in ((3, 2), (4, 3, 2), (1, 5), (2, 2, 2)):
        for time in (0, 1):
            lengths = np.arange(shape[1 - time], dtype=np.int64) % shape[time] + 1
            yield g.fires(reverse_sequence(g.input(shape), g.constant(lengths), time))


def _own_gelus(g: Operands):
    for shape in ((2, 3), (4,), (2, 1, 3)):
        x, bias = g.input(shape), g.input(shape[-1:])
        for op, alpha, b in (
            ("Gelu", 1.0, none()), ("FastGelu", 1.0, none()), ("QuickGelu", 1.7, none()),
            ("BiasGelu", 1.0, bias), ("FastGelu", 1.0, bias),
        ):  # fmt: skip
            yield g.fires(own_gelu(op, alpha, x, b))


def _fused_products(g: Operands):
    for lead in ((), (2,), (2, 1)):
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            x = g.input((*lead, *((3, 4) if a else (4, 3))))
            y = g.input((*lead, *((2, 3) if b else (3, 2))))
            yield g.fires(fused_matmul(x, y, 0.5, a, b))


WRITTEN = {
    "fused_matmul": _fused_products,
    "own_gelu": _own_gelus,
    "blockwise": _blocks,
    "reverse_sequence": _sequences,
}
"""Terms of operators whose attributes or operands are not drawn."""

OPERATORS = sorted(meanings.keys() - WRITTEN_BY_LAWS)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_means_what_is_computed(name: str) -> None:
    compared = 0
    for example in _examples(name):
        compared += _agrees(example)
        if compared == TERMS:
            break
    assert compared >= TERMS // 2


def _examples(name: str):
    """Terms of one operator on operands of any kind."""
    if name in WRITTEN:
        yield from WRITTEN[name](Operands(np.random.default_rng(0)))
        return
    declared = operator_named(name)
    pattern = declared.function(*(variable(n, sort) for n, sort in declared.function.parameters))
    choices = Choices()
    # Of an approximate law: with constants of 1e20 kernels round to nothing.
    for example in built(
        *(side_of(Equality(pattern, pattern, ()), "0", {}), choices, 1500),
        numerics="approximate",
        large_integers=tables.MIXED_INTEGERS,
        huge_integers=tables.MIXED_INTEGERS,
    ):
        facts = example.operands.facts
        if all(known.shape is not None and known.dtype not in WRAPPING for known in facts):
            choices.keep()
            yield example


def _agrees(example: Example) -> bool:
    """Whether a term could be compared; raises where its meaning is another."""
    lowered = lowered_at(example)
    try:
        model = rebuilt_original(lowered, example.opset)
    except AssertionError:  # a view with two dims to infer
        return False
    original = Original(model, "reassociates", ORDINARY, reference=False)
    trials = original.trials
    if not trials or trials[0].expected[-1].size > LARGEST:
        return False
    if original.runner is None or original.runner.by_reference:  # which has faults of its own
        return False
    trial = trials[0]
    leaves = {}
    for k, value in enumerate(example.operands.values):
        if value.const_value is not None:
            leaves[k] = value.const_value.numpy()
        elif value.name in trial.feeds:
            leaves[k] = trial.feeds[value.name]
        else:
            return False
    try:
        found = evaluate(example.term, leaves, trial.sizes)
    except (NoMeaningError, UndefinedError):
        return False
    expected = np.asarray(trial.expected[-1], np.float64)
    assert found.shape == expected.shape, example.term
    given = (np.abs(leaf[np.isfinite(leaf)]) for leaf in leaves.values() if leaf.dtype.kind == "f")
    largest = max((float(np.max(magnitudes, initial=0.0)) for magnitudes in given), default=0.0)
    # Kernels subtract means and the like after they have scaled.
    scale = max(1.0, float(np.max(np.abs(found), initial=0.0)), min(largest, 100.0))
    where = np.isfinite(expected)
    assert np.allclose(found[where], expected[where], rtol=1e-3, atol=1e-3 * scale), example.term
    return True
