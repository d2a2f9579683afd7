"""Convolutions and poolings: spatial lengths from kernels, strides, dilations and pads.

With effective kernel ``k' = d * (k - 1) + 1``: ``out = floor((L + p_begin + p_end - k') / s) + 1``,
where the window fits into the padded input: a model in which it does not is refused by most runtimes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape

from .call import Call, ContradictionError, formula


@dataclass(frozen=True)
class Window:
    """How a sliding window moves, per spatial axis; ``pads`` is begin of all axes, then end of all axes."""

    kernel: tuple[Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    auto_pad: str


def window_of(call: Call, kernel: Sequence[Dim]) -> Window:
    """The window that the attributes describe, with ONNX's defaults filled in."""
    rank = len(kernel)

    def each(name: str, count: int, default: int, least: int) -> tuple[int, ...]:
        given = call.integers(name) or (default,) * count
        if len(given) != count or min(given, default=least) < least:
            raise ContradictionError(f"{name} {given} of {rank} spatial axes")
        return given

    return Window(
        tuple(kernel),
        each("strides", rank, 1, 1),
        each("dilations", rank, 1, 1),
        # Some exporters write negative pads, which crop.
        each("pads", 2 * rank, 0, -(2**62)),
        call.text("auto_pad", "NOTSET") or "NOTSET",
    )


def output_length(length: Dim, window: Window, k: int, pools: bool = False, ceil_mode: bool = False) -> Dim:
    """The spatial length behind a convolution or pooling on axis ``k``."""
    stride, dilation = window.strides[k], window.dilations[k]
    if window.auto_pad.startswith("SAME"):
        # Runtimes differ where a pooling with SAME padding has dilations or rounds up.
        return symbolic.ceildiv(length, stride) if not pools or (dilation == 1 and not ceil_mode) else None
    begin = end = 0
    if window.auto_pad == "NOTSET":
        begin, end = window.pads[k], window.pads[k + len(window.strides)]
    extent = symbolic.add(symbolic.mul(dilation, symbolic.sub(window.kernel[k], 1)), 1)
    room = symbolic.sub(symbolic.add(length, begin + end), extent)
    if isinstance(room, int) and room < 0:
        if pools:
            # Runtimes answer 0 or 1, or refuse.
            return None
        raise ContradictionError(f"a window of {extent} on a length of {length}")
    if not ceil_mode:
        return symbolic.add(symbolic.floordiv(room, stride), 1)
    steps = symbolic.ceildiv(room, stride)
    if isinstance(steps, int) and isinstance(length, int):
        # The last window has to start inside the input or the padding in front of it.
        return steps if steps * stride >= length + begin else steps + 1
    if stride <= 1 or (end == 0 and symbolic.is_at_least(extent, stride)):
        # The last window then starts before length + begin, whatever the length.
        return symbolic.add(steps, 1)
    return None


@formula("Conv", "ConvInteger", "QLinearConv")
def _conv(call: Call) -> list[Fact]:
    x, w = call.fact(0), call.fact(3 if call.op_type == "QLinearConv" else 1)
    if x.shape is None or w.shape is None:
        rank = x.rank if x.rank is not None else w.rank
        return [Fact(0, None if rank is None else (None,) * rank)]
    if len(x.shape) != len(w.shape) or len(x.shape) < 2:
        raise ContradictionError(f"{call.op_type} of {x.shape} by {w.shape}")
    window = window_of(call, call.integers("kernel_shape") or w.shape[2:])
    if len(window.kernel) != len(x.shape) - 2 or _differ(window.kernel, w.shape[2:]):
        raise ContradictionError(f"kernel_shape {window.kernel} of weights {w.shape}")
    groups = call.integer("group", 1)
    channels = symbolic.mul(w.shape[1], groups)
    if _differ((channels,), (x.shape[1],)) or (isinstance(w.shape[0], int) and w.shape[0] % groups):
        raise ContradictionError(f"{call.op_type} of {x.shape} by {w.shape} in {groups} groups")
    spatial = [output_length(d, window, k) for k, d in enumerate(x.shape[2:])]
    return [Fact(0, (x.shape[0], w.shape[0], *spatial))]


def _differ(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    return any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(a, b, strict=True))


@formula("ConvTranspose")
def _conv_transpose(call: Call) -> list[Fact]:
    x, w = call.fact(0), call.fact(1)
    if x.shape is None or w.shape is None:
        rank = x.rank if x.rank is not None else w.rank
        return [Fact(x.dtype, None if rank is None else (None,) * rank)]
    if len(x.shape) != len(w.shape) or len(x.shape) < 2 or _differ((x.shape[1],), (w.shape[0],)):
        raise ContradictionError(f"ConvTranspose of {x.shape} by {w.shape}")
    window = window_of(call, call.integers("kernel_shape") or w.shape[2:])
    rank = len(x.shape) - 2
    extra = call.integers("output_padding") or (0,) * rank
    given = call.integers("output_shape")
    if given is not None:
        # Some exporters list batch and channels as well.
        if len(given) < rank:
            raise ContradictionError(f"output_shape {given} of {rank} spatial axes")
        spatial: list[Dim] = list(given[-rank:] if rank else ())
    else:
        spatial = [_transposed_length(d, window, k, extra[k]) for k, d in enumerate(x.shape[2:])]
    return [Fact(x.dtype, (x.shape[0], symbolic.mul(w.shape[1], call.integer("group", 1)), *spatial))]


def _transposed_length(length: Dim, window: Window, k: int, extra: int) -> Dim:
    """``s * (L - 1) + output_padding + k' - p_begin - p_end``; for SAME padding readings differ."""
    stride, dilation = window.strides[k], window.dilations[k]
    if window.auto_pad.startswith("SAME"):
        return None
    extent = symbolic.add(symbolic.mul(dilation, symbolic.sub(window.kernel[k], 1)), 1)
    pads = 0
    if window.auto_pad == "NOTSET":
        pads = window.pads[k] + window.pads[k + len(window.strides)]
    return symbolic.add(symbolic.add(symbolic.mul(symbolic.sub(length, 1), stride), extent), extra - pads)


@formula("MaxPool", "AveragePool", "LpPool")
def _pool(call: Call) -> list[Fact]:
    x, kernel = call.fact(0), call.integers("kernel_shape")
    if x.shape is None or kernel is None:
        return [Fact(x.dtype)]
    if len(kernel) != len(x.shape) - 2:
        raise ContradictionError(f"kernel_shape {kernel} of an input of rank {len(x.shape)}")
    window = window_of(call, kernel)
    ceil_mode = call.integer("ceil_mode", 0) == 1
    shape: Shape = (
        *x.shape[:2],
        *(output_length(d, window, k, True, ceil_mode) for k, d in enumerate(x.shape[2:])),
    )
    return [Fact(x.dtype, shape), Fact(0, shape)]


@formula("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(call: Call) -> list[Fact]:
    x = call.fact(0)
    if x.shape is None:
        return [Fact(x.dtype)]
    if len(x.shape) < 2:
        raise ContradictionError(f"{call.op_type} of rank {len(x.shape)}")
    return [Fact(x.dtype, (*x.shape[:2], *(1 for _ in x.shape[2:])))]
