"""A newcomer's ten minutes: the wheel in an empty environment, three models, the lines of README's table.

python .ci/newcomer.py [--system-site-packages] [--rows N]

Every command is run as README's table says it, for each model; what it prints and writes is read.
With --system-site-packages the dependencies are those that are there, which takes seconds.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "newcomer"
MINUTES = 10

MODELS = """
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, parser

TEXTS = {
    "image": '''<ir_version: 8, opset_import: ["" : 17]>
        image (float[batch, 3, 32, 32] x) => (float[batch, 8, 30, 30] y) {
            t = Transpose <perm = [0, 2, 3, 1]> (x)
            r = Relu (t)
            u = Transpose <perm = [0, 3, 1, 2]> (r)
            c = Conv (u, w)
            y = Mul (c, k)
        }''',
    "sequence": '''<ir_version: 8, opset_import: ["" : 17]>
        sequence (float[batch, length, 16] x) => (float[batch, length, 16] y) {
            p = MatMul (x, v)
            a = Add (p, b)
            q = MatMul (x, v)
            d = Add (q, b)
            y = Add (a, d)
        }''',
    "pool": '''<ir_version: 8, opset_import: ["" : 17]>
        pool (float[1, 16, 1024] x) => (float[1, 16, 1] y) {
            r = Relu (x)
            y = AveragePool <kernel_shape = [1024]> (r)
        }''',
}
SHAPES = {"w": (8, 3, 3, 3), "k": (), "v": (16, 16), "b": (16,)}
random = np.random.default_rng(0)
for name, text in TEXTS.items():
    model = parser.parse_model(text)
    read = {operand for node in model.graph.node for operand in node.input}
    for weight, shape in SHAPES.items():
        if weight in read:
            data = np.asarray(random.normal(size=shape), np.float32)
            model.graph.initializer.append(numpy_helper.from_array(data, weight))
    onnx.save(model, f"{name}.onnx")
"""

LOADS = """
import sys

import onnxruntime

onnxruntime.InferenceSession(sys.argv[1])
"""


def commands() -> list[str]:
    """What README's table says to type, but for cost models that a user has to write."""
    table = re.findall(
        r"^\|[^|]*\| `(--cost [^`]*)`", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return [line for line in table if ".py" not in line]


def run(*words: object, folder: Path) -> str:
    """What a command prints; a command that fails ends the script."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, words)), cwd=folder, env=clean, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(with_site: bool) -> Path:
    """An environment with the wheel alone; where its programs are."""
    options = ["--clear", *(["--system-site-packages"] if with_site else [])]
    run(sys.executable, "-m", "venv", *options, WORK / "venv", folder=ROOT)
    programs = WORK / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "-q", "--no-deps", "-w", WORK / "wheel", ROOT, folder=ROOT)
    (wheel,) = (WORK / "wheel").glob("*.whl")
    if with_site:  # of the environment that this runs in, which the new one does not see
        (lib,) = (WORK / "venv").glob("lib/python*/site-packages")
        (lib / "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    own = (programs / "python", "-m", "pip", "--disable-pip-version-check")
    run(*own, "install", "-q", *(["--no-deps", "--force-reinstall"] if with_site else []), wheel, folder=ROOT)
    return programs


def check(text: str, target: Path, programs: Path) -> None:
    """The first screen: short, said to be verified, and the file is there and runs."""
    lines = text.splitlines()
    wrong = []
    if not re.match(r"(optimized|unchanged): ", lines[0] if lines else ""):
        wrong.append("the first line does not say what was done")
    if "verified" not in " ".join(lines[:2]):
        wrong.append("the headline does not say that it is verified")
    if len(lines) > 10:
        wrong.append(f"{len(lines)} lines")
    wrong += [
        f"{len(line)} columns: {line}"
        for line in lines
        if len(line) > 80 and not line.startswith("written to")
    ]
    if wrong:
        sys.exit("\n".join([*wrong, text]))
    run(programs / "python", "-c", LOADS, target, folder=target.parent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system-site-packages", action="store_true", dest="with_site")
    parser.add_argument("--rows", type=int, default=3, help="so many lines of README's table")
    options = parser.parse_args()
    started = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    for old in (WORK / "wheel").glob("*.whl"):
        old.unlink()
    programs = environment(options.with_site)
    print(f"installed after {time.monotonic() - started:.0f} s")
    run(programs / "python", "-c", MODELS, folder=WORK)
    for line in commands()[: options.rows]:
        for name in ("image", "sequence", "pool"):
            target = WORK / f"{name}_out.onnx"
            target.unlink(missing_ok=True)
            text = run(
                programs / "egraph-opt", "optimize", f"{name}.onnx", target.name, *line.split(), folder=WORK
            )
            check(text, target, programs)
            print(f"$ egraph-opt optimize {name}.onnx {target.name} {line}\n{text}")
    minutes = (time.monotonic() - started) / 60
    print(f"{minutes:.1f} minutes in all")
    if minutes > MINUTES:
        sys.exit(f"that is more than {MINUTES}")


if __name__ == "__main__":
    main()
