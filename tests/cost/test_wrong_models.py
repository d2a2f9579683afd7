"""Cost models that raise, or answer what is no price, are told with file and line, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.errors import CostModelError, EgraphOptError, PriceError

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] z) { a = Abs (x) z = Neg (a) }'

HEAD = """from egraph_opt import CostModel, NodeView


class Mine(CostModel):
    '''Mine.'''
    name = 'mine'
    unit = 'things'
"""


def tried(tmp_path: Path, body: str, above: str = "") -> None:
    path = tmp_path / "costs.py"
    path.write_text(
        f"{HEAD}    {above}\n    def cost(self, node: NodeView):\n        {body}\n", encoding="utf-8"
    )
    optimize(parser.parse_model(MODEL), f"{path}:Mine")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise KeyError('gone')", r":10: cost model 'mine' cannot price Abs: KeyError: 'gone'"),
        ("return node.nothing", ":10: .* cannot price Abs: AttributeError"),
        ("return self.cost(node)", ":10: .* cannot price Abs: RecursionError"),
        ("import sys; sys.exit(3)", ":10: .* cannot price Abs: SystemExit: 3"),
        ("return 'cheap'", r":9: .* prices Abs at 'cheap'; a price must be 0 or more"),
        ("return '1.0'", r":9: .* prices Abs at '1\.0'"),
        ("pass", ":9: .* prices Abs at None"),
        ("return -1.0", r":9: .* prices Abs at -1\.0"),
        ("return float('nan')", ":9: .* prices Abs at nan"),
        ("return 1j", ":9: .* prices Abs at 1j"),
    ],
)
def test_what_is_no_price_is_told_with_file_and_line(tmp_path: Path, body: str, told: str) -> None:
    with pytest.raises(PriceError, match=rf"costs\.py{told}"):
        tried(tmp_path, body)


def test_numbers_of_numpy_are_prices(tmp_path: Path) -> None:
    tried(tmp_path, "import numpy; return numpy.float32(1)")


@pytest.mark.parametrize(
    ("above", "told"),
    [
        ("rulesets = 'matmul'", "`rulesets` is no tuple of names"),
        ("limits = ['pool_kernel']", "`limits` is no dictionary"),
        ("limits = {'pool_kernel': 'x'}", "`limits` is no dictionary"),
        ("pseudo_operators = 3", "`pseudo_operators` is no set"),
    ],
)
def test_attributes_of_another_type_are_told(tmp_path: Path, above: str, told: str) -> None:
    with pytest.raises(CostModelError, match=rf"costs\.py:4: .*{told}"):
        tried(tmp_path, "return 1.0", above)


def test_an_error_of_a_price_is_one_of_a_cost_model() -> None:
    assert issubclass(PriceError, CostModelError) and issubclass(CostModelError, EgraphOptError)
