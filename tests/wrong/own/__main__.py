"""Computes the witnesses of the laws of this folder; exit code 1 where one is right, or does not fire."""

from __future__ import annotations

import sys

from egraph_opt.laws.checking import check

from .. import WRONG
from ..witnesses import saturation_of, shown
from . import blocks_and_indices


def main() -> int:
    failed = []
    assert blocks_and_indices
    for name, entry in sorted(WRONG.items()):
        check(entry.law)
        report = saturation_of(entry.law, entry.witness, entry.opset)
        fired, told = shown(entry)
        print(f"{name}: {told or 'both sides are the same'}")
        if not (fired and told and (report.matches or report.dropped)):
            failed.append(name)
    print(f"{len(WRONG)} laws, failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
