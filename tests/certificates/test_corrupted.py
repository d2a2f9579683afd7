"""Certificates that are damaged at random are refused, whether by accident or by a forger."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from egraph_opt.certificates.certificate import Certificate, digest_of_content
from egraph_opt.certificates.errors import CertificateError
from tests.certificates.made_certificates import MODELS, made

TIMES = 60
"""Damages of each model."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all plain values of some JSON."""
    if isinstance(value, dict):
        return [place for key, item in value.items() for place in places(item, (*path, key))]
    if isinstance(value, list):
        return [place for k, item in enumerate(value) for place in places(item, (*path, k))]
    return [path]


def other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + rng.choice((-1, 1, 2))
    return f"{value}x" if isinstance(value, str) else 1


def other_value(found: Any, path: tuple[Any, ...], rng: random.Random) -> Any:
    """Another value for a place."""
    for key in path:
        found = found[key]
    return other(found, rng)


def changed(found: Any, path: tuple[Any, ...], value: Any) -> None:
    """Change one place."""
    for key in path[:-1]:
        found = found[key]
    found[path[-1]] = value


def _damaged(text: str, rng: random.Random) -> tuple[str, str]:
    """A certificate with one thing changed, and what that is."""
    found = json.loads(text)
    steps = found["steps"]
    how = rng.choice(("value", "value", "value", "dropped", "swapped", "law"))
    if how == "dropped":
        del steps[rng.randrange(len(steps))]
    elif how == "swapped" and len(steps) > 1:
        k = rng.randrange(len(steps) - 1)
        steps[k], steps[k + 1] = steps[k + 1], steps[k]
    elif how == "law":
        step = rng.choice(steps)
        step[1] = rng.choice([other[1] for other in steps if other[1] != step[1]] or ["none.such#0"])
    else:
        parts = ("steps", "terms", "laws", "model", "result", "format")
        place = rng.choice([p for p in places(found) if p[0] in parts])
        value: Any = found
        for key in place:
            value = value[key]
        changed(found, place, other(value, rng))
        how = f"{place}: {value!r}"
    return json.dumps(found), how


HARMLESS = ("swapped", "dropped")
"""Steps in another order, or without one that is not needed, may be as good a proof."""


@pytest.mark.parametrize("name", MODELS)
def test_damaged_files_are_refused(name: str) -> None:
    """The digest of the file tells all of them."""
    one, rng = made(name), random.Random(name)
    for _ in range(TIMES):
        damaged, how = _damaged(one.certificate.to_json(), rng)
        with pytest.raises(CertificateError, match="not a certificate"):
            pytest.fail(f"{how}: {Certificate.from_json(damaged)}")


@pytest.mark.parametrize("name", MODELS)
def test_forged_certificates_are_refused(name: str) -> None:
    """Those with a digest that is right; what is shown by other steps is as true."""
    one, rng = made(name), random.Random(name)
    refused = 0
    for _ in range(TIMES):
        damaged, how = _damaged(one.certificate.to_json(), rng)
        content = json.loads(damaged)
        del content["digest"]
        forged = json.dumps({**content, "digest": digest_of_content(content)})
        try:
            found = one.checked(Certificate.from_json(forged))
        except CertificateError:
            refused += 1
        else:
            of_equal_terms = how.startswith("('terms', ") and found.laws == one.checked().laws
            assert how in HARMLESS or of_equal_terms
            assert not found.trusted
    assert refused >= TIMES // 2
