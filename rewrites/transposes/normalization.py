"""Transposes sink past normalizations with parameters per channel (see `transpose_movement`).

BatchNormalization(T(x)) = T(BatchNormalization(x))           where the channels stay
InstanceNormalization(T(x)) = T(InstanceNormalization(x))     where batch and channels stay
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, rewrite
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import batchnorm, instance_norm, transpose
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor
from egraph_opt.rewrites.transposes.composition import Permutation, is_identity
from egraph_opt.rewrites.transposes.windows import SWAP, keeps_channels


@hosted(default=False)
def moves_past_channels(p: Permutation) -> bool:
    return len(p) > 1 and p[1] == 1 and not is_identity(p)


def _batchnorm_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    parameters = [g.input((3,)) for _ in range(3)]
    variance = g.constant(rng.uniform(0.5, 2, 3).astype(np.float32))
    x = g.input(("N", 3, 4, "L"))
    for p in (SWAP, (2, 1, 0, 3)):
        yield g.fires(batchnorm(transpose(x, p), *parameters, variance, 1e-3))
    yield g.near_miss(batchnorm(x, *parameters, variance, 1e-3), why="nothing is transposed")
    rows = transpose(g.input(("N", 4, 3)), (0, 2, 1))
    yield g.near_miss(batchnorm(rows, *parameters, variance, 1e-3), why="the channels move")


@law("transpose", numerics="reassociates", examples=_batchnorm_examples)
def through_batchnorm(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: PyObject, p: PyObject
) -> Iterator[Any]:
    """BatchNormalization(Transpose_p(x)) = Transpose_p(BatchNormalization(x)) where the channels stay

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    yield rewrite(
        batchnorm(transpose(x, p), s, b, m, v, e),
        transpose(batchnorm(x, s, b, m, v, e), p),
        holds(moves_past_channels, p),
    )


def _instance_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, scale, bias = g.input(("N", 3, 4, 5)), g.input((3,)), g.random(3)
    yield g.fires(instance_norm(transpose(x, SWAP), scale, bias, 1e-3))
    yield g.near_miss(instance_norm(x, scale, bias, 1e-3), why="nothing is transposed")
    rows = transpose(g.input((3, 2, 4)), (1, 0, 2))
    yield g.near_miss(instance_norm(rows, scale, bias, 1e-3), why="instances become channels")


@law("transpose", numerics="reassociates", examples=_instance_examples)
def through_instance_norm(x: Tensor, s: Tensor, b: Tensor, e: PyObject, p: PyObject) -> Iterator[Any]:
    """InstanceNormalization(Transpose_p(x)) = Transpose_p(InstanceNormalization(x)) for spatial axes

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    yield rewrite(
        instance_norm(transpose(x, p), s, b, e),
        transpose(instance_norm(x, s, b, e), p),
        holds(keeps_channels, p),
    )
