"""The models in wheels: trained ones, and the `light` ones of onnx.  Files only; nothing is imported."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

TRAINED = {"magika": "models", "rapidocr_onnxruntime": "models", "silero_vad": "data", "swift_f0": ""}
"""Where in a package its models are; `tests/models.txt` names the wheels."""

LIGHT = ("onnx", "backend/test/data/light")


def package_folder(package: str) -> Path | None:
    """Where a package is installed; None if it is not."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def models_in(folder: Path) -> list[Path]:
    """The ONNX files of a folder and those below it, by path."""
    return sorted(folder.rglob("*.onnx"))


def trained_models() -> dict[str, Path]:
    """Name (package/file) and path of every trained model that is installed."""
    found = {}
    for package, place in TRAINED.items():
        folder = package_folder(package)
        for path in models_in(folder / place) if folder is not None else ():
            # magika names every model "model.onnx" in a folder that says which.
            stem = path.name if path.stem != "model" or package == "swift_f0" else f"{path.parent.name}.onnx"
            found[f"{package}/{stem}"] = path
    return found


def light_models() -> dict[str, Path]:
    """Name and path of onnx's own test networks whose weights ConstantOfShape makes."""
    folder = package_folder(LIGHT[0])
    paths = models_in(folder / LIGHT[1]) if folder is not None else []
    return {f"light/{path.name}": path for path in paths if path.stem.startswith("light_")}


def models_of_folder(folder: Path) -> dict[str, Path]:
    """Name (relative path) and path of the models of any folder."""
    return {path.relative_to(folder).as_posix(): path for path in models_in(folder)}
