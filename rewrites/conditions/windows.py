"""What the windows of pools see.  No laws here."""

from egraph_opt.laws import hosted
from egraph_opt.operators.windows import PoolWindow


@hosted()
def always_sees_something(window: PoolWindow) -> bool:
    """No window is on pads alone: these are below all numbers, of whichever type."""
    axes = len(window.kernel)
    small = all(p < window.kernel[k % axes] for k, p in enumerate(window.pads))
    return small and (all(d == 1 for d in window.dilations) or not any(window.pads))
