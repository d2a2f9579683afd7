"""The elements of constants, computed from their terms: by NumPy and ONNX's reference, floats in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from egraph_opt.certificates.closure import operands_first
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.knowledge import Knowledge
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import ABSENT
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.operators.declaration import Literal, OnnxForm, declared_operators

Array = np.ndarray[Any, Any]

OWN_TYPE = frozenset("Cast Ceil Floor Round Sign Equal Greater GreaterOrEqual Less LessOrEqual".split())
"""Operators whose results depend on what floats are rounded to."""

NEWER = {"BatchNormalization": 15, "DequantizeLinear": 19, "QuantizeLinear": 19}
"""Opsets from which on ONNX's reference computes an operator right."""

ARITHMETIC = {"Add": np.add, "Div": np.divide, "Mul": np.multiply, "Neg": np.negative, "Sub": np.subtract}
"""What is computed without ONNX's reference, where it would do the same."""

BROADCASTS = 7
"""The opset from which on those broadcast as NumPy does."""

TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
"""By how much of the greatest magnitude elements may differ, for rounding; of narrower floats 1e-2."""

SMALLEST = 1e-2
"""Of the greatest magnitude of a tensor: what its rows have at least, as sums in them may cancel out."""


def by_reference(model: bytes, outputs: list[str], feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model, by ONNX's reference."""
    with np.errstate(all="ignore"):
        return [
            np.asarray(item)
            for item in ReferenceEvaluator(onnx.load_from_string(model)).run(outputs, dict(feeds))
        ]


class ConstantNumbers:
    """The elements of constant terms, computed from those of the model alone.

    What a result writes may be off by rounding, so that nothing is computed from it: its constants stand for
    the terms that they were compared with, however many follow each other.

    Attributes:
        tensors: the data of leaves, by term.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self.tensors: dict[int, ir.TensorProtocol] = {}
        self._arrays: dict[int, Array] = {}
        self._known: set[int] = set()
        self._stored: set[int] = set()
        self._computed_by: dict[int, int] = {}

    def leaf(self, term: int, tensor: ir.TensorProtocol, *, given: bool, stored: bool) -> bool:
        """Know the data of a leaf; whether it is new.

        Args:
            given: by the model, and not written by who optimised it.
            stored: in the model's file, and not computed from what is.
        """
        if given:
            self._known.add(term)
        if given and stored:
            self._stored.add(term)
        new = term not in self.tensors
        self.tensors.setdefault(term, tensor)
        return new

    def folded(self, leaf: int, term: int) -> None:
        """A leaf stands for a term from here on: their elements are equal but for rounding."""
        if leaf not in self._known:
            self._computed_by.setdefault(leaf, term)

    def _leaf_in(self, term: int, leaves: set[int]) -> int | None:
        """The first of some leaves, or literal, in the class of a term."""
        members, functions = self._knowledge.members[self._knowledge.root(term)], self._knowledge.functions
        return next((k for k in members if k in leaves or functions[k] == "literal"), None)

    def of(self, term: int) -> Array:
        """The elements of a constant term, floats in float64.

        Raises:
            CertificateError: it is none, or cannot be computed.
        """
        term = self._given(term)
        for current in operands_first(term, self._arrays, self._needed, most=len(self._knowledge)):
            self._arrays[current] = self._computed(current)
        return self._arrays[term]

    def differ(self, term: int, tensor: ir.TensorProtocol) -> str:
        """How a tensor differs from the elements of a term; "" where it does not.

        What is computed may differ by rounding; a constant that the model stores is as it was.

        Raises:
            CertificateError: the term is no constant, or cannot be computed.
        """
        computed = self.of(term)
        dtype = self._knowledge.of(term).fact.dtype  # type: ignore[union-attr]
        if int(tensor.dtype) != dtype:
            return "it is of another element type"
        return differ(computed, tensor.numpy(), dtype, exactly=self._leaf_in(term, self._stored) is not None)

    def forget(self) -> None:
        """Let go of what was computed."""
        self._arrays.clear()

    def _needed(self, term: int) -> tuple[int, ...]:
        """The operands that a term is computed from; none of what is known by itself."""
        if term in self.tensors or self._splat(term) is not None:
            return ()
        known = self._knowledge
        return tuple(self._given(k) for k in known.each_operand(term) if known.fact(k) != ABSENT)

    def sources(self, term: int, read: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The operands that a term is computed from, each with the term that is taken for it.

        Args:
            read: gets the terms that are lists, with those that say their elements.
        """
        if term in self.tensors or self._splat(term) is not None:
            return []
        return [(operand, self._given(operand)) for operand in self._knowledge.each_operand(term, read)]

    def _given(self, operand: int) -> int:
        """The term that an operand is computed by: a leaf of its class, or itself, or another operator."""
        leaf = self._leaf_in(operand, self._known)
        if leaf is not None:
            return leaf
        if operand in self._computed_by:
            return self._computed_by[operand]
        if self._knowledge.functions[operand] in declared_operators:
            return operand
        members = self._knowledge.members[self._knowledge.root(operand)]
        return next((k for k in members if self._knowledge.functions[k] in declared_operators), operand)

    def _splat(self, term: int) -> Literal | None:
        fact = self._knowledge.fact(term)
        if fact is None or not fact.const or fact.splat is None or not fact.is_static:
            return None
        return Literal(fact.dtype, fact.shape, (fact.splat,))

    def _computed(self, term: int) -> Array:
        known = self._knowledge
        fact = known.fact(term)
        if fact is None or not fact.const:
            raise CertificateError(f"{known.text(term)} is not known to be constant")
        splat = self._splat(term)
        if term in self.tensors and term not in self._known:
            raise CertificateError(f"{known.text(term)} is not of the model, and nothing is computed from it")
        if term in self.tensors:
            return _wide(self.tensors[term].numpy(), fact.dtype)
        if splat is not None or known.functions[term] == "literal":
            return _wide(literal_elements(splat or known.arguments[term][0]), fact.dtype)
        declared = declared_operators[known.functions[term]]
        flat = known.each_operand(term)
        facts = tuple(known.fact(k) or ABSENT for k in flat)
        form = declared.form(known.opset, known.attributes(term), facts) if declared.form else None
        if form is None:
            raise CertificateError(f"{known.text(term)} is no ONNX node, and is not computed")
        operands = [
            None if f == ABSENT else self._arrays[self._given(k)] for k, f in zip(flat, facts, strict=True)
        ]
        try:
            return evaluated(form, operands, [f.dtype for f in facts], fact.dtype, known.opset)
        except CertificateError:
            raise
        except Exception as error:
            raise CertificateError(f"{known.text(term)} cannot be computed: {error}") from error


def _wide(array: Array, dtype: int) -> Array:
    return np.asarray(array, dtype=np.float64) if dtype in FLOATS else np.asarray(array)


def in_type(array: Array, dtype: int) -> Array:
    """An array in the element type given."""
    with np.errstate(all="ignore"):
        return np.asarray(array, dtype=ir.DataType(dtype).numpy())


def literal_elements(literal: Literal) -> Array:
    """The elements of a literal, in its own type."""
    dtype = ir.DataType(literal.dtype).numpy()
    if len(literal.values) == 1:
        return np.full(literal.dims, literal.values[0], dtype=dtype)
    return np.array(literal.values, dtype=dtype).reshape(literal.dims)


def evaluated(
    form: OnnxForm, operands: Sequence[Array | None], dtypes: Sequence[int], result: int, opset: int
) -> Array:
    """One ONNX node on constant operands, floats in float64."""
    own = form.op_type in OWN_TYPE
    arrays: list[Array | None] = []
    for item in form.inputs:
        array, dtype = None, 0
        if isinstance(item, Literal):
            array, dtype = literal_elements(item), item.dtype
        elif item is not None:
            array, dtype = operands[item], dtypes[item]
        if array is not None and dtype in FLOATS:
            array = in_type(array, dtype) if own else np.asarray(array, dtype=np.float64)
        arrays.append(array)
    with np.errstate(all="ignore"):
        answer = np.asarray(_run(form, arrays, opset))
    return _wide(in_type(answer, result) if own or result not in FLOATS else answer, result)


def _run(form: OnnxForm, arrays: list[Array | None], opset: int) -> Any:
    function = ARITHMETIC.get(form.op_type)
    given = [array for array in arrays if array is not None]
    plain = opset >= BROADCASTS and not (form.domain or form.attributes)
    wide = all(array.dtype == np.float64 for array in given)
    if function is not None and plain and wide and len(given) == function.nin:
        return function(*given)
    if form.op_type == "ConvTranspose" and (product := _pointwise(form, given)) is not None:
        return product
    types = tuple(None if array is None else int(ir.DataType.from_numpy(array.dtype)) for array in arrays)
    feeds = {f"x{k}": array for k, array in enumerate(arrays) if array is not None}
    (answer,) = _evaluator(form.op_type, form.domain, form.attributes, types, opset).run(None, feeds)
    return answer


def _pointwise(form: OnnxForm, given: list[Array]) -> Array | None:
    """A transposed convolution by a kernel of one element, which is a product of matrices by group.

    Laws write the product of two kernels so; ONNX's reference takes seconds for it.
    """
    settings = dict(form.attributes)
    steps = (*settings.get("strides", ()), *settings.get("dilations", ()))
    edges = (*settings.get("pads", ()), *settings.get("output_padding", ()))
    if len(given) != 2 or set(given[1].shape[2:]) != {1} or set(steps) - {1} or set(edges) - {0}:
        return None
    if settings.keys() - {"strides", "dilations", "pads", "output_padding", "group", "kernel_shape"}:
        return None
    x, w, groups = given[0], given[1], settings.get("group", 1)
    count, channels, *sizes = x.shape
    x = x.reshape(count, groups, channels // groups, -1)
    w = w.reshape(groups, channels // groups, -1)
    product: Array = np.einsum("ngcs,gco->ngos", x, w)
    return product.reshape(count, -1, *sizes)


@lru_cache(maxsize=256)
def _evaluator(
    op_type: str, domain: str, attributes: Any, types: tuple[int | None, ...], opset: int
) -> ReferenceEvaluator:
    names = ["" if dtype is None else f"x{k}" for k, dtype in enumerate(types)]
    node = onnx.helper.make_node(op_type, names, ["y"], domain=domain, **dict(attributes))
    inputs = [
        onnx.helper.make_tensor_value_info(name, dtype, None)
        for name, dtype in zip(names, types, strict=True)
        if dtype is not None
    ]
    graph = onnx.helper.make_graph([node], "constant", inputs, [onnx.ValueInfoProto(name="y")])
    version = max(opset, NEWER.get(op_type, 1))
    return ReferenceEvaluator(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    )


def differ(computed: Array, written: Array, dtype: int, *, exactly: bool = False) -> str:
    """How computed elements differ from written ones, beyond rounding or `exactly`; "" where not."""
    if computed.shape != written.shape:
        return f"its shape is {written.shape}, and should be {computed.shape}"
    expected = in_type(computed, dtype)
    if expected.tobytes() == np.asarray(written, dtype=expected.dtype).tobytes():
        return ""
    if exactly or dtype not in FLOATS:
        return "" if dtype not in FLOATS and np.array_equal(expected, written) else "its elements are others"
    a, b = np.asarray(expected, dtype=np.float64), np.asarray(written, dtype=np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        return "its elements are others"
    a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
    scale, error = _magnitudes(a), np.abs(a - b)
    wrong = error > TOLERANCE.get(str(expected.dtype), 1e-2) * scale
    if not wrong.any():
        return ""
    place = int(np.argmax(np.where(wrong, error, 0.0)))
    return f"an element is off by {error.flat[place]:.3g} of at most {scale.flat[place]:.3g}"


def _magnitudes(array: Array) -> Array:
    """The greatest magnitude in the row, column, .. of each element where that is smallest.

    What sums of products are off by goes with the rows and columns that they are of: a channel of small
    numbers is as exact as one of large ones.
    """
    found = np.full(array.shape, np.inf)
    for axis in range(array.ndim):
        rest = tuple(k for k in range(array.ndim) if k != axis)
        found = np.minimum(found, np.abs(array).max(axis=rest, keepdims=True, initial=0.0))
    whole = np.abs(array).max(initial=0.0)
    return np.maximum(found, SMALLEST * whole) if array.ndim > 1 else np.full(array.shape, whole)
