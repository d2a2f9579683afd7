"""ConvTranspose in ONNX's reference evaluator, for constants and for the gate."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


class ConvTranspose(OpRun):
    """By its definition: onnx's takes a hundred times as long, and groups of channels for one."""

    op_domain = ""

    def _run(self, x: Any, w: Any, bias: Any = None, **settings: Any) -> tuple[Any]:
        groups, kernel, dims = settings.get("group") or 1, w.shape[2:], x.shape[2:]
        ones = [1] * len(kernel)
        steps, apart = settings.get("strides") or ones, settings.get("dilations") or ones
        full = [s * (n - 1) + d * (k - 1) + 1 for s, n, d, k in zip(steps, dims, apart, kernel, strict=True)]
        parts = x.reshape(x.shape[0], groups, -1, *dims)
        weights = w.reshape(groups, -1, *w.shape[1:])
        made = np.zeros((x.shape[0], groups, w.shape[1], *full), x.dtype)
        for place in np.ndindex(*kernel):
            first = [d * k for d, k in zip(apart, place, strict=True)]
            taken = tuple(slice(f, f + s * n, s) for f, s, n in zip(first, steps, dims, strict=True))
            made[(slice(None),) * 3 + taken] += np.einsum("ngc...,gcm->ngm...", parts, weights[(..., *place)])
        made = made.reshape(x.shape[0], -1, *full)
        starts, shape = _placed(settings, full, [s * n for s, n in zip(steps, dims, strict=True)])
        for axis, (start, count) in enumerate(zip(starts, shape, strict=True), 2):
            wanted = np.arange(start, start + count)
            outside = (wanted < 0) | (wanted >= made.shape[axis])
            made = np.moveaxis(made.take(wanted, axis, mode="clip"), axis, -1)
            made = np.moveaxis(np.where(outside, 0, made), -1, axis)
        return (made.astype(x.dtype) if bias is None else made + bias.reshape(-1, *ones),)


def _placed(settings: dict[str, Any], full: list[int], same: list[int]) -> tuple[list[int], list[int]]:
    """Where the result of a ConvTranspose starts in what its kernel reaches, and how large it is."""
    axes, pads, auto = range(len(full)), settings.get("pads"), settings.get("auto_pad") or "NOTSET"
    extra = settings.get("output_padding") or [0] * len(full)
    wanted = settings.get("output_shape")
    if not wanted and not auto.startswith("SAME"):
        pads = pads if pads and auto == "NOTSET" else [0] * 2 * len(full)
        return pads[: len(full)], [full[a] + extra[a] - pads[a] - pads[a + len(full)] for a in axes]
    shape = list(wanted[-len(full) :]) if wanted else same
    total = [full[a] + extra[a] - shape[a] for a in axes]
    return [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total], shape
