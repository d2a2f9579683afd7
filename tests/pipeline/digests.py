"""Prints digests of optimized models, a line each; run in processes of its own by `test_determinism.py`.

python tests/pipeline/digests.py [history]

With `history` other models, laws and targets come before, and the order is another one.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from stress import GRAPHS

from egraph_opt import Limits, optimize

CASES = (
    ("attention_biases", 4, "nodes"),
    ("residual_convolutions", 2, "ascend"),
    ("many_slices", 2, "nodes"),
)
"""The e-graph of the first is so large that egglog would use several threads."""


def _digest(name: str, depth: int, cost: str) -> str:
    found = optimize(GRAPHS[name](depth, 3), cost, verify=False)
    return hashlib.sha256(found.model.SerializeToString()).hexdigest()


def _make_history() -> None:
    optimize(GRAPHS["reshape_chains"](2, 3), "nodes", rewrites=["reshape", "transpose"], verify=False)
    optimize(GRAPHS["elementwise_chains"](1, 3), "ascend:910a", limits=Limits(rounds=2), verify=False)
    optimize(GRAPHS["shared_scales"](1, 2), "flops", verify=False)


def main() -> None:
    """Print them."""
    cases = CASES
    if "history" in sys.argv[1:]:
        _make_history()
        cases = CASES[::-1]
    for case in cases:
        print(*case, _digest(*case))


if __name__ == "__main__":
    main()
