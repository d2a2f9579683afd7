"""What the fuzzer found and what was mended since, each as small as it got; the first line says what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from .examining import examine
from .keeping import ENDING, read_case

CORPUS = sorted((Path(__file__).parent / "corpus").glob(f"*{ENDING}"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_the_fuzzer_found_is_mended(path: Path) -> None:
    examined = examine(read_case(path))
    assert examined.cases["optimized"] + examined.cases["unchanged"] == 1
    assert examined.findings == []
