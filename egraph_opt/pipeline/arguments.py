"""What a user hands over, as the stages take it; what is of no type that it can have is an error at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import onnx_ir as ir
from onnx import ModelProto

from egraph_opt.errors import ArgumentError, LimitsError, hint_of
from egraph_opt.measurement.runner import Runner
from egraph_opt.pipeline.limits import Limits


def limits_of(limits: Limits | Mapping[str, Any]) -> Limits:
    """Limits, which may be given by name.

    >>> limits_of({"nodes": 100}).nodes
    100

    Raises:
        LimitsError: there is no such limit, or it cannot have this value.
    """
    if isinstance(limits, Limits):
        return limits
    if not isinstance(limits, Mapping):
        raise LimitsError(f"limits={limits!r}: give Limits(nodes=100), or {{'nodes': 100}}")
    known = [field.name for field in fields(Limits)]
    for name in limits:
        if name not in known:
            hint = hint_of(str(name), known)
            raise LimitsError(f"there is no limit {name!r}{hint} (limits: {', '.join(known)})")
    return Limits(**limits)


def names_of(rewrites: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Names of rulesets and laws, which may be one text.

    >>> names_of("default, -concat"), names_of(["transpose"]), names_of(None)
    (('default', '-concat'), ('transpose',), None)

    Raises:
        ArgumentError: something else.
    """
    if rewrites is None:
        return None
    if isinstance(rewrites, str):
        return tuple(name.strip() for name in rewrites.split(",") if name.strip())
    names = tuple(rewrites) if isinstance(rewrites, Iterable) else (rewrites,)
    if not all(isinstance(name, str) for name in names):
        raise ArgumentError(
            f"rewrites={rewrites!r}: give names of rulesets and laws, as a list or with commas"
        )
    return names


def check_arguments(
    model: object = "",
    *,
    assume: object = None,
    input_shapes: object = None,
    seed: object = 0,
    measure: object = None,
    opset: object = None,
    **switches: object,
) -> None:
    """Raise ArgumentError for what is of a type that says nothing.

    Args:
        switches: what is True or False.
    """
    if not isinstance(model, str | os.PathLike | ModelProto | ir.Model):
        raise ArgumentError(f"a model is a path, a ModelProto or an onnx_ir.Model, not {_shown(model)}")
    for name, value, example in (
        ("assume", assume, '{"batch": 8}'),
        ("input_shapes", input_shapes, '{"images": (1, 3, 320, 320)}'),
    ):
        if value is not None and not isinstance(value, Mapping):
            raise ArgumentError(f"{name}: by name, such as {example}, not {_shown(value)}")
    for name, switch in switches.items():
        if not isinstance(switch, bool):
            raise ArgumentError(f"{name}: True or False, not {_shown(switch)}")
    if opset is not None and (isinstance(opset, bool) or not isinstance(opset, int)):
        raise ArgumentError(f"opset: a whole number, such as 17, not {_shown(opset)}")
    if not isinstance(seed, int):
        raise ArgumentError(f"seed: a whole number, not {_shown(seed)}")
    if measure is not None and not isinstance(measure, int | Runner):
        raise ArgumentError(
            f"measure: True, False, how many graphs are timed, or a Runner, not {_shown(measure)}"
        )


def _shown(value: object) -> str:
    return f"{str(value)[:60]!r} ({type(value).__name__})"


__all__ = ["check_arguments", "limits_of", "names_of"]
