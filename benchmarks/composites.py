"""Composite functions found in trained and development models, of as many as their architectures have.

python benchmarks/composites.py [FOLDER ...]

The trained models are those of the wheels in `tests/models.txt`; development models are looked for in the
folders given, by the names in `EXPECTED`.  The exit code is 1 where one is missed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from model_files import models_of_folder, trained_models
from rich.console import Console
from rich.table import Table

from egraph_opt import saturate
from egraph_opt.report.composites import find_composites

EXPECTED: dict[str, dict[str, int]] = {
    # Two layers each; the embeddings of BERT are normalised too, GPT-2, T5 and Whisper end with one more.
    "bert_l2_h256_dyn.onnx": {"Attention": 2, "Gelu": 2, "LayerNormalization": 5, "Softmax": 2},
    "gpt2_l2_h256_s64.onnx": {"Attention": 2, "Gelu": 2, "LayerNormalization": 5, "Softmax": 2},
    "t5enc_l2_h256.onnx": {"Attention": 2, "RMSNormalization": 5, "Softmax": 2},
    "whisper_enc_l2.onnx": {"Attention": 2, "Gelu": 4, "LayerNormalization": 5, "Softmax": 2},
    "nn_transformer_enc_l2.onnx": {"Attention": 2, "LayerNormalization": 4, "Softmax": 2},
    # HardSigmoid and HardSwish of MobileNetV3: squeeze-and-excitation, and the blocks with it.
    "mobilenetv3_small.onnx": {"HardSigmoid": 9, "HardSwish": 19},
    # The recogniser: MobileNetV3-like blocks, then SVTR's two layers with Swish and its five normalisations.
    "rapidocr_onnxruntime/ch_PP-OCRv4_rec_infer.onnx": {
        "Attention": 2, "HardSigmoid": 2, "HardSwish": 28, "LayerNormalization": 5, "Softmax": 3, "Swish": 7,
    },
    "magika/standard_v3_3.onnx": {"Gelu": 2, "LayerNormalization": 2, "Softmax": 1},
}  # fmt: skip
"""What each model computes, by its architecture: by name of the file, or of a trained model its name."""


def composites_of(path: Path) -> Mapping[str, int]:
    """The composite functions that saturation under the default rulesets finds, bodies included."""
    found: Counter[str] = Counter()
    region = saturate(path).region
    for part in region.walk() if region is not None else ():
        found.update(find_composites(part.lowered, part.snapshot))
    return found


def known_models(folders: list[Path]) -> dict[str, Path]:
    """The models of `EXPECTED` that are there."""
    paths = {Path(name).name: path for folder in folders for name, path in models_of_folder(folder).items()}
    paths |= trained_models()
    return {name: paths[name] for name in EXPECTED if name in paths}


def main(folders: Annotated[list[Path] | None, typer.Argument(help="Folders of models.")] = None) -> None:
    """Print a table: found / expected."""
    kinds = sorted({kind for row in EXPECTED.values() for kind in row})
    table = Table("model", *kinds)
    missed = 0
    for name, path in known_models(folders or []).items():
        found, wanted = composites_of(path), EXPECTED[name]
        missed += sum(max(count - found.get(kind, 0), 0) for kind, count in wanted.items())
        cells = (
            f"{found.get(kind, 0)} / {wanted.get(kind, 0)}" if kind in {*found, *wanted} else ""
            for kind in kinds
        )
        table.add_row(Path(name).stem, *cells)
    Console(width=150).print(table)
    sys.exit(missed > 0)


if __name__ == "__main__":
    typer.run(main)
