"""Write which laws are proved, for those that never run the solver: `python -m egraph_opt.proofs.answers`."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import egraph_opt.laws
from egraph_opt.laws import proved
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws, select
from egraph_opt.proofs.prover import SECONDS, prove
from egraph_opt.proofs.trail import NO_TIME


def record_of(law: Law, seconds: float) -> dict[str, Any]:
    """What is written of a law; a counterexample is the gate's to look for."""
    proof = prove(law, seconds, refute=False)
    record: dict[str, Any] = {
        "text": proved.digest_of(law),
        "operators": list(proof.operators),
        "meanings": proved.digest_of_meanings(proof.operators),
        "status": proof.status,
    }
    if proof.status == "proved":
        return record | {"arithmetic": proof.arithmetic, "ranks": proof.ranks, "notes": list(proof.notes)}
    return record | {"reason": " ".join(proof.reason.split())[:80]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="laws or rulesets that are tried again, whatever they say")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="of processor time, for a law not proved before"
    )
    parser.add_argument("--all", action="store_true", help="those that have not changed as well")
    parser.add_argument(
        "--again", action="store_true", help="those that there was too little time for as well"
    )
    options = parser.parse_args()
    laws, old = all_laws(), proved.answers()
    changed = {law.key for law in laws} if options.all else set(proved.stale(laws))
    if options.names:
        changed |= {law.key for law in select(options.names)}
    if options.again:
        changed |= {key for key, record in old["laws"].items() if NO_TIME in record.get("reason", "")}
    found = {law.key: old["laws"][law.key] for law in laws if law.key not in changed}
    solver = f"z3-solver {version('z3-solver')}" if changed else old["solver"]
    (folder,) = egraph_opt.laws.__path__
    file = Path(folder) / proved.FILE
    before = {key for key, record in old["laws"].items() if record["status"] == "proved"}
    those = sorted((law for law in laws if law.key in changed), key=lambda law: law.key not in before)
    for law in those or laws[:1]:
        if law.key in changed:
            seconds = max(options.seconds, SECONDS) if law.key in before else options.seconds
            found[law.key] = record_of(law, seconds)
        made = {"trusted": proved.digest_of_prover(), "solver": solver, "laws": dict(sorted(found.items()))}
        file.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")  # so far; the rest is stale
    print(dict(Counter(record["status"] for record in found.values())))


if __name__ == "__main__":
    main()
