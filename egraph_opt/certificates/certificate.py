"""What a certificate holds, and its file: JSON, compressed where its name ends in `.gz`."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from egraph_opt.certificates.errors import CertificateError
from egraph_opt.facts.assumption import Assumption
from egraph_opt.foreign_text import parsed_json
from egraph_opt.model.files import replacing

FORMAT = 2
"""Of the file; one of another format is refused."""

MODEL, RESULT, APPLIED = "model", "result", "applied"
"""Terms: of a tensor of the model, of one of the result, and a function of other terms and attributes."""

BUNDLE = " node"
"""Behind `MODEL` or `RESULT`: all outputs of the node that makes a tensor."""

MOST_BYTES = 2**30
"""A file of more, or one that would inflate to more, is none of ours."""


def version_of_project() -> str:
    """The version that certificates are made by."""
    return version("egraph-opt")


@dataclass(frozen=True)
class ProofStep:
    """One step of a proof.

    Attributes:
        kind: "law", an instance of a statement; "fold", a constant is computed; "expand", what a
            pseudo-operator stands for; "trusted", two terms are said to be equal, and nothing shows it.
        name: the statement, the constant of the result, the reason.
        terms: by variable the number of a term, or in order.
        values: by variable an attribute, as JSON.
    """

    kind: str
    name: str
    terms: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """Why a result is equal to its model.

    Attributes:
        version: of this project.
        model, result: digests of both, by part, see `digests_of_graph`.
        reading: how the model was read: what was assumed, which sizes its inputs got, what was folded.
        limits: what the target publishes, by name.
        laws: the digests of the texts of laws, and of what fills their tables, by name.
        terms: what steps speak of: `[kind, name]`, or `["applied", function, arguments]` with the numbers of
            other terms.
        steps: in order.
        bound: what the result costs and why nothing is cheaper, for `StatedBound`; None: nothing is said.
    """

    version: str
    model: Mapping[str, str]
    result: Mapping[str, str]
    reading: Mapping[str, Any]
    limits: Mapping[str, int]
    laws: Mapping[str, str]
    terms: tuple[Any, ...]
    steps: tuple[ProofStep, ...]
    bound: Mapping[str, Any] | None = None

    @property
    def trusted(self) -> tuple[str, ...]:
        """The reasons of steps that nothing shows."""
        return tuple(step.name for step in self.steps if step.kind == "trusted")

    def to_json(self) -> str:
        """The certificate as text, with a digest that tells whether the text is whole."""
        steps = [[step.kind, step.name, dict(step.terms), dict(step.values)] for step in self.steps]
        content = {"format": FORMAT, **asdict(self), "steps": steps}
        return json.dumps({**content, "digest": digest_of_content(content)})

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it, whole or not at all."""
        place, content = Path(path), self.to_json().encode()
        with replacing(place) as file:
            file.write(gzip.compress(content, mtime=0) if place.suffix == ".gz" else content)
        return place

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what `to_json` wrote.

        Raises:
            CertificateError: it is no certificate, or one of another format.
        """
        try:
            found = parsed_json(text)
            if found.get("format") != FORMAT:
                raise ValueError("it is of another format")
            if found.pop("digest") != digest_of_content(found):
                raise ValueError("it has been changed: its digest is another one")
            del found["format"]
            steps = tuple(map(_step, found.pop("steps")))
            return cls(terms=tuple(found.pop("terms")), steps=steps, **found)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise CertificateError(f"not a certificate: {' '.join(str(error).split())[:200]}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a file.

        Raises:
            CertificateError: it cannot be read, or is no certificate.
        """
        try:
            with Path(path).open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            if content[:2] == b"\x1f\x8b":
                with gzip.open(path) as packed:
                    content = packed.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                raise CertificateError(f"{path}: not a certificate: it is too large")
            return cls.from_json(content.decode())
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise CertificateError(f"{path}: not a certificate: {error}") from error


def digest_of_content(content: Mapping[str, Any]) -> str:
    """The digest of what a certificate holds, as JSON; it guards against accidents, not against forgers."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _step(written: Any) -> ProofStep:
    kind, name, terms, values = written
    if not (isinstance(kind, str) and isinstance(name, str) and isinstance(values, dict)):
        raise ValueError("a step that is none")
    if any(type(number) is not int for number in terms.values()):
        raise ValueError("a term that is none")
    return ProofStep(kind, name, terms, values)


def reading_as_json(
    assume: Mapping[str, Assumption], shapes: Any, fold_bytes: int, quantized: bool
) -> dict[str, Any]:
    """How a model was read, as JSON has it."""
    said = {name: list(assumption) for name, assumption in sorted(assume.items())}
    return {"assume": said, "input_shapes": shapes, "fold_bytes": fold_bytes, "fold_quantized": quantized}
