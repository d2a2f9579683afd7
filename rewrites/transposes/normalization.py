"""Transposes move past normalizations with parameters per channel.

BatchNormalization(T(x)) = T(BatchNormalization(x))           where the channels stay
InstanceNormalization(T(x)) = T(InstanceNormalization(x))     where batch and channels stay
"""

from egraph_opt.laws import equal, hosted, law
from egraph_opt.laws.sorts import Float, Permutation, Tensor
from egraph_opt.operators import batchnorm, instance_norm, transpose
from egraph_opt.rewrites.transposes.composition import is_identity
from egraph_opt.rewrites.transposes.windows import keeps_channels

_SOURCE = "Ascend auto-optimizer, TransposeLargeInputConv"


@hosted()
def moves_past_channels(p: Permutation) -> bool:
    return len(p) > 1 and p[1] == 1 and not is_identity(p)


@law("transpose", numerics="reassociates", kind="move", serves="traffic", source=_SOURCE)
def through_batchnorm(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float, p: Permutation):
    """BatchNormalization(Transpose_p(x)) = Transpose_p(BatchNormalization(x)) where the channels stay"""
    before, behind = batchnorm(transpose(x, p), s, b, m, v, e), transpose(batchnorm(x, s, b, m, v, e), p)
    yield equal(before, behind, moves_past_channels(p))


@law("transpose", numerics="reassociates", kind="move", serves="traffic", source=_SOURCE)
def through_instance_norm(x: Tensor, s: Tensor, b: Tensor, e: Float, p: Permutation):
    """InstanceNormalization(Transpose_p(x)) = Transpose_p(InstanceNormalization(x)) for spatial axes"""
    before, behind = instance_norm(transpose(x, p), s, b, e), transpose(instance_norm(x, s, b, e), p)
    yield equal(before, behind, keeps_channels(p))
