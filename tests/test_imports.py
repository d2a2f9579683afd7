"""What stands in for heavy dependencies gives way to them, and leaves them as they are for everybody else."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(code: str) -> list[str]:
    """What a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("order", ["import egglog; {}", "{}; import egglog"])
def test_the_compiled_half_of_egglog_is_one_module(order: str) -> None:
    load = "from egraph_opt.imports import bindings, load_bindings; bindings.EGraph"
    code = f"""
{order.format(load)}
import egglog.bindings
assert egglog.bindings is load_bindings()
assert egglog.bindings.EGraph is bindings.EGraph
graph = egglog.EGraph()
graph.register(egglog.i64(3))
print("fine")"""
    assert run(code) == ["fine"]


@pytest.mark.parametrize("first", ["", "import sympy", "import onnx_ir", "import sympy, onnx_ir"])
def test_symbolic_dims_compute_with_sympy_as_ever(first: str) -> None:
    code = f"""
{first}
from egraph_opt.imports import load_onnx_ir, onnx_ir
ir = load_onnx_ir()
import sys
print("sympy" in sys.modules)
print(ir.SymbolicDim("N") + 1, ir.SymbolicDim("max(N, 3)").evaluate({{"N": 7}}))
import sympy, onnx_ir as other, onnx_ir._symbolic_shapes as shapes
print(ir.SymbolicDim(sympy.Symbol("M")), other is ir, sympy.Symbol("M"), shapes.sympy is sympy)
assert type(sympy) is type(shapes) is type(sys) and onnx_ir.Value is ir.Value"""
    loaded = str(bool(first))
    assert run(code) == [loaded, "N", "+", "1", "7", "M", "True", "M", "True"]


def test_what_is_not_there_is_an_error_that_names_it() -> None:
    code = """
from egraph_opt.imports import onnx_ir
try:
    onnx_ir.nothing_of_this_name
except AttributeError as error:
    print(error)"""
    assert "nothing_of_this_name" in " ".join(run(code))
