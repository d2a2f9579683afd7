"""Tests that are run: of several opsets one, of graphs and of tests of laws a share; ALL_VARIATIONS=1: all.

Tests of laws optimise the same graph in several opsets, shapes and spellings, others do the same to one model
after another, or to one wrong law, which takes most of the time of the suite.  Which of them are run, follows
from the sources of the engine and of its laws: the same sources run the same tests, and others, after a
change, another share of them.  `make laws` and `make wrong` run all of their tests, and CI all variations
once a week.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from zlib import crc32

import pytest

SHARES = {
    "benchmarks/test_figures.py": 5,
    "benchmarks/test_stress.py": 4,
    "certificates/": 4,
    "check/test_wrong_laws.py": 200,
    "cost_models/": 4,
    "egraph/test_relevance.py": 3,
    "extraction/test_lying_solver.py": 3,
    "extraction/": 4,
    "fuzzing/test_random_graphs.py": 4,
    "hostile/": 4,
    "inference/": 4,
    "knowledge_bases/": 24,
    "lab/greedy/test_orders.py": 4,
    "lab/": 4,
    "model/test_streams.py": 3,
    "pipeline/test_fixed_points.py": 4,
    "pipeline/test_models.py": 4,
    "pipeline/test_quantised.py": 4,
    "pipeline/test_wrong_laws.py": 3,
    "pipeline/": 5,
    "proofs/test_prover.py::test_a_wrong_law_is_not_proved": 60,
    "proofs/test_prover.py": 3,
    "rewrites/": 24,
    "semantics/test_meanings.py": 4,
    "test_docs.py": 6,
    "test_every_command.py": 4,
    "verification/test_isolated.py": 4,
    "wrong/test_let_loose.py": 96,
    "wrong/test_they_are_wrong.py": 6,
}
"""Folders, files and tests of which variations are dealt: of so many one is run, and one at least.
The first that fits counts."""

SHARES_OF_TESTS = {
    "benchmarks/": 3,
    "certificates/": 3,
    "check/test_wrong_laws.py": 1,
    "check/": 3,
    "cost_models/": 4,
    "egraph/": 3,
    "extraction/": 4,
    "fuzzing/": 3,
    "graph/": 3,
    "knowledge_bases/": 8,
    "lab/": 4,
    "measurement/": 3,
    "pipeline/": 4,
    "proofs/": 2,
    "rewrites/test_laws.py": 1,
    "rewrites/": 8,
    "semantics/": 2,
    "verification/": 3,
}
"""Folders of whose files not all tests are run, of so many one; a file that is named is run whole.

The laws themselves go through the gate, those whole that have changed; these tests are of laws together.
"""

ALL = ("ALL_VARIATIONS", "ALL_WRONG_LAWS", "LAWS")
"""Variables of the environment with which all are run: a law is accepted by both of its tests."""

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SOURCES = ("egraph_opt", "rewrites", "cost_models")


def left_out(items: Iterable[pytest.Item], named: Iterable[str] = ()) -> list[pytest.Item]:
    """The tests that are not run, where these files, folders and tests were named."""
    if any(map(os.environ.get, ALL)):
        return []
    begin = _digest_of_sources()
    varied = [item for item in items if _share(item) > 1 and hasattr(item, "callspec")]
    of_one_opset = _dealt(varied, _but_for_the_opset, lambda item: len(varied), begin)
    kept = set(_dealt(of_one_opset, _function, _share, begin))
    dropped = {item for item in varied if item not in kept}
    if not any(".py" in name for name in named):
        dropped |= _of_tests(items, begin)
    return [item for item in items if item in dropped]


def _of_tests(items: Iterable[pytest.Item], begin: int) -> set[pytest.Item]:
    """What is not run of the files of which a share of the tests is."""
    first = {_function(item): item for item in items if _share_of_tests(item) > 1}
    kept = set(map(_function, _dealt(first.values(), _file, _share_of_tests, begin)))
    return {item for item in items if _function(item) in first and _function(item) not in kept}


def _share(item: pytest.Item) -> int:
    """Of how many variations of a test one is run."""
    return _first_of(SHARES, f"{_file(item)}::{item.name}")


def _share_of_tests(item: pytest.Item) -> int:
    """Of how many tests of a file one is run."""
    return _first_of(SHARES_OF_TESTS, _file(item))


def _first_of(shares: Mapping[str, int], name: str) -> int:
    return next((share for place, share in shares.items() if name.startswith(place)), 1)


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""


def _dealt(
    items: Iterable[pytest.Item],
    key: Callable[[pytest.Item], str],
    share: Callable[[pytest.Item], int],
    begin: int,
) -> list[pytest.Item]:
    """Of the tests that have a key in common one of so many, rounded up."""
    alike: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        alike[key(item)].append(item)
    shuffled = (
        sorted(found, key=lambda item: crc32(item.nodeid.encode(), begin)) for found in alike.values()
    )
    return [item for found in shuffled for item in found[: -(-len(found) // share(found[0]))]]


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _but_for_the_opset(item: pytest.Item) -> str:
    parameters = item.callspec.params  # type: ignore[attr-defined]
    others = sorted((name, repr(value)) for name, value in parameters.items() if name != "opset")
    return f"{_function(item)} {others}" if "opset" in parameters else item.nodeid


def _digest_of_sources() -> int:
    paths = (path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py")))
    found = 0
    for path in paths:
        found = crc32(path.read_bytes(), found)
    return found
