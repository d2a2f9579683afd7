"""The documentation is true: snippets and commands run, links lead somewhere, tables are whole."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import onnx
import pytest
from onnx import parser

import egraph_opt
from egraph_opt import optimize
from egraph_opt.cli import which_cost
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import operators
from egraph_opt.report import law_picture

from .command_server import served_command

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "pages"
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(PAGES.glob("*.md"))]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
example (float[batch, 3, 8, 8] x) => (float[batch, 4, 8, 8] y)
<float[4, 3, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float k = {2}>
{
    t = Transpose <perm = [0, 2, 3, 1]> (x)
    r = Relu (t)
    u = Transpose <perm = [0, 3, 1, 2]> (r)
    c = Conv (u, w)
    y = Mul (c, k)
}
"""
"""What the snippets call `model.onnx`."""


AS_INSTALLED = ("README", "getting-started")
"""Pages whose commands are the installed one, each time a new interpreter."""


def blocks(text: Path, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(text.read_text(encoding="utf-8")) if kind == language]


def having(language: str) -> list[Path]:
    return [text for text in TEXTS if blocks(text, language)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to run snippets in, with a model, and the benchmarks where the repository has them."""
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks", target_is_directory=True)
    onnx.save(parser.parse_model(MODEL), tmp_path / "model.onnx")
    return tmp_path


@pytest.fixture(scope="module")
def served() -> Iterator[Path]:
    """Where the command `egraph-opt` is that needs no second to import everything."""
    with served_command() as folder:
        yield folder


def run(command: list[str], folder: Path, *served: Path) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join(
        [*map(str, served), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    )
    environment = {**os.environ, "PATH": search, "PYTHONPATH": str(folder), "COLUMNS": "80"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_snippets(text: Path, folder: Path) -> None:
    """Run the Python snippets of a page, one after the other."""
    # A module rather than a script: egglog's host functions have to be importable.
    (folder / "page.py").write_text("\n".join(blocks(text, "python")), encoding="utf-8")
    finished = run([sys.executable, "-c", "import page"], folder)
    assert finished.returncode == 0, finished.stdout


def written_by_snippets(text: Path) -> bool:
    """Whether commands of a page need files that its Python snippets write."""
    writes = (".write_text(", "onnx.save(")
    commands, snippets = blocks(text, "console"), blocks(text, "python")
    return bool(commands) and any(write in block for block in snippets for write in writes)


@pytest.mark.parametrize(
    "text", [text for text in having("python") if not written_by_snippets(text)], ids=lambda text: text.stem
)
def test_the_python_snippets_of_a_page_run_one_after_the_other(text: Path, folder: Path) -> None:
    run_snippets(text, folder)


def too_long(output: str) -> list[str]:
    """Lines of more than 80 columns; what names files, in errors and at the end, is as long as it is."""
    own = [line for line in output.splitlines() if not line.startswith(("egraph-opt: ", "written to "))]
    return [line for line in own if len(line) > 80 and " " in line.strip()]


@pytest.mark.parametrize("text", having("console"), ids=lambda text: text.stem)
def test_the_commands_of_a_page_print_what_it_says(text: Path, folder: Path, served: Path) -> None:
    """They find what the page's Python snippets have written, which are run here then, once."""
    search = [] if text.stem in AS_INSTALLED else [served]
    if written_by_snippets(text):
        run_snippets(text, folder)
    checker = doctest.OutputChecker()
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            finished = run(["bash", "-c", command], folder, *search)
            if command.startswith("egraph-opt "):
                assert not too_long(finished.stdout), command
            if expected.strip():
                assert checker.check_output(expected, finished.stdout, options), (
                    f"{command}\n{finished.stdout}"
                )
            else:
                assert finished.returncode == 0, f"{command}\n{finished.stdout}"


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.stem)
def test_links_lead_to_files_and_headings(text: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text.read_text(encoding="utf-8")):
        if re.match(r"\w+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (text.parent / path).resolve() if path else text
        assert file.exists(), f"{text.name} links to {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert heading in {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}


def test_the_readme_says_which_cost_to_name_as_the_help_does() -> None:
    rows = "\n".join(which_cost.as_markdown())
    assert rows in (ROOT / "README.md").read_text(encoding="utf-8")
    assert max(map(len, which_cost.as_text().splitlines())) <= 78


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "docs/mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == [page.name for page in sorted(PAGES.glob("*.md"))]


def test_every_table_is_asked_for_once() -> None:
    module = tables()
    asked = [name for page in sorted(PAGES.glob("*.md")) for name in module.MARKER.findall(page.read_text())]
    assert sorted(asked) == sorted(module.TABLES)


def test_the_tables_name_every_law_and_every_operator() -> None:
    module = tables()
    page = module.on_page_markdown("<!-- table: laws -->\n\n<!-- table: term_language -->")
    assert all(f"| `{entry.name}` | `{entry.formula}` |" in page for entry in all_laws())
    assert all(f"| `{name}(" in page for name in operators())


def test_every_law_has_a_picture_of_both_sides() -> None:
    drawn = [law_picture.picture(law) for law in all_laws()]
    assert all(drawing.count("<svg ") == drawing.count("</svg>") == 2 for drawing in drawn)
    for drawing in drawn:
        ElementTree.fromstring(f"<div>{drawing}</div>")


def test_pages_ask_no_network_for_anything() -> None:
    theme = (ROOT / "docs/mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in theme and "http" not in theme


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_every_page_is_made(page: Path) -> None:
    module = tables()
    text = page.read_text(encoding="utf-8")
    made = module.on_page_markdown(text)
    assert not module.MARKER.search(made)
    assert len(made) >= len(text)


def test_the_report_that_is_shown_has_the_lines_of_a_report(folder: Path) -> None:
    label = re.compile(r"^(\w[\w\- ]*?)  ", re.MULTILINE)
    (shown,) = blocks(PAGES / "getting-started.md", "text")
    made = label.findall(str(optimize(folder / "model.onnx").report))
    figures = made[: made.index("run-time nodes by operator") + 1]
    some = ("composites", "cost as written")  # of some models only
    told = [name for name in label.findall(shown) if name in figures or name not in some]
    assert told[: len(figures)] == figures


def test_the_examples_in_docstrings_hold() -> None:
    found = pkgutil.walk_packages(egraph_opt.__path__, "egraph_opt.")
    results = [doctest.testmod(importlib.import_module(module.name)) for module in found]
    assert sum(result.attempted for result in results) > 0
    assert sum(result.failed for result in results) == 0


def test_the_page_of_knowledge_names_rulesets_and_tests_that_exist() -> None:
    text = (PAGES / "knowledge.md").read_text(encoding="utf-8")
    rulesets = {law.ruleset for law in all_laws()} | {"legalize"}
    cells = [cell for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE) for cell in row.split("|")]
    named = {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}
    tests = {path.stem for path in (ROOT / "tests" / "knowledge_bases").glob("test_*.py")}
    assert {name for name in named if name.startswith("test_")} == tests - {
        "test_combinations",
        "test_directions",
        "test_onnxoptimizer_passes",
    }
    assert {name for name in named if not name.startswith("test_")} <= rulesets | {"ascend", "nodes", "flops"}
