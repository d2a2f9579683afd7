"""From a model to its e-graph: read, applied what is required, lowered, saturated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import onnx_ir as ir

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.graph.constants import constant_bytes
from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.laws.exactness import REAL, Exactness, exactness_named
from egraph_opt.laws.law import Law
from egraph_opt.laws.proved import Which, among
from egraph_opt.laws.selection import LEGALIZE, required, select, waiting
from egraph_opt.model.input_shapes import Sizes
from egraph_opt.model.provenance import grown_by
from egraph_opt.model.reading import LoadedModel, ModelSource, read_model
from egraph_opt.pipeline.arguments import check_arguments, limits_of, names_of
from egraph_opt.pipeline.assumptions import assumptions_for
from egraph_opt.pipeline.collection import collected_rarely
from egraph_opt.pipeline.failures import reason_of
from egraph_opt.pipeline.limits import NO_TIME, SATURATED_MEMORY, TOO_SHORT, Clock, Limits, Progress, reading
from egraph_opt.pipeline.opset import read_at_opset
from egraph_opt.pipeline.region import Region, region_of
from egraph_opt.pipeline.required import Replaced, replaced
from egraph_opt.pipeline.restarts import added
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.target import SaturatedFor


@dataclass(frozen=True)
class Asked:
    """What `saturate` is asked for, by the names of its arguments.

    Attributes:
        untouched: names of tensors: the nodes that make them stay as they came.
        recorded: keep what laws matched, for certificates.
    """

    rewrites: str | Iterable[str] | None = None
    exactness: Exactness = REAL
    laws: Which = "all"
    limits: Limits | Mapping[str, Any] = Limits()
    target: str | CostModel | None = None
    assume: Mapping[str, Any] | None = None
    input_shapes: Mapping[str, Sizes] | None = None
    opset: int | None = None
    strict: bool = False
    progress: Progress | None = None
    untouched: frozenset[str] = frozenset()
    recorded: bool = False


def read_as(model: ModelSource, asked: Asked) -> LoadedModel:
    """A model with the sizes and the opset that are asked for."""
    if asked.opset is None:
        return read_model(model, asked.input_shapes)
    return read_at_opset(model, asked.opset, asked.input_shapes)


@collected_rarely()
def saturated_as(model: ModelSource, asked: Asked) -> Saturated:
    """The e-graph of a model, as it is asked for; raises as `saturate` does."""
    started = time.monotonic()
    check_arguments(
        model,
        assume=asked.assume,
        input_shapes=asked.input_shapes,
        opset=asked.opset,
        strict=asked.strict,
        record=asked.recorded,
    )
    limits = limits_of(asked.limits)
    rules, clock, spent = _rules(asked), Clock(asked.progress), dict[str, float]()
    clock("load")
    loaded = read_as(model, asked)
    limits = limits.after(grown_by(loaded.metadata))
    ranges = assumptions_for(loaded, asked.assume)
    warnings = [*loaded.warnings, *rules.remarks]
    counts, size = nodes_of(loaded.model), constant_bytes(loaded.model.graph)
    reason, failure = loaded.unsupported or ("" if limits.seconds else NO_TIME), False

    def saturated(
        model: ir.Model, laws: tuple[Law, ...], clock: Clock = clock, started: float = started
    ) -> Region:
        room = limits.after(max(constant_bytes(model.graph) - size, 0))  # grown in iterations before
        run = _Saturation(
            replace(rules, laws=laws), room, started, clock, asked.strict, asked.recorded, before=spent
        )
        given = replace(loaded, model=model)
        return region_of(
            *(given, room, ranges, run),
            exactness=exactness_named(asked.exactness),
            warnings=warnings,
            clock=clock,
            untouched=asked.untouched,
        )

    region, changed = None, Replaced(loaded.model)
    if not reason:
        try:
            came, changed = _with_required(loaded.model, rules.required, saturated, limits.fold_bytes)
            region = saturated(changed.model, rules.laws)
            if came is not None:
                region = replace(region, original=came.original, memory=came.memory)
        except _TooShortError as error:
            reason = str(error)
        except Exception as error:
            reason = reason_of(error, loaded.source, strict=asked.strict)
            failure = not isinstance(error, MemoryError)
    clock("")
    spent.update(clock.seconds)

    def again(model: ir.Model, clock: Clock) -> Region | None:
        later = limits.started_again(started, reading(spent))
        return None if later is None else saturated(model.clone(), rules.laws, clock, later)

    return Saturated(
        loaded=replace(loaded, model=changed.model),
        region=region,
        counts=counts,
        constant_bytes=size,
        limits=limits,
        saturated_for=rules.saturated_for,
        seconds=clock.seconds,
        warnings=tuple(warnings),
        reason=reason,
        assume=ranges,
        legalize=rules.legalize,
        again=again,
        strict=asked.strict,
        required=changed.uses,
        failure=failure,
    )


@dataclass(frozen=True)
class Rules:
    """What is applied to a model.

    Attributes:
        required: those of them that are applied wherever they match.
        saturated_for: their keys, and what the target publishes.
        legalize: the result is to be made what the target's compiler takes, outside the standard.
        remarks: what the user has to know of laws that were not taken.
    """

    laws: tuple[Law, ...]
    required: tuple[Law, ...]
    saturated_for: SaturatedFor
    legalize: bool
    remarks: tuple[str, ...] = ()


def _rules(asked: Asked) -> Rules:
    names = names_of(asked.rewrites)
    wanted = cost_model(asked.target) if asked.target is not None else None
    wanted_exactness = exactness_named(asked.exactness)
    selected = select(names, wanted.rulesets if wanted else (), wanted_exactness)
    laws = among(selected, asked.laws)
    without = {law.key for law in selected} - {law.key for law in laws}
    saturated_for = SaturatedFor(
        frozenset(law.key for law in laws),
        frozenset(name[1:] for name in names or () if name.startswith("-")) | without,
        dict(wanted.limits) if wanted else {},
        wanted_exactness,
    )
    remarks = tuple(
        f"{law.key} changes values, and takes part only where it is named" for law in waiting(names)
    )
    return Rules(laws, required(names, laws), saturated_for, LEGALIZE in (names or ()), remarks)


def _with_required(
    model: ir.Model,
    laws: tuple[Law, ...],
    saturated: Callable[[ir.Model, tuple[Law, ...]], Region],
    fold_bytes: int,
) -> tuple[Region | None, Replaced]:
    """The model as it came, where required laws match, and what they make of it, one after the other."""
    came, changed = None, Replaced(model)
    for _ in laws:
        region = saturated(changed.model.clone(), laws)
        following = replaced(changed.model, region, fold_bytes)
        if not following.uses:
            break
        came, changed = came or region, replace(following, uses=added(changed.uses, following.uses))
    return came, changed


class _TooShortError(Exception):
    """There is no time for any law."""


@dataclass(frozen=True)
class _Saturation:
    """Saturates one graph of a model after the other.

    Attributes:
        started: when the first stage was.
        before: seconds of an earlier clock, if this is not the first saturation.
    """

    rules: Rules
    limits: Limits
    started: float
    clock: Clock
    strict: bool
    recorded: bool
    before: Mapping[str, float]

    def __call__(self, lowered: Lowered) -> tuple[Snapshot, SaturationReport]:
        spent = self.before or self.clock.seconds
        now, read = time.monotonic(), reading(spent)
        left = self.limits.saturation_deadline(self.started, read) - now
        is_first = "saturate" not in spent
        if is_first and not self.limits.lets_begin(now - self.started, read):
            raise _TooShortError(TOO_SHORT.format(seconds=self.limits.seconds, read=read))
        late = left <= 0 and not is_first
        snapshot, report = saturate_terms(
            lowered,
            () if late else self.rules.laws,
            self.rules.saturated_for.limits,
            nodes=self.limits.nodes,
            rounds=self.limits.rounds,
            seconds=max(left, 0.0),
            memory=self.limits.memory().share(SATURATED_MEMORY),
            strict=self.strict,
            recorded=self.recorded,
        )
        return snapshot, replace(report, stop="seconds") if late else report
