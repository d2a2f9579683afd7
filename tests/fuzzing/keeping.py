"""What was found, as a file: the model in ONNX's text format below the setting, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import onnx

from .examining import Case, Examined
from .settings import Setting

ENDING = ".onnxtxt"


def keep(folder: Path, stem: str, examined: Examined) -> str:
    """Write a case; answers where it is, and a snippet of Python that shows it."""
    assert examined.case is not None
    data, setting, seed, _ = examined.case
    model = onnx.load_from_string(data)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}{ENDING}"
    about = "; ".join(f"{f.kind}: {f.message}" for f in examined.notable)
    path.write_text(told(Case(model, setting, seed), about), encoding="utf-8")
    onnx.save(model, folder / f"{stem}.onnx")
    given = "".join(f", {key}={value!r}" for key, value in setting.told().items())
    return f"  kept in {path}\n  Setting({given[2:]}).run(onnx.parser.parse_model('''\n{onnx.printer.to_text(model)}'''))"


def told(case: Case, about: str) -> str:
    """A case as a text: what it is about, its setting, the model."""
    setting = json.dumps({**case.setting.told(), "inputs": case.seed}, default=list)
    return f"# {' '.join(about.split())}\n# {setting}\n{onnx.printer.to_text(case.model)}\n"


def read_case(path: Path) -> Case:
    """A case that was kept."""
    text = path.read_text(encoding="utf-8")
    about = [line for line in text.splitlines() if line.startswith("#")]
    given = json.loads(about[-1].removeprefix("#"))
    seed = given.pop("inputs")
    if given.get("rewrites") is not None:
        given["rewrites"] = tuple(given["rewrites"])
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return Case(onnx.parser.parse_model(body), Setting(**given), seed)
