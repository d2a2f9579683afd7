"""Computes the witnesses of the laws of this folder, and asks the gate; exit code 1 where one is right,
does not fire, or is accepted."""

from __future__ import annotations

import sys

from egraph_opt.check import LawRefusedError, check_law
from egraph_opt.laws.checking import check
from egraph_opt.laws.law import Law

from .. import WRONG
from ..witnesses import saturation_of, shown
from . import bits_and_regions, blocks_and_indices


def _is_accepted(law: Law) -> bool:
    try:
        check_law(law, conditions=False, neighbours=False, alone=True)
    except LawRefusedError:
        return False
    print(f"{law.name} is accepted")
    return True


def main() -> int:
    failed = []
    assert blocks_and_indices and bits_and_regions
    for name, entry in sorted(WRONG.items()):
        check(entry.law)
        report = saturation_of(entry.law, entry.witness, entry.opset)
        fired, told = shown(entry)
        print(f"{name}: {told or 'both sides are the same'}")
        if not (fired and told and (report.matches or report.dropped)) or _is_accepted(entry.law):
            failed.append(name)
    print(f"{len(WRONG)} laws, failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
