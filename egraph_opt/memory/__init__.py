"""Peak memory: what a graph needs while it runs, in which order it needs less, and which graph needs less.

>>> from egraph_opt.memory import Liveness, RunStep, best_usage, usage
>>> wide = Liveness(  # two branches that grow and shrink; step 4 joins them
...     size=[100, 1, 100, 1, 1],
...     steps=[RunStep(writes=(0,)), RunStep(writes=(2,)), RunStep((0,), (0,), (1,)),
...            RunStep((1,), (2,), (3,)), RunStep((2, 3), (1, 3), (4,))],
...     kept=frozenset((4,)))
>>> usage(wide).peak, best_usage(wide).peak
(201, 102)
"""

from egraph_opt.memory.arena import arena
from egraph_opt.memory.liveness import Block, Liveness, RunStep, Usage, usage
from egraph_opt.memory.objective import COST, Objective, bytes_text, objective_of, parse_bytes
from egraph_opt.memory.schedule import best_usage
from egraph_opt.memory.trace import Arranged, Trace, arrange, liveness, places_in, trace

__all__ = [
    "COST",
    "Arranged",
    "Block",
    "Liveness",
    "Objective",
    "RunStep",
    "Trace",
    "Usage",
    "arena",
    "arrange",
    "best_usage",
    "bytes_text",
    "liveness",
    "objective_of",
    "parse_bytes",
    "places_in",
    "trace",
    "usage",
]
