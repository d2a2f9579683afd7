"""The rooms of the house: imports point one way, names stand once, files and signatures stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import onnx
import pytest

import egraph_opt
import egraph_opt.laws

ROOT = Path(egraph_opt.__file__).parents[1]

ORDER = (
    "errors",
    "foreign_text",
    "forking",
    "imports",
    "cache",
    "facts",
    "model",
    "graph",
    "inference",
    "operators",
    "semantics",
    "laws",
    "certificates",
    "egraph",
    "extraction",
    "cost",
    "memory",
    "rebuild",
    "certifying",
    "verification",
    "measurement",
    "report",
    "pipeline",
    "check",
    "proofs",
    "lab",
    "cli",
    "__main__",
)
"""A room imports itself and what stands before it."""

CONTENT = ("rewrites", "cost_models")
"""What stands beside the engine, which imports none of it."""

PUBLIC = ("egraph_opt.operators", "egraph_opt.inference", "egraph_opt.laws", "egraph_opt.laws.sorts")
"""Packages through which content imports; the engine imports names from where they are defined."""

LONGEST = 400
MOST_PARAMETERS = 5


def _name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[0] in CONTENT:
        parts.insert(0, "egraph_opt")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _modules(*folders: str) -> dict[str, Path]:
    return {_name(path): path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}


MODULES = _modules("egraph_opt", *CONTENT)


@cache
def _trees() -> dict[str, ast.Module]:
    """Of every module; most workers ask for none."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def _imports(name: str) -> Iterator[tuple[str, str]]:
    """Module and name of everything that a module imports from within, for types alone as well."""
    for node in ast.walk(_trees()[name]):
        if isinstance(node, ast.ImportFrom):
            package = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
            base = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((source, entry.name) for entry in node.names if source.startswith("egraph_opt"))
        elif isinstance(node, ast.Import):
            yield from ((entry.name, "") for entry in node.names if entry.name.split(".")[0] == "egraph_opt")


def _target(source: str, name: str) -> str:
    whole = f"{source}.{name}"
    return whole if whole in MODULES else source


def _room(name: str) -> str:
    return ".".join(name.split(".")[1:2])


def _defined(name: str) -> set[str]:
    found = set()
    for statement in _trees()[name].body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def test_every_room_has_its_place() -> None:
    rooms = {_room(name) for name in MODULES if name != "egraph_opt"}
    assert rooms == {*ORDER, *CONTENT}


def test_imports_point_one_way() -> None:
    place = {room: k for k, room in enumerate(ORDER)}
    wrong = [
        f"{name} imports {target}"
        for name in MODULES
        if (here := _room(name)) in place
        for target in (_target(*entry) for entry in _imports(name))
        if place.get(_room(target), len(place)) > place[here]
    ]
    assert not wrong


def test_laws_load_no_engine() -> None:
    """They are written in the term language; what runs them comes after."""
    later = ORDER[ORDER.index("egraph") :]
    wrong = [
        f"{name} imports {target}"
        for name in MODULES
        if _room(name) == "rewrites"
        for target in (_target(*entry) for entry in _imports(name))
        if _room(target) in later
    ]
    assert not wrong


def test_laws_do_not_import_what_judges_them() -> None:
    judges = ("testing", "check")
    wrong = [
        f"{name} imports {target}"
        for name in MODULES
        if _room(name) in CONTENT
        for target in (_target(*entry) for entry in _imports(name))
        if _room(target) in judges
    ]
    assert not wrong


def test_only_commands_import_the_root() -> None:
    """It is for users; what it names is imported within from where it is defined."""
    wrong = [
        name
        for name in MODULES
        if name != "egraph_opt" and _room(name) != "cli"
        if "egraph_opt" in (_target(*entry) for entry in _imports(name))
    ]
    assert not wrong


def test_no_modules_import_each_other() -> None:
    """Not even for types."""
    graph = {name: {_target(*entry) for entry in _imports(name)} - {name} for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_names_are_imported_from_where_they_are_defined() -> None:
    defined = {name: _defined(name) for name in MODULES}
    wrong = [
        f"{name}: {entry} from {source}"
        for name, path in MODULES.items()
        if path.name != "__init__.py"
        for source, entry in _imports(name)
        if entry and f"{source}.{entry}" not in MODULES and entry not in defined[source]
        if not (_room(name) in CONTENT and source in PUBLIC)
    ]
    assert not wrong


def test_properties_are_kept_without_a_lock() -> None:
    """That of functools has one until Python 3.12: see `forking`."""
    kept = {
        name
        for name, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.ImportFrom) and "functools" in (text := ast.unparse(node))
        if "cached_property" in text
    }
    assert kept == {"egraph_opt.forking", "egraph_opt.proofs.merging"}, "proofs are made in one thread"


def test_no_two_classes_share_a_name() -> None:
    places = defaultdict(list)
    for name, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and _room(name) not in CONTENT:
                places[node.name].append(name)
    assert not {name: found for name, found in places.items() if len(found) > 1}


def _declares_a_term(function: ast.FunctionDef) -> bool:
    """Laws, constructors and host functions have as many operands as they state, commands options."""
    heads = [ast.unparse(decorator).split("(")[0] for decorator in function.decorator_list]
    sorts = [ast.unparse(entry.annotation) for entry in function.args.args if entry.annotation]
    if len(sorts) == len(function.args.args) and set(sorts) <= set(egraph_opt.laws.__all__):
        return True  # the statements of several laws, on pattern variables
    return any(
        head in ("law", "auxiliary", "table", "operator", "hosted", "app.command", "study.command")
        for head in heads
    )


def _positional(function: ast.FunctionDef) -> list[str]:
    names = [entry.arg for entry in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def test_no_function_takes_more_than_five_positional_parameters() -> None:
    wrong = [
        f"{name}.{node.name}: {', '.join(_positional(node))}"
        for name, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and not _declares_a_term(node)
        if len(_positional(node)) > MOST_PARAMETERS
    ]
    assert not wrong


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    lengths = {
        name: len(path.read_text(encoding="utf-8").splitlines())
        for name, path in _modules("egraph_opt", *CONTENT, "tests", "benchmarks").items()
    }
    assert not {name: length for name, length in lengths.items() if length > LONGEST}


def test_few_modules_stand_outside_of_rooms() -> None:
    assert {path.stem for path in (ROOT / "egraph_opt").glob("*.py")} == {
        "__init__",
        "__main__",
        "cache",
        "errors",
        "foreign_text",
        "forking",
        "imports",
    }


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("egraph_opt.model.reading", ("egglog", "onnxruntime")),
        ("egraph_opt.model.writing", ("egglog", "onnxruntime")),
        ("egraph_opt.rewrites", ("onnxruntime", "egraph_opt.check.judging.trials")),
        ("egraph_opt.cost_models.ascend", ("egglog", "onnx_ir", "onnxruntime", "sympy")),
    ],
)
def test_a_module_loads_no_more_than_it_needs(module: str, unwanted: tuple[str, ...]) -> None:
    code = f"import {module}, sys; print(*sorted({set(unwanted)} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


HEAVY = (
    *("black", "egglog", "egglog.bindings", "highspy", "IPython", "matplotlib", "onnx.reference", "onnx_ir"),
    *("onnxruntime", "pandas", "scipy", "sympy"),
)
"""What takes long to import, and no listing needs."""


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("--help",), (*HEAVY, "numpy", "onnx")),
        (("optimize", "--help"), (*HEAVY, "numpy", "onnx")),
        (("calibrate", "--help"), (*HEAVY, "numpy", "onnx")),
        (("tune", "--help"), (*HEAVY, "numpy", "onnx", "optuna")),
        (("sensitivity", "--help"), (*HEAVY, "numpy", "onnx")),
        (("sweep", "--help"), (*HEAVY, "distributed", "numpy", "onnx", "pyarrow")),
        (("costs",), HEAVY),
        (("rules",), HEAVY),
        (("operators",), HEAVY),
    ],
)
def test_a_command_loads_no_more_than_it_needs(arguments: tuple[str, ...], unwanted: tuple[str, ...]) -> None:
    assert loaded_by(f"import sys; sys.argv = ['', *{arguments!r}]; import egraph_opt.cli", unwanted) == []


def loaded_by(setup: str, unwanted: tuple[str, ...]) -> list[str]:
    """Which modules a command of the command line has loaded at its end; `setup` says which command."""
    code = f"""{setup}
try:
    egraph_opt.cli.main()
except SystemExit:
    pass
print(*sorted({set(unwanted)} & set(sys.modules)), file=sys.stderr)"""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stderr.split()


def test_optimizing_loads_neither_sympy_nor_the_python_half_of_egglog(tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 3])
    nodes = [onnx.helper.make_node("Neg", ["x"], ["m"]), onnx.helper.make_node("Neg", ["m"], ["y"])]
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", 3])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "twice", [x], [y])), source)
    command = ["", "optimize", str(source), str(tmp_path / "out.onnx")]
    unwanted = ("black", "egglog", "IPython", "pandas", "scipy", "sympy")
    assert loaded_by(f"import sys; sys.argv = {command!r}; import egraph_opt.cli", unwanted) == []
    public = f"import sys; from egraph_opt import optimize; print(*({set(unwanted)} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", public], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
