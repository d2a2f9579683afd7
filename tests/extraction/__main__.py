"""The table of the docs: each lie of a solver on 500 problems, what was checked and what came of it.

PYTHONPATH=benchmarks python -m tests.extraction
"""

from __future__ import annotations

import pytest

from egraph_opt.extraction import extract

from .lying_solver import LIES, lie
from .test_lying_solver import COUNT, problems, right, without_other_proofs


def main() -> None:
    """Print the table, in Markdown."""
    print("| said instead | statements checked | refused | optimal | proved | wrong claims |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in LIES:
        checked = refused = optimal = proved = wrong = 0
        with pytest.MonkeyPatch.context() as patch:
            lie(patch, name)
            without_other_proofs(patch)
            for problem, best in problems():
                found = extract(problem, "auto", iterations=2)
                try:
                    optimal += right(problem, found, best)
                except AssertionError:
                    wrong += 1
                proved += found.proved
                checked += sum(piece.checked for piece in found.pieces)
                refused += sum(found.refused.values())
        print(f"| {name} | {checked:,} | {refused:,} | {optimal} | {proved} | {wrong} |")
    print(f"\n{COUNT} problems.")


if __name__ == "__main__":
    main()
