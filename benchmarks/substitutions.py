"""Tries substitutions in TASO's language: does each follow from the laws?

python benchmarks/substitutions.py [SINGLE.txt] [--pairs MULTI.txt] [--nodes N] [--seconds S] [--only K]

A line is `left=>right`; in a file of pairs two lines are one rule, both of which have to follow.  Each side
is translated into our terms on small concrete shapes: the most general ones for which both sides are well
typed (`substitution_shapes`).  All operands are graph inputs.  The two sides are put into one e-graph; the
rule follows if saturation, with laws firing wherever they hold, makes them one class.  Prints a line a rule
and the counts; exits 1 if a rule could not be typed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from substitution_shapes import Dims, Expression, Untypable, parse, typed_shapes

from egraph_opt.check.proving import prove
from egraph_opt.laws.examples import Operands
from egraph_opt.operators import ConvWindow, binary, concat, conv, matmul, none, output, split, unary
from egraph_opt.operators.terms import listed

ELEMENTWISE = {"ewadd": "Add", "ewmul": "Mul"}
RELU = 2
"""TASO's number of the activation."""


@dataclass(frozen=True)
class Attempt:
    """How one rule went.

    Attributes:
        status: "proved", "not proved" or "untypable".
        reason: why saturation ended, or what cannot be typed.
        shapes: of the operands, by name.
    """

    number: int
    rule: str
    status: str
    reason: str
    nodes: int
    seconds: float
    shapes: Mapping[str, Dims]


def term(expression: Expression, leaves: Mapping[str, Any], shapes: Mapping[Expression, Dims]) -> Any:
    """A side of a rule in our terms; `shapes` are those of its expressions."""
    if isinstance(expression, str):
        return leaves[expression]
    op, *arguments = expression
    if op in ELEMENTWISE:
        return binary(ELEMENTWISE[op], *(term(a, leaves, shapes) for a in arguments))
    if op == "relu":
        return unary("Relu", (), term(arguments[0], leaves, shapes))
    if op == "concat":
        return concat(listed(*(term(a, leaves, shapes) for a in arguments[2:])), arguments[0])
    if op in ("split_0", "split_1"):
        _, axis, whole = arguments[0]
        first = shapes["split_0", arguments[0]][axis]
        sizes = (first, shapes[whole][axis] - first)
        return output(split(term(whole, leaves, shapes), axis, sizes), int(op[-1]))
    if op == "matmul":
        activation, x, y = arguments
        result = matmul(term(x, leaves, shapes), term(y, leaves, shapes))
    else:
        *_, activation, x, w = arguments
        kernel, group = shapes[w][2:], shapes[x][1] // shapes[w][1]
        same = tuple(k // 2 for k in kernel)
        window = ConvWindow((1, 1), (*same, *same), (1, 1), group)
        result = conv(term(x, leaves, shapes), term(w, leaves, shapes), none(), window)
    return unary("Relu", (), result) if activation == RELU else result


def attempt(number: int, lines: Sequence[str], nodes: int, seconds: float) -> Attempt:
    """One rule: one line, or the two of a pair."""
    rule = "  and  ".join(lines)
    pairs = [tuple(parse(side) for side in line.split("=>")) for line in lines]
    started = time.monotonic()
    try:
        shapes = typed_shapes(pairs)
    except Untypable as error:
        return Attempt(number, rule, "untypable", str(error), 0, 0.0, {})
    g = Operands(np.random.default_rng(0))
    names = sorted(name for name in shapes if isinstance(name, str))
    leaves = {name: g.input(shapes[name]) for name in names}
    left, right = (tuple(term(pair[k], leaves, shapes) for pair in pairs) for k in (0, 1))
    proof = prove(g, left, right, guards=False, nodes=nodes, seconds=seconds)
    status = "proved" if proof.proved else "not proved"
    taken = time.monotonic() - started
    return Attempt(
        number, rule, status, proof.stop, proof.nodes, taken, {name: shapes[name] for name in names}
    )


def rules_in(path: Path, lines_each: int) -> list[list[str]]:
    """The rules of a file."""
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    return [lines[k : k + lines_each] for k in range(0, len(lines), lines_each)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("single", type=Path, nargs="?")
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", type=int, action="append", help="the numbers of the rules to try, from 1")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: list[Attempt] = []
    for path, lines_each in ((options.single, 1), (options.pairs, 2)):
        if path is None:
            continue
        tried = []
        for number, lines in enumerate(rules_in(path, lines_each), start=1):
            if options.only and number not in options.only:
                continue
            tried.append(attempt(number, lines, options.nodes, options.seconds))
            last = tried[-1]
            print(
                f"{last.number:4d}  {last.status:10s}  {last.reason:10s}  {last.seconds:6.2f} s  "
                f"{last.nodes:6d}  {last.rule}",
                flush=True,
            )
        proved = sum(entry.status == "proved" for entry in tried)
        print(f"{path.name}: {proved} of {len(tried)} follow, {sum(a.seconds for a in tried):.0f} s")
        found += tried
    if options.json:
        options.json.write_text(json.dumps([asdict(entry) for entry in found], indent=1) + "\n")
    return int(any(entry.status == "untypable" for entry in found))


if __name__ == "__main__":
    sys.exit(main())
