"""The operators of the term language, one file per family; importing this package declares them all."""

# The order of declaration numbers e-nodes, which breaks ties between graphs of one cost.
# isort: off
from egraph_opt.operators.declaration import (
    Literal,
    OnnxForm,
    Operator,
    TermSpec,
    lowering_of,
    lowers,
    operator,
    operator_named,
    operators,
)
from egraph_opt.operators.constants import leaf, literal, literal_fact, none, opaque, output
from egraph_opt.operators.elementwise import binary, cast, unary, variadic, where
from egraph_opt.operators.windows import PoolWindow, global_pool, pool
from egraph_opt.operators.linear import ConvWindow, GemmSettings, conv, conv_transpose, einsum, gemm, matmul
from egraph_opt.operators.views import reshape, reshape_to, transpose
from egraph_opt.operators.slicing import concat, gather, slice_, slice_at, split
from egraph_opt.operators.extending import expand, expand_to, pad, shape_of
from egraph_opt.operators.reductions import arg_reduce, batchnorm, group_norm, instance_norm, reduce, softmax
from egraph_opt.operators.composites import (
    attention,
    layer_norm,
    masked_attention,
    rms_norm,
    scores,
    shifted_layer_norm,
)
from egraph_opt.operators.scanning import cumsum, resize
from egraph_opt.operators.blocks import blockwise
from egraph_opt.operators.gathering import gather_elements, gather_nd
from egraph_opt.operators.recurrent import recurrent
from egraph_opt.operators.quantization import dequantize, quantize
from egraph_opt.operators.rotary import rotary
from egraph_opt.operators.norm_pools import lp_pool
from egraph_opt.operators.sequences import reverse_sequence
from egraph_opt.operators.scattering import overwrite
from egraph_opt.operators.extending import tile
from egraph_opt.operators.ranking import top
from egraph_opt.operators.extending import range_
from egraph_opt.operators.gathering import one_hot
# isort: on

__all__ = [
    "ConvWindow",
    "GemmSettings",
    "Literal",
    "OnnxForm",
    "Operator",
    "PoolWindow",
    "TermSpec",
    "arg_reduce",
    "attention",
    "batchnorm",
    "binary",
    "blockwise",
    "cast",
    "concat",
    "conv",
    "conv_transpose",
    "cumsum",
    "dequantize",
    "einsum",
    "expand",
    "expand_to",
    "gather",
    "gather_elements",
    "gather_nd",
    "gemm",
    "global_pool",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "leaf",
    "literal",
    "literal_fact",
    "lowering_of",
    "lowers",
    "lp_pool",
    "masked_attention",
    "matmul",
    "none",
    "one_hot",
    "opaque",
    "operator",
    "operator_named",
    "operators",
    "output",
    "overwrite",
    "pad",
    "pool",
    "quantize",
    "range_",
    "recurrent",
    "reduce",
    "reshape",
    "reshape_to",
    "resize",
    "reverse_sequence",
    "rms_norm",
    "rotary",
    "scores",
    "shape_of",
    "shifted_layer_norm",
    "slice_",
    "slice_at",
    "softmax",
    "split",
    "tile",
    "top",
    "transpose",
    "unary",
    "variadic",
    "where",
]
