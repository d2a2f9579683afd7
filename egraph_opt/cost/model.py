"""What a cost model is, what it sees of a node, and where cost models are found by name.

A cost model is a pure function of one node.  It never looks at producers or consumers, so that a price
belongs to an e-node and stays right whatever the extraction puts around it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from egraph_opt.errors import LawError, UnknownCostModelError
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact

if TYPE_CHECKING:
    from egraph_opt.graph.runtime import RuntimeSetting

GROUP = "egraph_opt.cost_models"
"""The entry-point group that cost models, the built-in ones too, are registered in."""

DEFAULT_LEADING = 1
"""What a symbol stands for that is the leading dim of a graph input (a batch), unless told otherwise."""

DEFAULT_LENGTH = 128
"""What any other symbol stands for, unless told otherwise."""


@dataclass(frozen=True)
class Parts:
    """The nodes that a pseudo-operator stands for, as a small graph whose result is that of the last node.

    Attributes:
        operands: facts of what comes from outside, bound; ``ABSENT`` is none.
        nodes: in the order of their execution; the inputs of each are facts as those of any node.
        sources: per node and input where it comes from: an operand (its number), the result of an earlier
            node (the number of operands, and that of the node), or None: absent, or a constant that the
            input's fact has whole.
    """

    operands: tuple[Fact, ...]
    nodes: tuple[NodeView, ...]
    sources: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True)
class NodeView:
    """What a cost model sees of one node.

    Attributes:
        op_type: ONNX operator type (or that of a pseudo-operator).
        domain: ONNX domain; the default one is ``""``.
        attributes: attributes by name, as Python ints, floats, strs and tuples of them.
        inputs: facts with all symbols bound to numbers; an unknown dim stays None, an absent input is None.
        outputs: facts of the outputs.
        body_cost: cost of the bodies of If, Loop and Scan, priced by the same model (see `of_bodies`).
        opset: version of the default domain in the model.
        parts: of a pseudo-operator, the nodes that it stands for.
        memo: what a cost model has worked out of it, by name, for the next time that it is asked.
    """

    op_type: str
    domain: str
    attributes: Mapping[str, object]
    inputs: tuple[Fact | None, ...]
    outputs: tuple[Fact, ...]
    body_cost: float = 0.0
    opset: int = 0
    parts: Parts | None = None
    memo: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def input(self, index: int) -> Fact | None:
        """The fact of an input; None where it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def output(self, index: int = 0) -> Fact | None:
        """The fact of an output; None where there is none."""
        return self.outputs[index] if index < len(self.outputs) else None

    def integer(self, name: str, default: int) -> int:
        """An integer attribute; the default where it is absent or of another kind."""
        value = self.attributes.get(name)
        return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else default

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A list-of-integers attribute; None where it is absent or of another kind."""
        value = self.attributes.get(name)
        if not isinstance(value, (tuple, list)) or not all(isinstance(v, int) for v in value):
            return None
        return tuple(value)

    def text(self, name: str, default: str = "") -> str:
        """A string attribute; the default where it is absent or of another kind."""
        value = self.attributes.get(name)
        if isinstance(value, bytes):
            return value.decode("utf-8", errors="replace")
        return value if isinstance(value, str) else default


class CostModel(ABC):
    """A price for every node.

    Attributes:
        name: what it is registered under.
        unit: the unit of its prices, for reports.
        rulesets: rulesets that it wants besides the default ones.
        limits: facts about the target that laws ask for, such as ``{"conv_kernel": 255}``.
        pseudo_operators: names of the pseudo-operators that it prices, or op types of their forms;
            no others are ever chosen.
        applied: keys of laws that the target's compiler applies by itself, each with the op types of the
            original nodes in whose place it does: what they make there counts as the original.
        confirm: how many of its best graphs are timed whole beside the original, the fastest of all being the
            result; 0 for none unless `measure` demands it.
        setting: how the runtime is set for that.
        elsewhere: it prices another machine, so that what is timed here is told and decides nothing.
        margin: by what share a node that does not occur in the original graph is priced higher, where prices
            are uncertain: what differs by less is left as it is.
    """

    name: str
    unit: str
    rulesets: tuple[str, ...] = ()
    limits: Mapping[str, int] = MappingProxyType({})
    pseudo_operators: frozenset[str] = frozenset()
    applied: Mapping[str, frozenset[str]] = MappingProxyType({})
    margin: float = 0.0
    confirm: int = 0
    setting: RuntimeSetting | None = None
    elsewhere: bool = False

    def prepare(self, views: Sequence[NodeView], progress: Callable[[float], None]) -> None:
        """Called before `cost` with all views that will be priced: to measure or to look them up at once.

        Args:
            progress: to be called with the share that is done.
        """
        progress(1.0)

    def remarks(self, views: Sequence[NodeView]) -> Sequence[str]:
        """What a user has to know of the prices of these nodes, such as how many are guesses."""
        return ()

    def of_bodies(self, op_type: str, costs: Sequence[float]) -> float:
        """What the bodies of a node cost together: `NodeView.body_cost` of If, Loop or Scan."""
        return math.fsum(costs)

    @abstractmethod
    def cost(self, node: NodeView) -> float:
        """The price of a node: never negative, a function of the view alone.

        It is finite but for a pseudo-operator that the target does not have after all.
        """

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        """Names that may follow ``<model>:`` and are passed to the constructor, such as those of chips."""
        return ()


def bind(fact: Fact, at: Mapping[str, int]) -> Fact:
    """The fact with its symbols replaced by numbers, in the shape and in the value.

    A symbol that `at` does not mention stands for ``DEFAULT_LENGTH``.  An expression that is negative at
    this point becomes 0, one that has no value there (a division by zero) becomes unknown.
    """
    shape = fact.shape
    if shape is not None and any(isinstance(d, str) for d in shape):
        shape = tuple(_number(d, at) for d in shape)
    value = fact.value
    if value is not None and any(isinstance(v, str) for v in value):
        numbers = tuple(_evaluate(v, at) if isinstance(v, str) else v for v in value)
        value = None if None in numbers else numbers  # type: ignore[assignment]
    if shape is fact.shape and value is fact.value:
        return fact
    return replace(fact, shape=shape, value=value)


def _number(dim: Dim, at: Mapping[str, int]) -> int | None:
    if not isinstance(dim, str):
        return dim
    number = _evaluate(dim, at)
    return None if number is None else max(number, 0)


def _evaluate(text: str, at: Mapping[str, int]) -> int | None:
    names = symbolic.symbols(text)
    point = tuple(sorted((name, at.get(name, DEFAULT_LENGTH)) for name in names))
    return _evaluate_at(text, point)


@lru_cache(maxsize=65536)
def _evaluate_at(text: str, point: tuple[tuple[str, int], ...]) -> int | None:
    try:
        return int(symbolic.evaluate(text, dict(point)))
    except ArithmeticError:
        return None


def default_points(
    graph_inputs: Iterable[Fact], symbols: Iterable[str] = (), given: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The numbers at which symbols are priced: `given` first, 1 for a leading dim of an input, else 128.

    Args:
        graph_inputs: facts of the graph's inputs.
        symbols: further symbols that may occur.
        given: what the user asked for.

    Returns:
        A number per symbol, sorted by name.

    >>> default_points([Fact(1, ("N", 3, "H", "W"))], given={"W": 640})
    {'H': 128, 'N': 1, 'W': 640}
    """
    points: dict[str, int] = {}
    for fact in graph_inputs:
        for axis, dim in enumerate(fact.shape or ()):
            names = symbolic.symbols(dim) if isinstance(dim, str) else frozenset()
            for name in names:
                number = DEFAULT_LEADING if axis == 0 else DEFAULT_LENGTH
                points[name] = min(points.get(name, number), number)
    for name in symbols:
        points.setdefault(name, DEFAULT_LENGTH)
    points.update(given or {})
    return dict(sorted(points.items()))


@lru_cache(maxsize=1)
def cost_models() -> Mapping[str, EntryPoint]:
    """All registered cost models by name, sorted; the built-in one where somebody registers its name too.

    Looked for once in a process, as rulesets are.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        if entry.name not in found or entry.value.startswith(f"{GROUP}."):
            found[entry.name] = entry
    return found


def cost_model(name: str | CostModel) -> CostModel:
    """The cost model of a name such as ``"flops"``, ``"ascend"`` or ``"ascend:910b4"``; a model is itself.

    ``"my_costs.py:Launches"`` is that of a class in a file, ``"my_costs.py:Launches:fast"`` a variant of it.

    Raises:
        LawError: the file cannot be run.
        UnknownCostModelError: no such model or variant is registered; suggests the nearest name.
    """
    if isinstance(name, CostModel):
        return name
    if ".py:" in name:
        return _from_file(name)
    base, colon, variant = name.partition(":")
    registered = cost_models()
    if base not in registered:
        raise UnknownCostModelError(name, registered)
    factory = registered[base].load()
    if not colon:
        return _checked(factory())
    variants = factory.variants()
    if variant not in variants:
        raise UnknownCostModelError(name, [base, *(f"{base}:{v}" for v in variants)])
    return _checked(factory(variant))


def _from_file(name: str) -> CostModel:
    # Laws and their operators are no part of a cost model, and take a while to import.
    from egraph_opt.laws.loading import run_file

    path, _, wanted = name.rpartition(".py:")
    base, colon, variant = wanted.partition(":")
    module = run_file(Path(f"{path}.py"))
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, CostModel) and value.__module__ == module.__name__
    }
    if base not in classes:
        raise UnknownCostModelError(base, classes)
    try:
        factory: Any = classes[base]
        return _checked(factory(variant) if colon else factory())
    except TypeError as error:
        raise LawError(f"{path}.py: {base}: {error}") from error


def _checked(model: object) -> CostModel:
    if not isinstance(model, CostModel):
        raise TypeError(f"{model!r} is registered as a cost model but is no egraph_opt.cost.model.CostModel")
    return model
