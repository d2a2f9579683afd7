"""How often the bound of a certificate is the cost, how long it takes to make and to check, and its size.

python benchmarks/certified_bounds.py trained|light|FOLDER [--cost nodes|ascend] [--only TEXT]

A line of JSON for each model.  What the bound adds is timed: certificates are made with it and without it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from dataclasses import replace
from pathlib import Path

from model_files import light_models, models_of_folder, trained_models

from egraph_opt import optimize
from egraph_opt.certificates.checking_bound import check_bound
from egraph_opt.certificates.stated_bound import StatedBound


def figures(path: Path, cost: str) -> dict[str, float | str]:
    """What is measured of one model."""
    result = optimize(path, cost, verify=False, record=True)
    times = []
    for seconds in (0.0, None):
        start = time.perf_counter()
        certificate = result.certificate(bound_seconds=seconds)
        times.append(time.perf_counter() - start)
    text = json.dumps(certificate.bound)
    start = time.perf_counter()
    stated = StatedBound.from_json(json.loads(text))
    found = check_bound(replace(stated, written=None), [])
    checked = time.perf_counter() - start
    return {
        "cost": found.cost,
        "lower_bound": found.lower_bound,
        "proved": found.proved,
        "exact": found.exact,
        "linked": stated.written is not None,
        "e-nodes": found.nodes,
        "cases": found.cases,
        "seconds to make": round(times[1] - times[0], 2),
        "seconds to check": round(checked, 3),
        "bytes": len(text),
        "compressed": len(gzip.compress(text.encode())),
    }


def main() -> None:
    """Measure the models that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models")
    parser.add_argument("--cost", default="nodes")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    listed = {"trained": trained_models, "light": light_models}.get(asked.models)
    models = models_of_folder(Path(asked.models)) if listed is None else listed()
    for name, path in models.items():
        if asked.only in name:
            print(json.dumps({"model": name, **figures(path, asked.cost)}), flush=True)


if __name__ == "__main__":
    main()
