"""Whether a second optimisation of a result changes anything.

python benchmarks/fixed_points.py trained light FOLDER.. [--only TEXT] [--costs nodes,flops,bytes,ascend]

A line for each model and cost model of which a second optimisation changes the result; then it ends with 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from models import chosen

from egraph_opt import optimize

COSTS = "nodes,flops,bytes,ascend"


def asked_for(purpose: str) -> tuple[dict[str, Path], list[str]]:
    """The models, by name, and the cost models that the command line names."""
    parser = argparse.ArgumentParser(description=purpose.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["trained"], help="trained, light, or folders of models")
    parser.add_argument("--only", default="", help="models with this text in their name")
    parser.add_argument("--costs", default=COSTS, help="cost models, with commas")
    given = parser.parse_args()
    models = {n: path for what in given.what for n, path in chosen(what).items() if given.only in n}
    return models, given.costs.split(",")


def main() -> None:
    models, costs = asked_for(__doc__ or "")
    changed = looked_at = 0
    for name, path in models.items():
        for cost in costs:
            once = optimize(path, cost, verify=False)
            again = optimize(once.model, cost, verify=False).report
            looked_at += 1
            if again.status != "unchanged":
                changed += 1
                before, after = again.cost.before, again.cost.after
                print(
                    f"{name}, {cost}: {again.nodes.before} -> {again.nodes.after} nodes, {before} -> {after}"
                )
    print(f"{looked_at - changed} of {looked_at} stay as they are")
    sys.exit(changed > 0)


if __name__ == "__main__":
    main()
