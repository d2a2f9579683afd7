"""The page: it needs nothing else, shows names as text, and works in a browser, where there is one."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import subprocess
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.cli import app
from egraph_opt.pipeline.compared_models import compared_page
from egraph_opt.pipeline.result import Result
from egraph_opt.report.diff_view import MOST_BOXES

EVIL = "</script><b onclick='x'>\n&amp;"


def model(length: int = 3) -> ModelProto:
    """A chain of convolutions, each with a scale, and a tensor whose name is HTML."""
    nodes, initializers, value = [], [], "x"
    for k in range(length):
        weight = np.random.default_rng(k).normal(size=(4, 4, 1, 1)).astype(np.float32)
        initializers += [
            numpy_helper.from_array(weight, f"w{k}"),
            numpy_helper.from_array(np.array(2, np.float32), f"k{k}"),
        ]
        nodes.append(helper.make_node("Conv", [value, f"w{k}"], [f"conv{k}"], name=f"convolution{k}"))
        nodes.append(helper.make_node("Mul", [f"conv{k}", f"k{k}"], [f"scaled{k}"], name=f"scale{k}"))
        value = EVIL if k == 0 else f"sigmoid{k}"
        nodes.append(helper.make_node("Sigmoid", [f"scaled{k}"], [value], name=f"gate{k}"))
    nodes[-1].output[0] = "y"
    kind = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 8, 8]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", kind[:1], kind[1:], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def result() -> Result:
    return optimize(model(), verify=False)


@pytest.fixture(scope="module")
def page(result: Result) -> str:
    return result.report.to_html()


def embedded(page: str) -> dict[str, list[Any]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    view: dict[str, list[Any]] = json.loads(found[1])["view"]
    return view


def test_the_page_needs_nothing_else(page: str) -> None:
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=[\"']?(https?:|//)", own)
    assert "default-src 'none'" in own
    assert "Permission is hereby granted" in own


def test_names_are_text(page: str) -> None:
    assert EVIL not in page
    assert "<b onclick" not in page
    assert "&lt;b onclick" in page


def test_the_picture_has_both_graphs_and_what_came_of_what(page: str) -> None:
    view = embedded(page)
    counts = {
        kind: sum(node["status"] == kind for node in view["nodes"]) for kind in ("removed", "added", "kept")
    }
    assert counts == {"removed": 6, "added": 3, "kept": 3}
    assert {node["law"] for node in view["nodes"] if node["status"] == "added"} == {
        "convolution.scale_after_conv"
    }
    ids = {node["id"] for node in view["nodes"]}
    assert {end for edge in view["edges"] for end in edge[:2]} <= ids


def test_there_is_a_size_for_each_round_and_one_for_the_end(result: Result) -> None:
    saturation = result.report.saturation
    assert saturation.rounds > 1
    assert len(saturation.by_round) == saturation.rounds + 1
    assert saturation.by_round[-1] == saturation.nodes


def test_a_report_of_another_process_has_figures_only(result: Result) -> None:
    copy = pickle.loads(pickle.dumps(result.report))
    assert copy == result.report
    assert "run-time nodes" in copy.to_html()


def test_the_command_line_writes_pages(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "in.onnx")
    arguments = ["optimize", "in.onnx", "out.onnx", "--html", "report.html", "-q", "--no-verify"]
    run = [str(tmp_path / name) if "." in name and name[0] != "-" else name for name in arguments]
    assert CliRunner().invoke(app, run).exit_code == 0
    assert "Cost by operator" in (tmp_path / "report.html").read_text()
    files = [str(tmp_path / name) for name in ("in.onnx", "out.onnx", "diff.html")]
    assert CliRunner().invoke(app, ["diff", *files[:2], "--html", files[2]]).exit_code == 0
    assert "convolution.scale_after_conv" in (tmp_path / "diff.html").read_text()
    refused = CliRunner().invoke(app, ["diff", *files[:2], "--html", files[0]])
    assert (refused.exit_code, "would overwrite a model" in refused.stderr) == (2, True)


ERRORS = """<script>window.errors = []; window.onerror = (text) => window.errors.push(String(text));
console.error = (...text) => window.errors.push(text.join(" "));</script>"""

ACTIONS = """<script>
const search = document.getElementById("search");
search.value = "scale1";
search.dispatchEvent(new Event("input"));
const found = document.getElementById("found").textContent;
search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
const graph = window.egraphOpt.graph;
const explained = [...document.querySelectorAll("details.chosen .law")].map((law) => law.textContent);
document.getElementById("close").click();
const closed = graph.nodes().length;
graph.nodes(".box.changed").first().emit("tap");
const opened = graph.nodes(".node").length;
document.body.dataset.outcome = JSON.stringify({ errors: window.errors, found, explained, closed, opened });
</script></body>"""

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def dom(path: Path, folder: Path) -> str:
    """A page as a browser has it once its scripts have run."""
    assert BROWSER is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command = [BROWSER, *options, "--virtual-time-budget=20000", "--dump-dom", path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout


def outcome(page: str, folder: Path) -> dict[str, Any]:
    """What a browser makes of a page on which something is searched for and clicked."""
    path = folder / "page.html"
    path.write_text(page.replace("<head>", f"<head>{ERRORS}").replace("</body>", ACTIONS), encoding="utf-8")
    shown = dom(path, folder)
    found = re.search(r'data-outcome="([^"]*)"', shown)
    assert found is not None, shown[-2000:]
    answer: dict[str, Any] = json.loads(found[1].replace("&quot;", '"').replace("&amp;", "&"))
    return answer


def many_changes() -> str:
    """The page of a chain of 3,000 nodes of which every third changed: 2,000 boxes."""
    before, after = model(1000), model(1000)
    for k in range(1000):
        after.graph.node[3 * k + 2].op_type = "Tanh"
    return compared_page("two", ir.from_proto(before), ir.from_proto(after))


def test_neighbouring_boxes_are_groups_where_there_are_many() -> None:
    boxes = embedded(many_changes())["boxes"]
    members = Counter(box["group"] for box in boxes)
    assert len(boxes) == 2000
    assert "" not in members
    assert 200 < len(members) <= MOST_BOXES
    assert max(members.values()) == 7
    assert {
        box["group"] for box in embedded(compared_page("one", *[ir.from_proto(model())] * 2))["boxes"]
    } == {""}


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js here")
def test_two_thousand_boxes_are_drawn_in_groups_and_a_picture_that_fails_says_so(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(many_changes(), encoding="utf-8")
    script, own = Path(__file__).with_name("page_in_node.js"), resources.files("egraph_opt.report") / "page"
    command = ["node", str(script), str(tmp_path / "page.html"), str(own), "scale7"]
    found = json.loads(
        subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout
    )
    assert (found["failed"], found["drawn"], found["groups"], found["afterOpen"]) == ("", 286, 286, 292)
    assert (found["printed"], found["closed"]) == (True, True)  # what is folded is open while it is printed
    assert (str(found["status"]).startswith("1 of 111"), found["chosen"]) == (True, 1)
    assert "cannot be drawn" in found["allFailed"]
    assert found["again"] == 286


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_in_a_browser_search_finds_a_node_and_a_click_explains_it(page: str, tmp_path: Path) -> None:
    found = outcome(page, tmp_path)
    assert found["errors"] == []
    assert str(found["found"]).startswith("1 found")
    assert any("convolution.scale_after_conv" in text for text in found["explained"])
    assert found["closed"] == 6
    assert found["opened"] == 3


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_thousands_of_nodes_open_at_once(tmp_path: Path) -> None:
    """Boxes are closed at first, so that few of them have to find a place."""
    before, after = model(1000), model(1000)
    for k in range(0, 1000, 10):
        after.graph.node[3 * k + 2].op_type = "Tanh"
    text = compared_page("two", ir.from_proto(before), ir.from_proto(after))
    view = embedded(text)
    assert len(view["nodes"]) == 3100
    assert not any(box["opened"] for box in view["boxes"])
    timed = text.replace("</body>", "<script>document.body.dataset.took = performance.now()</script></body>")
    (tmp_path / "page.html").write_text(timed, encoding="utf-8")
    shown = dom(tmp_path / "page.html", tmp_path)
    (took,) = re.findall(r'data-took="([0-9.]+)"', shown)
    assert float(took) < 3000
