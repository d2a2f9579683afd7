"""An example of a term, as tests of what is beside examples begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from egraph_opt.laws import Operands
from egraph_opt.laws.law import Example


def example(make: Callable[[Operands], Any]) -> Example:
    """The term that a function makes of operands, as one on which a law fires."""
    g = Operands(np.random.default_rng(0))
    return g.fires(make(g))
