"""Which cost model to name: the table of `optimize --help` and of the README."""

from __future__ import annotations

from collections.abc import Iterator

from egraph_opt.cost import DEFAULT_COST

HEAD = ("I deploy to", "I type", "it takes", "it gains")

ROWS = (
    ("anything", f"--cost {DEFAULT_COST} (default)", "1 to 10 s", "fewest nodes"),
    ("ONNX Runtime, here", "--cost auto", "5 to 20 s", "fewer, never slower"),
    ("ONNX Runtime, here", "--cost onnxruntime", "20 to 140 s", "fastest by the clock"),
    ("OpenVINO, here", "--cost openvino", "20 to 140 s", "fastest by the clock"),
    ("an Ascend chip", "--cost ascend:310p3", "1 to 20 s", "fewest microseconds"),
    ("something else", "--cost my_costs.py:Mine", "1 to 10 s", "lowest price"),
)
"""In words that fit into 80 columns."""


def as_text() -> str:
    """The table in 78 columns."""
    widths = [max(map(len, column)) + 2 for column in zip(HEAD, *ROWS, strict=True)]
    return "\n".join(_line(row, widths) for row in (HEAD, *ROWS))


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def as_markdown() -> Iterator[str]:
    """The table line by line, as the README has it."""
    for row in (HEAD, ("---",) * len(HEAD), *ROWS):
        cells = (f"`{cell}`" if cell.startswith("--cost") else cell for cell in row)
        yield f"| {' | '.join(cells)} |".replace(" (default)`", "` (default)")
