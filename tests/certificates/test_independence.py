"""The checker loads no engine of e-graphs, no solver and no runtime; and nothing that found the result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
from onnx import parser

from egraph_opt import optimize
from tests.certificates.made_certificates import HEAD, MODELS

CODE = """
import sys
from egraph_opt.certificates.certificate import Certificate
from egraph_opt.certificates.checking import check_certificate
found = check_certificate(sys.argv[1], sys.argv[2], Certificate.load(sys.argv[3]), strict=True)
assert found.steps
assert found.bound.proved
loaded = {name.split(".")[0] for name in sys.modules}
print(sorted(loaded & {"egglog", "highspy", "onnxruntime"}))
ours = {name.split(".")[1] for name in sys.modules if name.startswith("egraph_opt.")}
print(sorted(ours & {"egraph", "certifying", "extraction", "rebuild", "pipeline", "cost", "verification"}))
"""


def test_checking_loads_neither_engine_nor_solver_nor_runtime(tmp_path: Path) -> None:
    model = parser.parse_model(HEAD + MODELS["a normalisation"])
    onnx.save(model, tmp_path / "model.onnx")
    result = optimize(tmp_path / "model.onnx", "nodes", verify=False, record=True)
    result.save(tmp_path / "out.onnx")
    result.certificate().save(tmp_path / "out.cert")
    files = [str(tmp_path / name) for name in ("model.onnx", "out.onnx", "out.cert")]
    done = subprocess.run([sys.executable, "-c", CODE, *files], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[]", "[]"], done.stderr
