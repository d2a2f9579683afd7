"""What a cost model is, and what it sees of a node.

A cost model is a pure function of one node.  It never looks at producers or consumers, so that a price
belongs to an e-node and stays right whatever the extraction puts around it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from egraph_opt.cost.parameters import Parameter, overrides_of, resolved
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import LARGEST, Dim, Fact

if TYPE_CHECKING:
    from egraph_opt.graph.timed_runtime import Runtime

DEFAULT_LEADING = 1
"""What a symbol stands for that is the leading dim of a graph input (a batch), unless another is given."""

DEFAULT_LENGTH = 128
"""What any other symbol stands for, unless another is given."""

MOST_ELEMENTS = 2**23
"""Of an input at sizes that nobody has given: four dims of 128 each are a tensor that no model gets."""

KERNEL_DOMAIN = "cann"
"""The domain of kernels of a profile that no ONNX operator stands for, such as Ascend's TransData."""


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
            original nodes in whose place it does: what they make there counts as the original, and so does
            what else they make for it.
        confirm: how many of its best graphs are timed whole beside the original, the fastest of all being the
            result; 0 for none unless `measure` demands it.
        runtime: in which that is, and in which what it prices runs; None for onnxruntime.
        elsewhere: it prices another machine, so that what is timed here is reported and decides nothing.
        any_types: nodes may be chosen of types that nothing computes, as laws write them, so that the gate
            sees them.
        sides: what works at the same time, such as host and device: a graph takes as long as the slower.
        free_sizes_factor: how many times as long a model takes that is built for any size of its inputs;
            reports say so, prices do not count it.
        datasheet: parameters that a calibration leaves alone unless told otherwise: they say what the device
            is, and what it reaches of that is said by others.
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
    runtime: Runtime | None = None
    elsewhere: bool = False
    any_types: bool = False
    free_sizes_factor: float = 1.0
    sides: tuple[str, ...] = ()
    datasheet: frozenset[str] = frozenset()

    def __init__(self, **parameters: Any) -> None:
        """Give parameters that the class declares another value.

        Raises:
            UnknownParameterError, ParameterError: no such parameter, or no such value.
        """
        if parameters:
            given = resolved(self.declared_parameters(), overrides_of(parameters), self.name)
            vars(self).update((name, entry.value) for name, entry in given.items())

    def prepare(self, views: Sequence[NodeView], progress: Callable[[float], None]) -> None:
        """Called before `cost` with all views that will be priced: to measure or to look them up at once.

        Args:
            progress: to be called with the share that is done.
        """
        progress(1.0)

    def remarks(self, views: Sequence[NodeView]) -> Sequence[str]:
        """What a user has to know of the prices of these nodes, such as how many are guesses."""
        return ()

    def is_unmeasured(self, node: NodeView) -> bool:
        """Whether the price of a node rests on no measurement: reports say what share of a cost such have."""
        return False

    def time_of(self, node: NodeView, side: str) -> float:
        """What one of the `sides` has to do for a node, its bodies aside."""
        return 0.0

    def settled(self, totals: Mapping[str, float]) -> CostModel:
        """The model as it prices the graphs of a model whose nodes take so long together, side by side.

        What the slower side does decides, and a price belongs to one node: this says which side that is.
        """
        return self

    def stored_bytes(self, fact: Fact, operators: frozenset[str]) -> int | None:
        """Bytes that a tensor takes on the target; None for those of its ONNX type.

        Args:
            fact: of a known type and size.
            operators: op types of the nodes that write or read it.
        """
        return None

    def of_bodies(self, node: NodeView, costs: Sequence[float]) -> float:
        """What the bodies of If, Loop or Scan cost together: its `NodeView.body_cost`.

        It never falls where one of the costs grows.

        Args:
            node: whose they are, without that cost.
            costs: of each body once, by the names of the attributes: that of ``else_branch`` stands first.
        """
        return math.fsum(costs)

    @abstractmethod
    def cost(self, node: NodeView) -> float:
        """The price of a node: never negative, a function of the view alone.

        It is finite but for a pseudo-operator that the target does not have after all.
        """

    def kernel_cost(self, node: NodeView, core: str = "") -> float:
        """The price of a node as a kernel that a profile lists, to be compared with the time that it took.

        What the target does in kernels of their own, or what neighbours share, is no part of it.

        Args:
            core: which unit ran it, as the profile says (``AI_CORE``, ``AI_CPU`` ...); "" where it does not.
        """
        return self.cost(node)

    def in_model(self, micros: float, kernels: int) -> float:
        """What kernels of a whole model take, of what a profile says: without what profiling adds.

        Args:
            kernels: how many they are.
        """
        return micros

    def kernel_name(self, node: NodeView) -> str:
        """What reports call the kernel of a node; of a pseudo-operator the operators that it stands for."""
        parts = () if node.parts is None else (part.op_type for part in node.parts.nodes)
        return " + ".join(dict.fromkeys(parts)) or node.op_type

    def breakdown(self, node: NodeView) -> Mapping[str, float]:
        """What of a node's price each resource has, by the resource's name, such as ``launch`` or ``memory``.

        That is by how much the price would fall if the resource cost nothing: where two take equally long,
        neither has a share.  Bodies are left out.  Empty where a model has no resources.
        """
        return {}

    def reason(self, node: NodeView) -> str:
        """What is slow about a node, such as "kernel 1024 above 255 runs on the AI CPU"; mostly ""."""
        return ""

    def build_command(self, inputs: Mapping[str, Sequence[int | None]], path: str) -> str:
        """The command that builds the result for the target, ready to be run; "" where none is needed.

        Args:
            inputs: sizes of each input by its name, None where nobody knows one.
            path: the file of the result.
        """
        return ""

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        """Names that may follow ``<model>:`` and are passed to the constructor, such as those of chips."""
        return ()

    @classmethod
    def declared_parameters(cls, variant: str = "") -> Mapping[str, Parameter]:
        """What prices depend on, by name, as it is in a variant: what `parameter` declares in the class.

        The constructor takes other values by the same names.
        """
        names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
        found = {name: getattr(cls, name, None) for name in names}
        return {name: entry for name, entry in found.items() if isinstance(entry, Parameter)}


def bind(fact: Fact, at: Mapping[str, int]) -> Fact:
    """The fact with its symbols replaced by numbers, in the shape and in the value.

    A symbol that `at` does not mention stands for ``DEFAULT_LENGTH``.  An expression that is negative at
    this point becomes 0, one that has no value there (a division by zero) becomes unknown.  Between which
    floats elements lie has no price: nodes that differ in this alone are asked about once.
    """
    shape = fact.shape
    if shape is not None and any(isinstance(d, str) for d in shape):
        shape = tuple(_number(d, at) for d in shape)
        if math.prod(d for d in shape if d is not None) > LARGEST:  # of no use as a size, and no float
            shape = (None,) * len(shape)
    value = fact.value
    if value is not None and any(isinstance(v, str) for v in value):
        numbers = tuple(_evaluate(v, at) if isinstance(v, str) else v for v in value)
        value = None if None in numbers else numbers  # type: ignore[assignment]
    if shape is fact.shape and value is fact.value and fact.interval is None:
        return fact
    return replace(fact, shape=shape, value=value, interval=None)


def _number(dim: Dim, at: Mapping[str, int]) -> int | None:
    if not isinstance(dim, str):
        return dim
    number = _evaluate(dim, at)
    return None if number is None else max(number, 0)


def _evaluate(text: str, at: Mapping[str, int]) -> int | None:
    names = symbolic.symbols(text)
    point = tuple(sorted((name, at.get(name, DEFAULT_LENGTH)) for name in names))
    return _evaluate_at(text, point)


@lru_cache(maxsize=1 << 14)
def _evaluate_at(text: str, point: tuple[tuple[str, int], ...]) -> int | None:
    try:
        return int(symbolic.evaluate(text, dict(point)))
    except ArithmeticError:
        return None


def default_points(
    graph_inputs: Iterable[Fact],
    symbols: Iterable[str] = (),
    given: Mapping[str, int] | None = None,
    *,
    most: float = MOST_ELEMENTS,
) -> dict[str, int]:
    """The numbers at which symbols are priced: `given` first, 1 for a leading dim of an input, else 128.

    Of inputs that would have more than `most` elements the dims of 128 are halved until they have not.

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
    facts = list(graph_inputs)
    for fact in facts:
        for axis, dim in enumerate(fact.shape or ()):
            names = symbolic.symbols(dim) if isinstance(dim, str) else frozenset()
            for name in names:
                number = DEFAULT_LEADING if axis == 0 else DEFAULT_LENGTH
                points[name] = min(points.get(name, number), number)
    for name in symbols:
        points.setdefault(name, DEFAULT_LENGTH)
    points.update(given or {})
    for fact in facts:
        inner = _symbols(fact) - (given or {}).keys()
        while elements_at(fact, points) > most and any(points[name] > 1 for name in inner):
            points |= {name: max(points[name] // 2, 1) for name in inner}
    return dict(sorted(points.items()))


def _symbols(fact: Fact) -> set[str]:
    return {name for dim in fact.shape or () if isinstance(dim, str) for name in symbolic.symbols(dim)}


def elements_at(fact: Fact, at: Mapping[str, int]) -> int:
    """How many elements a tensor has at some sizes of its dims; a dim that is not known counts as 1."""
    return math.prod(1 if (size := _number(dim, at)) is None else size for dim in fact.shape or ())
