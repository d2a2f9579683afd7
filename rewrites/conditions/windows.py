"""What the windows of pools see.  No laws here."""

from egraph_opt.laws import hosted
from egraph_opt.operators.windows import PoolWindow


@hosted()
def always_sees_something(window: PoolWindow) -> bool:
    """No window is on pads alone: these are below all numbers, of whichever type."""
    axes = len(window.kernel)
    small = all(p < window.kernel[k % axes] for k, p in enumerate(window.pads))
    return small and (all(d == 1 for d in window.dilations) or not any(window.pads))


@hosted()
def starts_inside(window: PoolWindow) -> bool:
    """No window begins on the pads behind: how many of such there are is another number to ONNX's inference
    than to onnxruntime."""
    axes = len(window.kernel)
    reach = [(size - 1) * step + 1 for size, step in zip(window.kernel, window.dilations, strict=True)]
    return not window.ceil_mode or all(
        window.pads[axes + k] + window.strides[k] <= reach[k] for k in range(axes)
    )
