"""What examples of laws are written with: random operands, and terms of which an example says something.

An example generator makes its operands with `Operands` and its terms with the operators' constructors::

    def _examples(rng):
        g = Operands(rng)
        x = g.input((2, 3, 4))
        yield g.fires(transpose(transpose(x, (1, 0, 2)), (1, 0, 2)))
        yield g.near_miss(transpose(x, (1, 0, 2)), why="there is one transpose only")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.errors import LawError
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.inference.constants import tensor_fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.expressions import Tensor

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64
SIZES = (
    {"N": 1, "L": 7, "M": 3},
    {"N": 3, "L": 12, "M": 5},
    {"N": 2, "L": 1, "M": 1},
    {"N": 24, "L": 25, "M": 22},
)
"""What the symbolic dims of examples stand for when they are run."""

MOST_KEPT = 2**12
"""Bytes of a constant that is made once only."""


def _constant(array: np.ndarray[Any, Any], dtype: int | None) -> tuple[ir.TensorProtocol, Fact]:
    """A constant tensor and what is known of it; examples have few small ones, again and again."""
    if array.nbytes > MOST_KEPT or array.dtype.hasobject:
        return _made(array, dtype)
    return _kept(array.tobytes(), array.shape, array.dtype, dtype)


@lru_cache(maxsize=1 << 12)
def _kept(
    elements: bytes, shape: tuple[int, ...], numbers: np.dtype[Any], dtype: int | None
) -> tuple[ir.TensorProtocol, Fact]:
    return _made(np.frombuffer(elements, numbers).reshape(shape), dtype)


def _made(array: np.ndarray[Any, Any], dtype: int | None) -> tuple[ir.TensorProtocol, Fact]:
    tensor = ir.tensor(array, dtype=None if dtype is None else ir.DataType(dtype))
    return tensor, tensor_fact(tensor)


@dataclass
class Operands:
    """The leaves of one family of examples: inputs and constants, with random elements."""

    rng: np.random.Generator
    values: list[ir.Value] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)

    def input(self, shape: Sequence[Dim] | None, dtype: int = FLOAT) -> Tensor:
        """A graph input; dims are numbers or names of symbols (one of those in `SIZES`), None is any rank.

        Raises:
            LawError: the symbol is another one.
        """
        for d in shape or ():
            if isinstance(d, str) and d.isidentifier() and d not in SIZES[0]:
                raise LawError(
                    f"there is no symbol {d!r} in examples; there are {', '.join(sorted(SIZES[0]))}"
                )
        dims = None if shape is None else ir.Shape([ir.SymbolicDim(None) if d is None else d for d in shape])
        kind = ir.TensorType(ir.DataType(dtype))
        self.values.append(ir.Value(name=f"x{len(self.values)}", type=kind, shape=dims))
        known = tuple(symbolic.symbol(d) if isinstance(d, str) else d for d in shape or ())
        self.facts.append(Fact(dtype, None if shape is None else known))
        return leaf(len(self.values) - 1)  # type: ignore[no-any-return]

    def constant(self, array: Any, dtype: int | None = None) -> Tensor:
        """An initializer with the elements given; Python floats become float32."""
        array = np.asarray(array)
        if dtype is None and array.dtype == np.float64:
            array = array.astype(np.float32)
        tensor, known = _constant(array, dtype)
        name = f"c{len(self.values)}"
        value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=tensor.shape, const_value=tensor)  # type: ignore[arg-type]
        self.values.append(value)
        self.facts.append(known)
        return leaf(len(self.values) - 1)  # type: ignore[no-any-return]

    def random(self, *shape: int) -> Tensor:
        """A float32 constant with normally distributed elements."""
        return self.constant(self.rng.standard_normal(shape).astype(np.float32))

    def with_constant(self, place: int, array: Any) -> Operands:
        """The same leaves, with a constant instead of one of them."""
        found = Operands(self.rng, self.values[:place], self.facts[:place])
        found.constant(array, self.facts[place].dtype)
        found.values += self.values[place + 1 :]
        found.facts += self.facts[place + 1 :]
        return found

    def with_leaf(self, value: ir.Value, known: Fact) -> Operands:
        """The same leaves and one more behind them, under a name of its own."""
        name = f"{'x' if value.const_value is None else 'c'}{len(self.values)}"
        made = ir.Value(name=name, type=value.type, shape=value.shape, const_value=value.const_value)
        return Operands(self.rng, [*self.values, made], [*self.facts, known])

    def fires(self, term: Any, **limits: int) -> Example:
        """An example to which the law applies; `limits` are those that the target publishes."""
        return Example(term, True, "", tuple(sorted(limits.items())), self)

    def all_fire(self, *terms: Any, **limits: int) -> Iterator[Example]:
        """An example of each term."""
        return (self.fires(term, **limits) for term in terms)

    def near_misses(self, *cases: tuple[Any, str], **limits: int) -> Iterator[Example]:
        """A near-miss of each term, with its reason."""
        return (self.near_miss(term, why, **limits) for term, why in cases)

    def near_miss(self, term: Any, why: str, **limits: int) -> Example:
        """An example to which the law must not apply."""
        return Example(term, False, why, tuple(sorted(limits.items())), self)
