"""Everything that egraph_opt raises on purpose.

Every message says what is wrong, where (file, node or value), and what to do about it, in one line.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class EgraphOptError(Exception):
    """The base of all errors of this library."""


class ModelReadError(EgraphOptError):
    """The model could not be read: not a file, not a protobuf, truncated."""


class InvalidModelError(EgraphOptError, ValueError):
    """The model was read, but is not valid ONNX: a cycle, duplicate names, types that do not check, ..."""


class ExternalDataError(EgraphOptError):
    """Weights outside the model's file are missing, too short, or outside the model's folder."""


class ArgumentError(EgraphOptError, TypeError):
    """An argument of a type that it cannot have."""


class LimitsError(EgraphOptError, ValueError):
    """A limit that is not positive, or not a number."""


class ExactnessError(EgraphOptError, ValueError):
    """An exactness that is none, or one that leaves out what was named."""


class AssumptionError(EgraphOptError, ValueError):
    """What is assumed is of nothing that the model has, or no number is so."""


class InputShapeError(EgraphOptError, ValueError):
    """A shape that no input of the model can have."""


class OpsetError(EgraphOptError, ValueError):
    """An opset that there is not, or to which the model cannot be converted."""


class ObjectiveError(EgraphOptError, ValueError):
    """An objective that is none, or a limit of bytes that is no positive number."""


class UnsoundLawError(EgraphOptError):
    """A law made two values equal whose types or constants contradict each other."""


class EngineError(EgraphOptError):
    """The engine of e-graphs failed within, or was used in another thread than its own."""


class ExtractionError(EgraphOptError):
    """A choice of nodes that is no graph: incomplete, cyclic, or of infinite cost."""


class VerificationError(EgraphOptError):
    """The optimized model does not compute what the original computes (raised in strict mode only)."""


class InternalError(EgraphOptError):
    """A mistake of this library on a model that may be right (raised in strict mode only)."""


class OutputError(EgraphOptError):
    """The result could not be written where it was asked for."""


class TargetMismatchError(EgraphOptError, ValueError):
    """An e-graph is priced under rulesets or limits of a target that it was not saturated with."""


class CostModelError(EgraphOptError):
    """A cost model cannot be made: its file cannot be read or run, or its class is none or fails."""


class PriceError(CostModelError, ExtractionError):
    """A cost model raises where it is asked for a price, or answers what is none."""


class ParameterError(CostModelError, ValueError):
    """A parameter of a cost model was given a value that it cannot have."""


class ProfileError(EgraphOptError, ValueError):
    """A profile that cannot be read, or has no row that a cost model could be fitted to."""


class CalibrationError(EgraphOptError):
    """A fit that teaches nothing: no parameter is determined by what was measured."""


class NothingFasterError(CalibrationError):
    """A search was done, and found nothing that is faster than what there was."""


class TimingError(EgraphOptError):
    """ONNX Runtime cannot run a model that is to be timed whole."""


class SpecError(EgraphOptError, ValueError):
    """A specification of a sweep has an entry that is missing, of another type, or out of range."""


class RunsError(EgraphOptError):
    """The runs of a sweep cannot be made or kept: too many, others in the file, workers that die."""


class _UnknownNameError(EgraphOptError, LookupError):
    """A name that nobody registered; the message suggests the nearest that somebody did.

    Attributes:
        name: what was asked for.
        known: what there is, sorted.
        where: the file and line, or the option, that asks for it; "" if there is none.
        nearest: the most similar known name, or None if none is similar.
    """

    kind = "name"
    listing = ""

    def __init__(self, name: str, known: Iterable[str], where: str = "") -> None:
        self.name = name
        self.known = tuple(sorted(known))
        self.where = where
        self.nearest = nearest(name, self.known)
        hint = f"did you mean {self.nearest!r}? " if self.nearest else ""
        there = ", ".join(self.known) or "none"
        at = f"{where}: " if where else ""
        super().__init__(f"{at}unknown {self.kind} {name!r}: {hint}known are {there}{self.listing}")

    def __reduce__(self) -> tuple[type[_UnknownNameError], tuple[object, ...]]:
        return type(self), (self.name, self.known, self.where)


class UnknownCostModelError(_UnknownNameError):
    """No cost model of that name is registered."""

    kind = "cost model"
    listing = " (see `egraph-opt costs`)"


class UnknownParameterError(_UnknownNameError, ParameterError):
    """A cost model has no parameter of that name, or a table among its parameters no such entry.

    Attributes:
        model: the name of the cost model.
    """

    kind = "parameter"

    def __init__(self, name: str, known: Iterable[str], where: str = "", model: str = "") -> None:
        super().__init__(name, known, where)
        self.model = model
        at, hint = f"{where}: " if where else "", f"did you mean {self.nearest!r}? " if self.nearest else ""
        listing = f"see `egraph-opt costs {model} --parameters`" if self.known else "it declares none"
        self.args = (f"{at}unknown parameter {name!r} of {model}: {hint}{listing}",)  # the list would be long

    def __reduce__(self) -> tuple[type[_UnknownNameError], tuple[object, ...]]:
        return type(self), (self.name, self.known, self.where, self.model)


class UnknownSettingError(_UnknownNameError):
    """ONNX Runtime has no optimisation level or no execution provider of that name here."""

    kind = "level or provider of ONNX Runtime"


class UnknownRulesetError(_UnknownNameError):
    """No ruleset of that name is registered."""

    kind = "ruleset"
    listing = " (see `egraph-opt rules`)"


class UnknownLawError(UnknownRulesetError):
    """No law of that name is registered; of a ruleset, says its laws."""

    kind = "law"

    def __init__(self, name: str, known: Iterable[str], where: str = "") -> None:
        super().__init__(name, known, where)
        if laws := [law for law in self.known if law.startswith(f"{name}.")]:
            self.args = (f"{name!r} is a ruleset: say one of its laws: {', '.join(laws)}",)
            return
        hint = f"did you mean {self.nearest!r}? " if self.nearest else ""
        self.args = (f"unknown law {name!r}: {hint}see `egraph-opt rules`",)  # the list would be long


class UnknownToolError(_UnknownNameError):
    """There is no optimiser of that name to compare with."""

    kind = "tool"


class UnknownOrderError(_UnknownNameError):
    """No optimizer of that name has an order of passes here."""

    kind = "order of passes"


class UnknownKeyError(_UnknownNameError, SpecError):
    """A specification has an entry that means nothing."""

    kind = "key"


class UnknownModelError(_UnknownNameError):
    """There is no model's file of that name."""

    kind = "model"


class UnknownExtractorError(_UnknownNameError, ExtractionError):
    """There is no extractor of that name."""

    kind = "extractor"


class UnknownTensorError(_UnknownNameError):
    """No tensor or node of that name is in the model (`known` are those that are)."""

    kind = "tensor or node"

    def __init__(self, name: str, known: Iterable[str], where: str = "") -> None:
        super().__init__(name, known, where)
        hint = f": did you mean {self.nearest!r}?" if self.nearest else ""
        self.args = (f"no tensor or node {name!r} in the model{hint}",)  # the list would be long


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The most similar of `known` to a mistyped `name`, letter case aside; None if nothing is similar.

    `cutoff` is how similar it has to be, from 0 to 1.

    >>> nearest("ascned", ["ascend", "flops"])
    'ascend'
    """
    by_folded = {candidate.casefold(): candidate for candidate in known}
    found = get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def hint_of(name: str, known: Iterable[str]) -> str:
    """What a message says behind a name that nothing has: the most similar one, or nothing.

    >>> hint_of("ascned", ["ascend", "flops"]), hint_of("banana", ["ascend", "flops"])
    (": did you mean 'ascend'?", '')
    """
    near = nearest(name, known)
    return f": did you mean {near!r}?" if near else ""


class LawError(EgraphOptError):
    """A law, table or host function is declared wrongly."""
