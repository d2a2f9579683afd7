"""The verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["passed", "approximate", "failed", "skipped", "not_comparable"]


@dataclass(frozen=True)
class Verification:
    """Whether an optimized model is the original.

    Attributes:
        status: "passed"; "approximate" (values differ, and whoever asked for laws that change them was told:
            everything else is right); "failed"; "skipped" (nobody asked); "not_comparable" (the original is
            random, or does not run in ONNX Runtime; everything that could be checked was right).
        max_abs_error: largest error of a float element over all runs.
        max_rel_error: largest error over the largest magnitude of its output.
        seeds: the seeds of the runs that were compared.
        detail: what was compared, or what differs and where: output, seed, sizes, error.
    """

    status: Status
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    seeds: list[int] = field(default_factory=list)
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The fields, JSON-able."""
        return asdict(self)


SKIPPED = Verification("skipped", detail="verification was switched off")

AS_IT_CAME = Verification("skipped", detail="nothing to compare: the model is as it came")
