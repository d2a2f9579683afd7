"""Options that decide what comes out of a model, the same for what optimizes and what explains it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from egraph_opt import errors
from egraph_opt.facts.assumption import Assumption, parsed

if TYPE_CHECKING:
    from egraph_opt.model.input_shapes import Sizes
    from egraph_opt.pipeline.limits import Limits

ExactnessOption = Annotated[
    str,
    typer.Option(
        metavar="bitwise|finite|real",
        help="Keep every bit, every element up to rounding where all is finite, or what is equal in real"
        " arithmetic.",
    ),
]
LawsOption = Annotated[
    str, typer.Option(metavar="all|proved", help="All laws, or none but those proved for all sizes.")
]
ObjectiveOption = Annotated[
    str, typer.Option(metavar="cost|memory", help="What to keep small: cost, or peak memory near it.")
]
MemoryLimitOption = Annotated[
    str | None,
    typer.Option(metavar="BYTES", help="The cheapest that needs at most so much at its peak: 512MiB."),
]
ExtractorOption = Annotated[
    str, typer.Option(metavar="NAME", help="How to choose: auto, draft, exact, ilp, greedy-dag, tree.")
]
LimitNodesOption = Annotated[int | None, typer.Option(metavar="N", help="Stop growing at N e-nodes.")]
LimitSecondsOption = Annotated[
    float | None, typer.Option(metavar="S", help="End all within S seconds (60): the best so far.")
]
LimitMemoryOption = Annotated[
    str | None,
    typer.Option(metavar="BYTES", help="Allocate at most this: 4GiB (three quarters of what is free)."),
]
FoldQuantizedOption = Annotated[
    bool, typer.Option("--fold-quantized", help="Make quantized weights wider where that saves nodes.")
]
AssumeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LO..HI",
        help="Bounds of an input or a symbolic dim, or NAME=32* for a multiple, within which the result"
        " is right; may be repeated.",
    ),
]
InputShapeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME:1,3,320,320",
        help="The shape that an input gets in the result, with ? for a dim that stays as it is, or sizes by"
        " name: NAME:batch=1,height=320; may be repeated.",
    ),
]
SizesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME:1x320,4x640",
        help="Several sizes of the symbolic dims of an input that the choice is for, in their order;"
        " 4x640@3 counts three times; may be repeated for other inputs.",
    ),
]
OpsetOption = Annotated[int | None, typer.Option(metavar="N", help="Convert the model to this opset first.")]
SeedOption = Annotated[
    int, typer.Option(metavar="N", help="Seed of the search, and of the inputs for verification.")
]


def parse_assumption(text: str) -> tuple[str, Assumption]:
    """`NAME=VALUE`, `NAME=LO..HI` or `NAME=K*` for a multiple, as name and what is said of it."""
    name, _, value = text.rpartition("=")
    said = parsed(value)
    if not name or said is None or not said.low <= said.high:
        raise typer.BadParameter(
            f"{text!r} is not NAME=VALUE, NAME=LO..HI with two numbers in order, or NAME=32*, NAME=32*..640*"
            " for multiples of 32",
            param_hint="--assume",
        )
    return name, said


def assumptions_of(texts: list[str] | None) -> dict[str, Assumption] | None:
    """What is assumed, by name; None where nothing is."""
    return dict(parse_assumption(text) for text in texts or []) or None


def limits_of(nodes: int | None, seconds: float | None, memory: str | None, fold_quantized: bool) -> Limits:
    """The limits of the options, else the usual ones."""
    from egraph_opt.memory.objective import parse_bytes
    from egraph_opt.pipeline.limits import Limits

    limits = Limits(fold_quantized=fold_quantized)
    if nodes is not None:
        limits = replace(limits, nodes=nodes)
    if seconds is not None:
        limits = replace(limits, seconds=seconds)
    if memory is not None:
        limits = replace(limits, memory_bytes=parse_bytes(memory))
    return limits


def input_shapes_of(texts: list[str] | None) -> dict[str, Sizes]:
    """The shapes that inputs get, by name; raises InputShapeError."""
    from egraph_opt.model.input_shapes import parse_input_shape

    found: dict[str, Sizes] = {}
    for name, sizes in map(parse_input_shape, texts or []):
        if name in found:
            raise errors.InputShapeError(f"--input-shape: {name or 'the input'!r} has two shapes")
        found[name] = sizes
    return found


def sizes_of(texts: list[str] | None) -> dict[str, str] | None:
    """Several sizes, by the name of an input; None where nothing is said; raises InputShapeError."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, _, said = text.rpartition(":")
        if name in found:
            raise errors.InputShapeError(f"--sizes: {name or 'the input'!r} has sizes twice")
        found[name] = said
    return found or None


def objective_of(name: str, limit: str | None) -> str | tuple[str, float]:
    """The objective of two options, of which only one may be given."""
    from egraph_opt.memory.objective import parse_bytes

    if limit is None:
        return name
    if name != "cost":
        raise errors.ObjectiveError(f"--memory-limit is for --objective cost, not for {name!r}")
    return "cost", parse_bytes(limit)
