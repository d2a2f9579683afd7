"""All meanings: importing this declares them."""

from egraph_opt.semantics import computed, folds, movement, pointwise, quantization, windows  # noqa: F401 - they declare meanings
from egraph_opt.semantics.values import choosers, meanings

__all__ = ["choosers", "meanings"]
