"""A saturated e-graph as plain arrays: all that pricing, extraction and rebuilding need of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.helper import tensor_dtype_to_np_dtype

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import CLASH, Fact
from egraph_opt.forking import cached_property
from egraph_opt.operators.declaration import operator_named

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Snapshot:
    """E-nodes and e-classes, numbered.

    Attributes:
        operator: per e-node its operator's name.
        attributes: per e-node its attributes, in the operator's order.
        node_class: per e-node its class.
        child_ptr, child: the classes of node k's operands are ``child[child_ptr[k]:child_ptr[k + 1]]``; lists
            are spliced in.
        made_by: per e-node 0 if it is of the original graph, else 1 + the index in `laws`.
        facts: per class; UNKNOWN for bundles.
        laws: the keys of the laws it was saturated under.
        term_node: per term of the lowered graph its e-node.
    """

    operator: tuple[str, ...]
    attributes: tuple[tuple[Any, ...], ...]
    node_class: Ints
    child_ptr: Ints
    child: Ints
    made_by: Ints
    facts: tuple[Fact, ...]
    laws: tuple[str, ...]
    term_node: Ints

    @property
    def n_nodes(self) -> int:
        return len(self.operator)

    @property
    def n_classes(self) -> int:
        return len(self.facts)

    def children(self, node: int) -> list[int]:
        return self.child[self.child_ptr[node] : self.child_ptr[node + 1]].tolist()  # type: ignore[no-any-return]

    @cached_property
    def term_classes(self) -> Ints:
        """Per term of the lowered graph its class."""
        return self.node_class[self.term_node]

    @cached_property
    def plain(self) -> list[int]:
        """Per class that of the same value in ONNX's own layout; the class itself where nothing is known."""
        answer = list(range(self.n_classes))
        for k, name in enumerate(self.operator):
            declared = operator_named(name)
            if declared.expand is not None and declared.expand(self.attributes[k]) == ():
                owner, operand = int(self.node_class[k]), self.children(k)[0]
                held, plain = (owner, operand) if declared.in_layout else (operand, owner)
                if answer[held] == held:
                    answer[held] = plain
        return answer

    @cached_property
    def _index(self) -> dict[tuple[str, str, tuple[int, ...]], int]:
        return {
            (name, repr(self.attributes[k]), tuple(self.children(k))): k
            for k, name in enumerate(self.operator)
        }

    def find(self, operator: str, attributes: tuple[Any, ...], operands: tuple[int, ...]) -> int:
        """The e-node of an operator on the classes given, or -1."""
        return self._index.get((operator, repr(attributes), operands), -1)

    def numbers(self, dtype: int, value: float) -> list[int]:
        """The initializers that are this number in a floating point type, of rank 0 or one element."""
        rounded = _rounded(dtype, value)
        return [] if rounded is None else self._numbers.get((dtype, rounded), [])

    @cached_property
    def _numbers(self) -> dict[tuple[int, float], list[int]]:
        found: dict[tuple[int, float], list[int]] = {}
        for k, name in enumerate(self.operator):
            known = self.facts[int(self.node_class[k])]
            if name == "leaf" and known.const and known.splat is not None and known.shape in ((), (1,)):
                rounded = _rounded(known.dtype, known.splat)
                if rounded is not None:
                    found.setdefault((known.dtype, rounded), []).append(k)
        return found

    def clashes(self) -> list[int]:
        """Classes whose nodes contradict each other in type: an unsound law fired."""
        return [c for c, known in enumerate(self.facts) if known.dtype == CLASH.dtype]


def _rounded(dtype: int, value: float) -> float | None:
    """A number as a floating point type has it; None of other types."""
    if dtype not in KERNEL_FLOATS:
        return None
    return float(tensor_dtype_to_np_dtype(dtype).type(value))
