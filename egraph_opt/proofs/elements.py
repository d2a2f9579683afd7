"""The elements of a tensor as host functions read them: all one number, a few that are known, or none.

Each answer that a model may give is a path of its own.  What is proved where nothing is known of elements is
not proved where a host function knows them: it may do more then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.proofs.numbers import number_of
from egraph_opt.proofs.paths import Dead
from egraph_opt.semantics.values import ElementType, Index, number

WHOLE = INTEGERS | {TensorProto.BOOL}

LIMITS: dict[int, tuple[int, int]] = {TensorProto.BOOL: (0, 1), TensorProto.UINT8: (0, 255)}
"""The numbers that some types have."""

COUNT = 2
"""How many elements those have that are known and are several."""


class Elements:
    """What is known of the elements of a tensor that a pattern leaves open.

    Args:
        dims: of the tensor.
        function: its element at an index, where nothing is known.
    """

    def __init__(
        self, scene: Any, dtype: ElementType, dims: Sequence[z3.ArithRef], function: z3.FuncDeclRef
    ) -> None:
        self.scene, self.dtype, self.dims, self.function = scene, dtype, dims, function
        self._splat: list[z3.ArithRef | None] = []
        self._listed: list[tuple[Any, ...] | None] = []
        self._axis: int | None = None

    def splat(self) -> z3.ArithRef | None:
        """The number that all are, as a formula, or None."""
        if not self._splat:
            self._splat.append(self._one() if self.scene.choose(2) else None)
        return self._splat[0]

    def _one(self) -> z3.ArithRef:
        """Any number of the type, as far as the type is known."""
        path, dtype = self.scene.path, self.scene.root(self.dtype)
        if dtype not in WHOLE:
            real = path.fresh_real("splat")
            self.scene.types.once_known(self.dtype, lambda dtype: self._is_of(real, dtype))
            return real
        made = path.fresh("splat")
        if dtype in LIMITS:
            least, most = LIMITS[dtype]
            path.assume(z3.And(made >= least, made <= most), possible=True)
        return z3.ToReal(made)

    def _is_of(self, number: z3.ArithRef, dtype: int) -> None:
        if dtype in WHOLE:
            self.scene.path.assume(z3.IsInt(number))
        if dtype in LIMITS:
            least, most = LIMITS[dtype]
            self.scene.path.assume(z3.And(number >= least, number <= most))

    def listed(self) -> tuple[Any, ...] | None:
        """All of them, as host functions get them, or None."""
        if not self._listed:
            self._listed.append(self._known() if self.scene.choose(2) else None)
        return self._listed[0]

    def _known(self) -> tuple[Any, ...]:
        """The one number, or `COUNT` integers along an axis, where channels are."""
        scene, rank, one = self.scene, len(self.dims), self.splat()
        if one is None and (not rank or self.dtype() in FLOATS):
            raise Dead
        self._axis = None if one is not None else max(rank - 3, 0)
        scene.notes.add(f"tensors whose elements are known one by one have 1, or {COUNT} that are whole")
        for axis, dim in enumerate(self.dims):
            scene.path.assume(dim == (COUNT if axis == self._axis else 1))
        if one is not None:
            return (number_of(one, scene.path),)
        return tuple(number_of(scene.path.fresh("e"), scene.path) for _ in range(COUNT))

    def at(self, i: Index) -> z3.ArithRef:
        element = self._at(i)
        if self.scene.root(self.dtype) == TensorProto.BOOL:
            self.scene.lemmas.append(z3.Or(element == 0, element == 1))
        return element

    def _at(self, i: Index) -> z3.ArithRef:
        if self._splat and self._splat[0] is not None:
            return self._splat[0]
        if not self._listed or self._listed[0] is None:
            return self.function(*i)
        numbers = list(map(self.scene.real_formula, self._listed[0]))
        found = numbers[-1]
        for k in range(len(numbers) - 2, -1, -1):
            assert self._axis is not None
            found = z3.If(i[self._axis] == number(k), numbers[k], found)
        return found
