"""The command line: `egraph-opt optimize`, `alternatives`, `explain`, `egraph`, `show`, `diff`, `rules`,
`operators`, `costs`, `measurements`, `prove`, `runner`, `study`, `compare`, `sweep`, `sensitivity`,
`calibrate`, `check-profile`, `check-certificate` and `tune`.

Exit codes: 0 done (also when nothing changed), 1 the model could not be read or is invalid, 2 usage, 3 the
result was found to be wrong under --strict.
"""

import gc

from egraph_opt.cli import (
    calibrate,
    certificates,
    check_profile,
    compare,
    costs,
    differences,
    egraphs,
    explain,
    listings,
    measurements,
    optimization,
    prove,
    runner,
    saturation_studies,
    sensitivity,
    study,
    sweep,
    tune,
)
from egraph_opt.cli.application import app, exit_code
from egraph_opt.cli.options import parse_assumption


def main() -> None:
    """The entry point `egraph-opt`.

    What is imported stays, so nobody looks for cycles in it: not meanwhile, nor at the end, for 0.25 s.
    """
    gc.disable()
    try:
        app()
    finally:
        gc.freeze()


__all__ = [
    "app",
    "calibrate",
    "certificates",
    "check_profile",
    "compare",
    "costs",
    "differences",
    "egraphs",
    "exit_code",
    "explain",
    "listings",
    "main",
    "measurements",
    "optimization",
    "parse_assumption",
    "prove",
    "runner",
    "saturation_studies",
    "sensitivity",
    "study",
    "sweep",
    "tune",
]
