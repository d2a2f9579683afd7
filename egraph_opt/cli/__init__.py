"""The command line: `egraph-opt optimize`, `alternatives`, `rules`, `operators`, `costs`, `measurements`.

Exit codes: 0 done (also when nothing changed), 1 the model could not be read or is invalid, 2 usage, 3 the
result was found to be wrong under --strict.
"""

import gc

from egraph_opt.cli import listings, measurements, optimization
from egraph_opt.cli.application import app, exit_code
from egraph_opt.cli.optimization import parse_assumption


def main() -> None:
    """The entry point `egraph-opt`."""
    try:
        app()
    finally:
        gc.freeze()  # the process ends: the interpreter need not look for cycles in all there is, for 0.2 s


__all__ = ["app", "exit_code", "listings", "main", "measurements", "optimization", "parse_assumption"]
