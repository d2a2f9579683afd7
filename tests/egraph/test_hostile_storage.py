"""What somebody else may have written into a saturated model: it runs nothing, and waits for nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from egraph_opt.errors import EgraphOptError, ModelReadError
from egraph_opt.pipeline import Saturated, saturate

from .test_storage import convolution, rewritten, with_header


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saturate(convolution(), rewrites=["transpose"]).save(tmp_path_factory.mktemp("good") / "model.npz")


@pytest.mark.parametrize("place", ["/dev/zero", "-", "/proc/self/fd/0", "pipe"])
def test_a_model_that_is_said_to_be_no_file_is_not_waited_for(good: Path, tmp_path: Path, place: str) -> None:
    if place == "pipe":
        os.mkfifo(place := str(tmp_path / "pipe"))
    path = rewritten(with_header(good, tmp_path / "a.npz", path=place), tmp_path / "b.npz", model=None)
    with pytest.raises(ModelReadError, match="is no file"):
        Saturated.load(path)


ATTACKS = (
    "(py-eval \"open({0!r}, 'w')\" (py-dict) (py-dict))",
    'x") (output "{0}" 1) (print-function node 1 :file "{0}") ("',
    "__import__('os').mkdir({0!r})",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_a_file_reaches_egglog_or_python(
    good: Path, tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text in turn; those that name nothing of ours are refused, and the others only shown."""
    attacked = tmp_path / "attacked"
    text = attack.format(str(attacked))

    def reached(*given: object) -> None:
        raise AssertionError(f"egglog got {given}")

    monkeypatch.setattr("egraph_opt.egraph.engine.Engine._asked", reached)
    with np.load(good) as arrays:
        header = json.loads(arrays["json"].tobytes())
    refused = 0
    for change in range(count := sum(1 for _ in texts(header))):
        fields = json.loads(json.dumps(header))
        holder, key = list(texts(fields))[change]
        holder[key] = text
        try:
            loaded = Saturated.load(with_header(good, tmp_path / "other.npz", **fields))
            loaded.extract("nodes")
        except (ModelReadError, EgraphOptError):
            refused += 1
    assert 0 < refused < count
    assert not attacked.exists()


def texts(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where there are texts: the list or object, and the place in it."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, str):
            yield value, key
        elif isinstance(item, (dict, list)):
            yield from texts(item)
