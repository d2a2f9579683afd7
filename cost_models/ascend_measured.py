"""Which prices of operators under `ascend` rest on something that was measured, and where that was published.

All others are guesses, and reports say what share of a cost they are.  `vector_steps` adds the operators that
are written in instructions whose cycles Huawei fitted (hicann/ge autofuse).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import ascend_layout, counting
from egraph_opt.cost_models.ascend_soc import Soc
from egraph_opt.cost_models.layouts import is_conversion, is_laid
from egraph_opt.operators.declaration import PSEUDO_DOMAIN

_OF_SOURCES = {
    # Throughputs of whole networks (see benchmarks/ascend_anchors.py).
    "READMEs of Ascend/ModelZoo-PyTorch": """
        Attention AveragePool Conv ConvInteger Einsum Gemm MatMul MatMulInteger MaxPool QLinearConv
        QLinearMatMul""",
    # Operators of PointPillars on 310P3.
    "Yanguan619/OpenPCDet npu/PERFORMANCE.md": """
        ArgMax ArgMin ConvTranspose Gather GatherElements GatherND Scatter ScatterElements ScatterND TopK""",
    # Moves on 910B1: what they take is their bytes.
    "Ascend/mstt kernel_details.csv": """
        Cast CastLike Concat ConstantOfShape DepthToSpace Expand NonZero Pad Slice SpaceToDepth Split Tile
        Transpose""",
    # A few instructions of the vector unit for each element, as those of `vector_steps`.
    "hicann/ge autofuse api_perf_register": """
        BitCast Celu DequantizeLinear Dropout DynamicQuantizeLinear LpNormalization Mean
        MeanVarianceNormalization Mod QuantizeLinear RotaryEmbedding Selu Shrink Softsign Sum SwiGLU""",
}

MEASURED: Mapping[str, frozenset[str]] = MappingProxyType(
    {source: frozenset(names.split()) for source, names in _OF_SOURCES.items()}
)
"""Operators by the source of what their prices were compared with or made of."""

_KNOWN = frozenset().union(*MEASURED.values())

_FREE = counting.LEAVES | counting.QUERIES


def is_unmeasured(soc: Soc, node: NodeView) -> bool:
    """Whether nobody published what the price of an operator could rest on."""
    if is_conversion(node):
        return False
    inside = ascend_layout.inner(node) if is_laid(node) else node
    if inside is None or inside.domain == PSEUDO_DOMAIN:
        return False
    if inside.domain not in ("", "ai.onnx"):
        return True
    op = inside.op_type
    return not (op in _KNOWN or op in _FREE or op in soc.vector_steps or counting.is_view(inside))
