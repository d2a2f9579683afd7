"""Conv, ConvTranspose, MatMul and Gemm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.operators.declaration import OnnxForm, TermSpec, attribute_class, lowers, operator
from egraph_opt.operators.expressions import Tensor, Tensors, stands_for
from egraph_opt.operators.sorts import Equation
from egraph_opt.operators.windows import explicit_pads, shares

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


@attribute_class
@dataclass(frozen=True)
class ConvWindow:
    """How a convolution walks: per spatial axis, pads as all begins, then all ends."""

    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    group: int = 1
    output_padding: tuple[int, ...] = ()


def _conv_form(op_type: str) -> Any:
    def form(opset: int, attributes: tuple[ConvWindow], facts: tuple[Fact, ...]) -> OnnxForm | None:
        window = attributes[0]
        settings: dict[str, Any] = {
            "dilations": window.dilations,
            "group": window.group,
            "pads": window.pads,
            "strides": window.strides,
        }
        weight = facts[1].shape
        if weight is not None and all(isinstance(d, int) for d in weight[2:]):
            settings["kernel_shape"] = weight[2:]
        if any(window.output_padding):
            settings["output_padding"] = window.output_padding
        inputs = (0, 1) if facts[2] == ABSENT else (0, 1, 2)
        return OnnxForm(op_type, inputs, tuple(sorted(settings.items())))

    return form


@operator(form=_conv_form("Conv"))
def conv(x: Tensor, w: Tensor, b: Tensor, window: ConvWindow) -> Tensor:
    """x: [N, C, *spatial], w: [M, C/group, *kernel], b: [M] or none; `window` is a `ConvWindow`."""


@operator(form=_conv_form("ConvTranspose"))
def conv_transpose(x: Tensor, w: Tensor, b: Tensor, window: ConvWindow) -> Tensor:
    """x: [N, C, *spatial], w: [C, M/group, *kernel], b: [M] or none; `window` is a `ConvWindow`."""


@lowers("Conv", "ConvTranspose")
def _lower_conv(node: NodeReader) -> TermSpec | None:
    x, w = node.fact(0), node.fact(1)
    if x.rank is None or w.shape is None or x.rank < 3:
        return None
    axes = x.rank - 2
    kernel = w.shape[2:]
    strides = node.attribute("strides") or (1,) * axes
    dilations = node.attribute("dilations") or (1,) * axes
    pads: tuple[int, ...] | None
    if node.op_type == "Conv":
        if not all(isinstance(k, int) for k in kernel):
            return None
        pads = explicit_pads(node, kernel, strides, dilations)  # type: ignore[arg-type]
        padding: tuple[int, ...] = ()
    else:
        padding = tuple(node.attribute("output_padding") or ())
        pads = _transposed_pads(node, strides, dilations)
    if pads is None:
        return None
    window = ConvWindow(tuple(strides), pads, tuple(dilations), node.attribute("group") or 1, padding)
    operator_name = "conv" if node.op_type == "Conv" else "conv_transpose"
    return TermSpec(operator_name, (window,), (0, 1, 2 if node.has(2) else None))


def _transposed_pads(
    node: NodeReader, strides: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The pads of a ConvTranspose, which may follow from the shape that it is to make.

    None where they depend on unknown dims or are below 0, and for SAME padding, of which readings differ.
    """
    axes, mode = len(strides), node.attribute("auto_pad") or "NOTSET"
    wanted = node.attribute("output_shape")
    if not wanted:
        stated = {"NOTSET": node.attribute("pads") or (0,) * (2 * axes), "VALID": (0,) * (2 * axes)}
        return stated.get(mode)
    kernel, dims = ((node.fact(k).shape or ())[2:] for k in (1, 0))
    extra, begins, ends = node.attribute("output_padding") or (0,) * axes, [], []
    for k, (size, dim, s, d) in enumerate(zip(kernel, dims, strides, dilations, strict=True)):
        if not isinstance(size, int) or not isinstance(dim, int):
            return None
        total = s * (dim - 1) + extra[k] + (size - 1) * d + 1 - wanted[k - axes]
        if total < 0:
            return None
        begin, end = shares(total, mode)
        begins.append(begin)
        ends.append(end)
    return (*begins, *ends)


def _matmul_form(opset: int, attributes: tuple[()], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("MatMul", (0, 1))


@operator(form=_matmul_form)
def matmul(x: Tensor, y: Tensor) -> Tensor:
    """The matrix product of numpy's matmul, leading dims broadcast."""


stands_for("matmul", matmul)


@lowers("MatMul")
def _lower_matmul(node: NodeReader) -> TermSpec | None:
    return TermSpec("matmul", (), (0, 1))


@attribute_class
@dataclass(frozen=True)
class GemmSettings:
    """alpha * A' B' + beta * C, with A' and B' transposed where said."""

    alpha: float = 1.0
    beta: float = 1.0
    trans_a: int = 0
    trans_b: int = 0


def _gemm_form(opset: int, attributes: tuple[GemmSettings], facts: tuple[Fact, ...]) -> OnnxForm | None:
    s = attributes[0]
    absent = facts[2] == ABSENT
    if absent and opset < 11:
        return None
    settings = (("alpha", s.alpha), ("beta", s.beta), ("transA", s.trans_a), ("transB", s.trans_b))
    return OnnxForm("Gemm", (0, 1) if absent else (0, 1, 2), settings)


@operator(form=_gemm_form)
def gemm(a: Tensor, b: Tensor, c: Tensor, settings: GemmSettings) -> Tensor:
    """Gemm of two matrices; c broadcasts to the result or is none; `settings` is a `GemmSettings`."""


@lowers("Gemm")
def _lower_gemm(node: NodeReader) -> TermSpec | None:
    settings = GemmSettings(
        node.attribute("alpha"), node.attribute("beta"), node.attribute("transA"), node.attribute("transB")
    )
    return TermSpec("gemm", (settings,), (0, 1, 2 if node.has(2) else None))


def _einsum_form(opset: int, attributes: tuple[str], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return (
        OnnxForm("Einsum", tuple(range(len(facts))), (("equation", attributes[0]),)) if opset >= 12 else None
    )


@operator(form=_einsum_form)
def einsum(equation: Equation, xs: Tensors) -> Tensor:
    """Sums of products in Einstein's notation; `equation` as ONNX has it, without blanks."""


@lowers("Einsum")
def _lower_einsum(node: NodeReader) -> TermSpec | None:
    equation = node.attribute("equation").replace(" ", "")
    return TermSpec("einsum", (equation,), (tuple(range(node.count)),))
