"""Every optimiser on every model: greedy passes over the same laws, and other tools, beside saturation.

python benchmarks/comparing.py trained|light|FOLDER... [--orders N] [--only TEXT] [--json FILE]

Several groups of models may be given.  Each tool runs in a process of its own, as in `egraph-opt compare`;
`make bench` installs those that are compared with.  What is not installed, or wrong, is told, and has no
price that counts.  The file is written after every model; models that it has and that are not asked for stay.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from models import chosen, versions

from egraph_opt.lab.comparison.running import Bounds, Contender, compare_tools
from egraph_opt.lab.comparison.tools import TOOLS

COSTS = ("nodes", "ascend")
SECONDS = 1500.0
Row = dict[str, Any]


def kept(row: Contender) -> Row:
    """What tables need of a contender."""
    return {"nodes": row.nodes, "prices": dict(row.prices), "correct": row.correct}


def compared(path: Path, orders: int | None) -> dict[str, Row]:
    """By tool what it made of a model."""
    tools = [tool for tool in TOOLS.values() if orders is not None or not tool.orders]
    rows = compare_tools(path, tools, COSTS, orders=orders or 0, bounds=Bounds(seconds=SECONDS))
    for row in rows:
        if row.problem or row.correct != "passed":
            print(f"{row.model}, {row.tool}: {row.problem or row.detail}", file=sys.stderr)
    return {row.tool: kept(row) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="+", help="trained, light, or folders of models")
    parser.add_argument("--orders", type=int, help="also the best of known and N random orders of passes")
    parser.add_argument("--only", default="", help="models with this text in their name")
    parser.add_argument("--json", type=Path, required=True, help="where the rows are kept")
    given = parser.parse_args()
    written: Row = {"versions": {}, "models": {}}
    if given.json.exists():
        written = json.loads(given.json.read_text(encoding="utf-8"))
    written["versions"] = versions()
    for group in given.what:
        for name, path in chosen(group).items():
            if given.only in name:
                written["models"][name.removesuffix(".onnx")] = compared(path, given.orders)
                given.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
                print(f"{name} done", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
