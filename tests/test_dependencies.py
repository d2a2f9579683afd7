"""What is imported is declared, what is declared is imported, and what is private has an upper bound."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENGINE = ("egraph_opt", "rewrites", "cost_models")
AROUND = ("tests", "benchmarks", "docs")

DISTRIBUTIONS = {"google": "protobuf", "ml_dtypes": "ml-dtypes", "onnx_ir": "onnx-ir", "z3": "z3-solver"}
"""Where the package is not named like its distribution."""

COMMANDS = {"mkdocs-material", "mkdocstrings", "mypy", "pre-commit", "pytest-cov", "pytest-xdist", "ruff"}
"""Run rather than imported."""

OPTIONAL = ("calibrate", "compare", "dask", "openvino", "parquet", "plots", "prove", "ray", "tune")
"""Extras that the engine imports where a command asks for them."""

PRIVATE = {
    "egglog": "egglog.bindings: rules go in as text, and an e-graph is filled and read in bulk",
    "onnx": "_infer_node_outputs, which takes bytes: the public one serialises every fact again",
    "onnxruntime": "onnxruntime.capi: the exceptions, which have no public name",
}
"""Dependencies of which more is used than what they promise to keep, and what for."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def trees(folders: tuple[str, ...]) -> Iterator[ast.Module]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield tree_of(path)


def imported_modules(folders: tuple[str, ...]) -> set[str]:
    """Absolute imports by their whole name, `importlib.import_module` of a literal included."""
    found = set()
    for tree in trees(folders):
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    found |= {alias.name for alias in names}
                case ast.ImportFrom(module=str(module), level=0):
                    found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
                case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name))]):
                    found.add(name)
    return found


def imported(folders: tuple[str, ...]) -> set[str]:
    """The distributions that are imported."""
    own = {path.stem for folder in AROUND for path in (ROOT / folder).glob("*.py")} | {"egraph_opt", "tests"}
    names = {name.partition(".")[0] for name in imported_modules(folders)}
    return {DISTRIBUTIONS.get(name, name) for name in names - own - sys.stdlib_module_names}


def declared(*extras: str) -> dict[str, str]:
    """Distributions and the versions that are allowed, of the dependencies or of extras."""
    listed = [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    found = [re.match(r"([\w.-]+)(\[\w+\])?(.*)", line) for line in listed or PROJECT["dependencies"]]
    return {match[1]: match[3] for match in found if match is not None and match[1] != PROJECT["name"]}


def test_the_engine_imports_what_is_declared_and_nothing_else() -> None:
    assert imported(ENGINE) == set(declared() | declared(*OPTIONAL))


def test_tests_and_benchmarks_import_what_the_extras_declare_and_nothing_else() -> None:
    extras = set(declared("test", "bench", "networks", "dev", "docs"))
    assert extras >= COMMANDS
    assert imported(AROUND) - set(declared() | declared(*OPTIONAL)) == extras - COMMANDS


def test_every_dependency_has_a_lower_bound() -> None:
    found = declared() | declared("test", "bench", "networks", "dev", "docs", *OPTIONAL)
    assert not [name for name, allowed in found.items() if not allowed.startswith((">=", "=="))]


@pytest.mark.parametrize("name", sorted(PRIVATE))
def test_a_dependency_whose_private_parts_are_used_has_an_upper_bound(name: str) -> None:
    assert "<" in declared()[name]


def test_no_other_private_part_of_a_dependency_is_used() -> None:
    attributes = {
        node.attr
        for tree in trees(ENGINE)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr)
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "other"))
    }
    assert attributes == {"_exit", "_infer_node_outputs"}  # os._exit is public
    inner = {name for name in imported_modules(ENGINE) if re.search(r"\.(_\w+|capi|bindings)$", name)}
    assert {name for name in inner if not name.startswith("egraph_opt.")} == {
        "egglog.bindings",
        "onnxruntime.capi",
    }
