"""From a model to a better one.

`saturate` is done once for a model, `Saturated.extract` as often as one likes, with another cost model each
time; `optimize` is the two in a row.
"""

from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.stages import optimize, saturate

__all__ = ["Limits", "Result", "Saturated", "optimize", "saturate"]
