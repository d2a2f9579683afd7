"""Optimises the text detector of rapidocr-onnxruntime, and shows that the outputs match.

python benchmarks/demo.py [MODEL.onnx] [COST]
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from rich.console import Console

from egraph_opt import optimize

FOLDER = Path(__file__).resolve().parent.parent / ".demo"


def text_detector() -> Path:
    """The model file in the wheel; the package itself is not imported."""
    spec = find_spec("rapidocr_onnxruntime")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("rapidocr-onnxruntime is not installed: pip install --no-deps -r tests/models.txt")
    return Path(spec.submodule_search_locations[0]) / "models" / "ch_PP-OCRv4_det_infer.onnx"


def inputs_of(path: Path, height: int, width: int) -> dict[str, np.ndarray]:
    """A white page with lines of made-up black letters, as float[1, 3, height, width] from about -2 to 2."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    page = np.full((1, 3, height, width), 2.2, np.float32)
    for top in range(20, height - 20, 40):
        for left in range(20, width - 30, 14):
            letter = np.kron(random.random((5, 3)) < 0.6, np.ones((4, 4), bool))
            page[:, :, top : top + 20, left : left + 12][:, :, letter] = -2.0
    return {entry.name: page for entry in session.get_inputs()}


def main() -> None:
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else text_detector()
    cost = sys.argv[2] if len(sys.argv) > 2 else "ascend"
    console = Console(highlight=False)
    console.print(f"Optimising {source.name} for {cost}\n")
    result = optimize(source, cost)
    FOLDER.mkdir(exist_ok=True)
    target = result.save(FOLDER / source.name, in_place=False)
    console.print(result.report)
    console.print()
    for height, width in ((64, 96), (160, 320)):
        inputs = inputs_of(source, height, width)
        before, after = (
            onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)
            for path in (source, target)
        )
        error = max(float(np.abs(a - b).max()) for a, b in zip(before, after, strict=True))
        scale = max(float(np.abs(a).max()) for a in before)
        verdict = "match" if error <= 1e-4 * scale + 1e-5 else "DIFFER"
        console.print(
            f"outputs on a page of {height} x {width} {verdict}: largest error {error:.2g} of {scale:.2g}"
        )
        if verdict != "match":
            sys.exit(1)
    console.print(f"written to {target.relative_to(FOLDER.parent)}")


if __name__ == "__main__":
    main()
