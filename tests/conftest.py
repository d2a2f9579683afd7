"""The branch coverage of the engine by package, where `--cov` measures it; too little of it is a failure.

Tests that register laws leave none behind (`restored_laws`).  What there is when tests begin is left to no
garbage collection, which saves each worker a twentieth.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from .dealt_variations import left_out

FLOOR = 90.0
"""Per cent of the engine's branches that the tests have to take, both ways."""

Counts = Counter[str]
"""Of one package: `branches`, `taken`, `statements`, `run`."""

SAMPLED = (
    "benchmarks/test_figures.py",
    "fuzzing/",
    "inference/test_trained_models.py",
    "knowledge_bases/",
    "pipeline/test_models.py",
    "pipeline/test_node_cases.py",
    "rewrites/",
)
"""Files and folders whose tests take the same branches over and over, on many models or drawn ones."""

MEASURED_ONE_IN = 9
"""Of the tests of such a file one in so many is measured: an odd number, as those of a law come in fours.

Up to Python 3.13 whatever runs while branches are measured is a fifth to three quarters slower, and so is the
code that is not measured."""

MEASURED = pytest.StashKey[dict[str, Counts]]()


def by_package(files: dict[str, dict[str, dict[str, int]]]) -> dict[str, Counts]:
    """The counts of coverage's JSON report, `files` by path, added up by folder."""
    found: dict[str, Counts] = {}
    for path, entry in files.items():
        summary = entry["summary"]
        found.setdefault(Path(path).parent.as_posix(), Counter()).update(
            branches=summary["num_branches"],
            taken=summary["covered_branches"],
            statements=summary["num_statements"],
            run=summary["covered_lines"],
        )
    return dict(sorted(found.items()))


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def total(packages: dict[str, Counts]) -> Counts:
    return sum(packages.values(), start=Counter())


def below_floor(packages: dict[str, Counts]) -> bool:
    """Whether too few of the branches are taken."""
    counts = total(packages)
    return percent(counts["taken"], counts["branches"]) < FLOOR


@pytest.fixture
def restored_laws() -> Iterator[None]:
    """Laws that a test registers are gone after it."""
    from egraph_opt.laws.law import registered  # not where only coverage is looked at
    from egraph_opt.laws.selection import all_laws

    all_laws()
    before = dict(registered)
    yield
    registered.clear()
    registered.update(before)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if dropped := set(left_out(items, config.args)):
        config.hook.pytest_deselected(items=list(dropped))
        items[:] = [item for item in items if item not in dropped]
    here, seen = Path(__file__).parent, Counter[str]()
    for item in items:
        name = item.path.relative_to(here).as_posix() if item.path.is_relative_to(here) else ""
        if name.startswith(SAMPLED):
            if seen[name] % MEASURED_ONE_IN:
                item.add_marker("no_cover")
            seen[name] += 1


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


# After pytest-cov has combined what the workers measured.
@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if not session.config.getoption("cov_source", None) or hasattr(session.config, "workerinput"):
        return
    measured = coverage.Coverage()
    measured.load()
    target = session.config.rootpath / "build" / "coverage.json"
    target.parent.mkdir(exist_ok=True)
    measured.json_report(outfile=str(target))
    packages = by_package(json.loads(target.read_text(encoding="utf-8"))["files"])
    session.config.stash[MEASURED] = packages
    if exitstatus == pytest.ExitCode.OK and below_floor(packages):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    packages = config.stash.get(MEASURED, None)
    if packages is None:
        return
    terminalreporter.section("coverage of the engine: branches, statements (build/coverage.json)")
    for name, counts in [*packages.items(), ("all", total(packages))]:
        branches = percent(counts["taken"], counts["branches"])
        statements = percent(counts["run"], counts["statements"])
        terminalreporter.line(f"{name:<42} {branches:6.1f} % of {counts['branches']:5}   {statements:6.1f} %")
    if below_floor(packages):
        terminalreporter.line(f"FAILED: less than {FLOOR:.0f} % of the branches", red=True)
