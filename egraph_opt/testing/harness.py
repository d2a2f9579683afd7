"""Generated tests of laws: saturate an example with its law alone, compare both sides in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import onnx

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.laws.exactness import Numerics
from egraph_opt.laws.law import Example, Law, statements
from egraph_opt.laws.selection import ASSUME, select
from egraph_opt.testing.alternatives import alternatives_of, prices_of, rebuilt_original, rewritten_model
from egraph_opt.testing.comparison import Original, Tally
from egraph_opt.testing.cycles import written_on_the_original
from egraph_opt.testing.feeds import Kind
from egraph_opt.testing.terms import lower_example, output_value, show_all, shown


@dataclass(frozen=True)
class Checked:
    """What came of an example.

    Attributes:
        tally: the checks that were made and left out.
        rules: how often each rule of the law matched: "2" is its statement 2, "2<" that from the right.
        alternatives: the graphs that were compared.
    """

    tally: Tally
    rules: Mapping[str, int]
    alternatives: int = 0


def _laws_of(entry: Law) -> tuple[Law, ...]:
    required = [law for law in select(_rulesets(entry.required)) if law.key in entry.required]
    return tuple(sorted({entry, *required}, key=lambda law: law.key))


def _matches_of(entry: Law, report: SaturationReport) -> dict[str, int]:
    prefix = f"{entry.key}#"
    return {
        name.removeprefix(prefix): count
        for name, count in report.rule_matches.items()
        if name.startswith(prefix) and count
    }


def check_example(entry: Law, example: Example, opset: int = 17) -> Checked:
    """Assert what an example says of a law: that it fires or not, and that all it writes answers alike.

    What is compared is the example as it was written, rebuilt before any law has fired, with each of the
    alternatives, at the root and at every value below it.

    Raises:
        AssertionError: the law did not fire, or fired on a near-miss, or a side computes something else.
    """
    lowered = lower_example(example, opset)
    snapshot, report = _saturated(entry, example, lowered)
    matches = _matches_of(entry, report)
    assert not report.dropped, f"{'; '.join(report.dropped)}, on {example.term}"
    if not example.fires:
        assert not matches, f"{entry.key} fired where it must not ({example.why}): {example.term}"
        return Checked(Tally(), matches)
    assert matches, f"{entry.key} did not fire: {example.term}"
    original = _original(entry, lowered, opset, reference=True)
    tally, alternatives = _check_alternatives(entry, lowered, snapshot, original, opset)
    assert alternatives, (
        f"{entry.key} fired and added nothing that can be written to a class of {example.term}"
    )
    return Checked(tally, matches, alternatives)


def check_variant(entry: Law, example: Example, opset: int = 17) -> Checked | None:
    """Like `check_example` for one of the `variants` of an example: None where it is ill-typed.

    Raises:
        AssertionError: the law fired, and the sides differ.
    """
    try:
        lowered = lower_example(example, opset)
        original = _original(entry, lowered, opset, reference=False)
    except Exception:  # operands that do not suit an operator make inference fail in many ways
        return None
    if not original.trials:
        return None
    snapshot, report = _saturated(entry, example, lowered)
    matches = _matches_of(entry, report)
    if not matches:
        return Checked(Tally(), matches)
    return Checked(_check_alternatives(entry, lowered, snapshot, original, opset)[0], matches)


def check_drawn(
    entry: Law, rule: str, example: Example, *, guards: bool = False, strict: bool = True
) -> Checked | None:
    """Like `check_example` for an example drawn from a statement: it has to match at once, the law alone.

    None where onnxruntime does not run the example at all.

    Args:
        guards: keep the guards; otherwise the example meets what soundness asks for only.
        strict: it has to match; otherwise nothing is checked where it does not, as where another rule gave
            the entry of a table that the statement asks another value.

    Raises:
        AssertionError: that rule of the law did not match, or a side computes something else.
    """
    opset = 17
    lowered = lower_example(example, opset)
    try:
        original = _original(entry, lowered, opset, reference=True)
    except AssertionError:  # it cannot be written, such as a Reshape to (N, 0, 3)
        return None
    if not any(trial.usual for trial in original.trials) or not _is_as_inferred(lowered, original):
        return None
    snapshot, report = saturate_terms(
        lowered, (entry,), dict(example.limits), nodes=5000, rounds=1, seconds=60, strict=True, guards=guards
    )
    found = _matches_of(entry, report)
    if rule not in found and not strict:
        return Checked(Tally(), found)
    assert rule in found, f"{entry.key}#{rule} did not fire: {example.term}"
    return Checked(_check_alternatives(entry, lowered, snapshot, original, opset)[0], found)


def _is_as_inferred(lowered: Lowered, original: Original) -> bool:
    """Whether onnxruntime computes the shapes that ONNX says: not where the x of a PRelu is broadcast."""
    for trial in (trial for trial in original.trials if trial.usual):
        for index, found in zip(lowered.outputs, trial.expected, strict=True):
            known = lowered.facts[index]
            dims = () if known is None or known.shape is None else known.shape
            if any(isinstance(a, int) and a != b for a, b in zip(dims, found.shape, strict=False)):
                return False
    return True


def _saturated(entry: Law, example: Example, lowered: Lowered) -> tuple[Snapshot, SaturationReport]:
    laws = _laws_of(entry)
    return saturate_terms(lowered, laws, dict(example.limits), nodes=5000, rounds=6, seconds=60, strict=True)


def _original(entry: Law, lowered: Lowered, opset: int, *, reference: bool) -> Original:
    """The example as it was written, with every inner value as an output."""
    show_all(lowered)
    model = rebuilt_original(lowered, opset)
    return Original(model, _kinds(entry), reference=reference and entry.exact)


def _kinds(entry: Law) -> tuple[Kind, ...]:
    """What a law is fed with, by its class."""
    if entry.ruleset == ASSUME:  # what is taken for granted does not hold of the largest integers
        return "normal", "moderate"
    odd: dict[Numerics, tuple[Kind, ...]] = {
        "bitwise": ("special",),
        "finite": ("every size",),
        "reassociates": ("moderate", "large"),
        "approximate": (),
    }
    return "normal", *odd[entry.numerics]


def _check_alternatives(
    entry: Law, lowered: Lowered, snapshot: Snapshot, original: Original, opset: int
) -> tuple[Tally, int]:
    """Compare every graph that can be written with the example: what was checked, and how many graphs."""
    with _named(entry, lowered):
        return _compared(entry, lowered, snapshot, original, opset)


@contextmanager
def _named(entry: Law, lowered: Lowered) -> Iterator[None]:
    """A failed comparison names the law, its line and the example."""
    try:
        yield
    except AssertionError as error:
        lines = {statement.line for statement in statements(entry)}
        line = min(lines) if len(lines) == 1 else entry.function.__code__.co_firstlineno
        raise AssertionError(f"{entry.key}, line {line}, on {shown(lowered)}: {error}") from error


def _compared(
    entry: Law, lowered: Lowered, snapshot: Snapshot, original: Original, opset: int
) -> tuple[Tally, int]:
    alternatives, cyclic = alternatives_of(lowered, snapshot, prices_of(lowered, snapshot))
    tally = Tally()
    for node in cyclic:
        tally.add(_check_cyclic(entry, lowered, snapshot, original, node=node, opset=opset))
    for alternative in alternatives:
        tally.add(original.compare(rewritten_model(alternative, opset), entry.claim))
    tally.add(original.tally)
    return tally, len(alternatives)


def _check_cyclic(
    entry: Law, lowered: Lowered, snapshot: Snapshot, original: Original, *, node: int, opset: int
) -> Tally:
    """Compare an e-node that depends on itself, written on the example's own operands, with its class."""
    written = written_on_the_original(lowered, snapshot, node)
    if written is None:
        return Tally(left_out=Counter({"an e-node depends on itself": 1}))
    copy, index = written
    fact = copy.facts[index]
    assert fact is not None
    owner = snapshot.node_class[node]
    number = snapshot.term_classes[lowered.outputs].tolist().index(owner)
    shown = list(lowered.graph.outputs)
    copy.outputs = [index]
    lowered.graph.outputs[:] = [output_value("y", fact)]
    try:
        model = rebuilt_original(copy, opset)
    finally:
        lowered.graph.outputs[:] = shown
    return original.compare(model, entry.claim, only=number)


def _rulesets(keys: Iterable[str]) -> list[str]:
    return [key.rsplit(".", 1)[0] for key in keys]


def compare(original: onnx.ModelProto, rewritten: onnx.ModelProto, bitwise: bool) -> Tally:
    """Assert that two models compute the same: in onnxruntime, and for floats in float64 by ONNX's reference.

    Raises:
        AssertionError: they differ.
    """
    trials = Original(original)
    tally = trials.compare(rewritten, "bitwise" if bitwise else "reassociates")
    tally.add(trials.tally)
    return tally
