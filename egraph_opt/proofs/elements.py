"""The elements of a tensor as host functions read them: all one number, a few that are known, or none.

Each answer that a model may give is a path of its own.  What is proved where nothing is known of elements is
not proved where a host function knows them: it may do more then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import z3
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.proofs.numbers import number_of, truth_of
from egraph_opt.proofs.paths import Dead
from egraph_opt.semantics.values import ElementType, Index, number

WHOLE = INTEGERS | {TensorProto.BOOL}

LIMITS: dict[int, tuple[int, int]] = {TensorProto.BOOL: (0, 1), TensorProto.UINT8: (0, 255)}
"""The numbers that some types have."""

LARGEST: dict[int, z3.RatNumRef] = {
    TensorProto.FLOAT16: z3.RealVal(str(int(np.finfo(np.float16).max))),
    TensorProto.FLOAT: z3.RealVal(str(int(np.finfo(np.float32).max))),
    TensorProto.DOUBLE: z3.RealVal(str(int(np.finfo(np.float64).max))),
}
"""The greatest number of a type of floats: laws that compare numbers are about finite ones."""

COUNT = 2
"""How many elements those have that are known and are several."""


class Elements:
    """What is known of the elements of a tensor that a pattern leaves open.

    Args:
        dims: of the tensor.
        function: its element at an index, where nothing is known.

    Attributes:
        within: the dims of axes that they are indices into, for which place along their last axis, and where.
        asked: at which indices they were asked for while nothing was known.
    """

    def __init__(
        self, scene: Any, dtype: ElementType, dims: Sequence[z3.ArithRef], function: z3.FuncDeclRef
    ) -> None:
        self.scene, self.dtype, self.dims, self.function = scene, dtype, dims, function
        self._splat: list[z3.ArithRef | None] = []
        self._listed: list[tuple[Any, ...] | None] = []
        self._axis: int | None = None
        self._range: list[Any] = []
        self._interval: list[Any] = []
        self._bounds: tuple[z3.ArithRef | None, z3.ArithRef | None] = (None, None)
        self.within: list[tuple[int | None, z3.ArithRef, z3.BoolRef]] = []
        self.asked: list[Index] = []

    def splat(self) -> z3.ArithRef | None:
        """The number that all are, as a formula, or None."""
        if not self._splat:
            self._splat.append(self._one() if self.scene.choose(2) else None)
            if self._splat[0] is not None:
                self._settle()
        return None if self._splat[0] is None else self.scene.valued(self._splat[0])

    def _one(self) -> z3.ArithRef:
        """Any number of the type: a whole one, which is no float to host functions, or else a real one."""
        path = self.scene.path
        if not self.scene.is_in(self.dtype, WHOLE):
            real = path.fresh_real("splat")
            self.scene.open_numbers.append(real)
            return real
        made = path.fresh("splat")
        self.scene.open_numbers.append(made)
        self.scene.types.once_known(self.dtype, lambda dtype: self._is_of(made, dtype))
        return z3.ToReal(made)

    def _is_of(self, number: z3.ArithRef, dtype: int) -> None:
        if dtype in LIMITS:
            least, most = LIMITS[dtype]
            self.scene.path.assume(z3.And(number >= least, number <= most))

    def listed(self) -> tuple[Any, ...] | None:
        """All of them, as host functions get them, or None."""
        if not self._listed:
            self._listed.append(self._known() if self.scene.choose(2) else None)
            if self._listed[0] is not None:
                self._settle()
        return self._listed[0]

    def _settle(self) -> None:
        """What was asked for before is what is known now."""
        asked, self.asked = self.asked, []
        for i in asked:
            self.scene.path.assume(self.function(*i) == self._at(i), possible=True)

    def _known(self) -> tuple[Any, ...]:
        """The one number, or `COUNT` numbers along an axis, where channels are."""
        scene, rank, one = self.scene, len(self.dims), self.splat()
        if one is None and not rank:
            raise Dead
        self._axis = None if one is not None else max(rank - 3, 0)
        scene.notes.add(f"tensors whose elements are known one by one have 1, or {COUNT}")
        for axis, dim in enumerate(self.dims):
            scene.path.assume(dim == (COUNT if axis == self._axis else 1))
        if one is not None:
            return (number_of(one, scene.path),)
        made = scene.path.fresh_real if scene.is_in(self.dtype, FLOATS) else scene.path.fresh
        return tuple(number_of(made("e"), scene.path) for _ in range(COUNT))

    def range(self) -> Any:
        """Between which numbers elements that are whole are, or None."""
        if not self._range:
            self._range.append(self._whole_range())
        return self._range[0]

    def _whole_range(self) -> Any:
        if self.splat() is not None or not self.scene.is_whole(self.dtype) or not self.scene.choose(2):
            return None
        low, high = (self.scene.path.fresh(name) for name in ("least", "greatest"))
        self._bounds = z3.ToReal(low), z3.ToReal(high)
        self.scene.path.assume(low <= high, possible=True)
        return tuple(number_of(bound, self.scene.path) for bound in (low, high))

    def interval(self) -> Any:
        """Likewise of floats: a bound may be missing, and whether there may be NaN is of no matter here."""
        if not self._interval:
            self._interval.append(self._real_interval())
        return self._interval[0]

    def _real_interval(self) -> Any:
        if self.splat() is not None or self.scene.is_whole(self.dtype):
            return None
        kind, path = self.scene.choose(4), self.scene.path
        if not kind:
            return None
        low, high = (path.fresh_real(name) for name in ("least", "greatest"))
        self._bounds = (low if kind & 1 else None), (high if kind & 2 else None)
        if kind == 3:
            path.assume(low <= high, possible=True)
        return (
            number_of(low, path) if kind & 1 else -math.inf,
            number_of(high, path) if kind & 2 else math.inf,
            truth_of(path.fresh_truth("nan"), path),
        )

    def at(self, i: Index) -> z3.ArithRef:
        element = self._at(i)
        if self._range and self._range[0] is not None:
            self.scene.lemmas.append(z3.IsInt(element))
        if self.scene.compares:
            self.scene.lemmas += self._of_type(element)
        for last, dim, where in self.within:
            self.scene.lemmas.append(z3.Implies(where, self._is_index(i, element, last, dim)))
        low, high = self._bounds
        if low is not None:
            self.scene.lemmas.append(element >= low)
        if high is not None:
            self.scene.lemmas.append(element <= high)
        if self.scene.root(self.dtype) == TensorProto.BOOL:
            self.scene.lemmas.append(z3.Or(element == 0, element == 1))
        return element

    def _is_index(self, i: Index, element: z3.ArithRef, last: int | None, dim: z3.ArithRef) -> z3.BoolRef:
        """That an element of the tensor is an index into an axis."""
        inside = [z3.And(k >= 0, k < d) for k, d in zip(i, self.dims, strict=True)]
        asked = [] if last is None else [i[-1] == last]
        return z3.Implies(z3.And(*inside, *asked), z3.And(element >= -dim, element < dim))

    def _of_type(self, element: z3.ArithRef) -> list[z3.BoolRef]:
        """That it is a number of its type: that of a float is finite."""
        root = self.scene.root(self.dtype)
        number = self.scene.types.numbers.get(root)
        if number is None:
            largest = LARGEST.get(root)
            return [] if largest is None else [z3.And(element >= -largest, element <= largest)]
        return [
            z3.Implies(number == dtype, z3.And(element >= -largest, element <= largest))
            for dtype, largest in LARGEST.items()
        ]

    def _at(self, i: Index) -> z3.ArithRef:
        if self._splat and self._splat[0] is not None:
            return self.scene.valued(self._splat[0])
        if not self._listed or self._listed[0] is None:
            self.asked = [*self.asked, i]
            return self.function(*i)
        numbers = list(map(self.scene.real_formula, self._listed[0]))
        found = numbers[-1]
        for k in range(len(numbers) - 2, -1, -1):
            assert self._axis is not None
            found = z3.If(i[self._axis] == number(k), numbers[k], found)
        return found
