"""Constants that laws wrote, computed once: in float64, and rounded to their type at the end.

Rounding after every operator costs accuracy (a folded BatchNormalization's bias in float16 is off by 0.143,
rounded once by 0.037).  What is exact in its own type stays in it: integers, casts, comparisons, rounding.

Where every bit of a result is to stay, a constant that is computed now has to be the one that the nodes would
have given when the model runs, each rounded in its own types, and not the more accurate one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.graph.isolation import often_apart
from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.operators.declaration import Attributes, Literal, OnnxForm

if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator
    from onnxruntime import InferenceSession


_OWN_TYPE = frozenset("Cast Ceil Floor Round Sign Equal Greater GreaterOrEqual Less LessOrEqual".split())
_SINCE = {"BatchNormalization": 15, "DequantizeLinear": 19, "QuantizeLinear": 19}
"""Opsets from which on ONNX's reference computes an operator right: before it trains BatchNormalizations, and
lacks the others."""

_ARITHMETIC: dict[str, np.ufunc] = {
    "Add": np.add,
    "Div": np.divide,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Sqrt": np.sqrt,
    "Sub": np.subtract,
}
"""What ONNX's reference does with floats for most nodes that laws write; it takes a while to import."""

BROADCASTS = 7
"""The opset from which on these operators broadcast as NumPy does."""


def is_float(dtype: int) -> bool:
    return dtype in FLOATS


def literal_array(literal: Literal) -> np.ndarray[Any, Any]:
    """A literal's elements, in its own dtype."""
    dtype = ir.DataType(literal.dtype).numpy()
    with np.errstate(over="ignore"):
        if len(literal.values) == 1:
            return np.full(literal.dims, literal.values[0], dtype=dtype)
        return np.array(literal.values, dtype=dtype).reshape(literal.dims)


def rounded(array: np.ndarray[Any, Any], dtype: int) -> np.ndarray[Any, Any]:
    """An array in the dtype that its value has."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(array, dtype=ir.DataType(dtype).numpy())


def typed_operands(
    form: OnnxForm, operands: Sequence[np.ndarray[Any, Any] | None], dtypes: Sequence[int]
) -> Iterator[tuple[np.ndarray[Any, Any], int] | None]:
    """The inputs of a form, each with the type that it has; None for an absent one."""
    for item in form.inputs:
        if isinstance(item, Literal):
            yield literal_array(item), item.dtype
        else:
            array = None if item is None else operands[item]
            yield None if item is None or array is None else (array, dtypes[item])


def evaluate_form(
    form: OnnxForm,
    operands: Sequence[np.ndarray[Any, Any] | None],
    dtypes: Sequence[int],
    result: int,
    opset: int,
) -> np.ndarray[Any, Any]:
    """One ONNX node on constant operands.

    Args:
        operands: float ones in float64.
        dtypes: the operands' own types.
        result: the type of the result.

    Returns:
        The result; in float64 if it is a float.
    """
    own = form.op_type in _OWN_TYPE
    arrays: list[np.ndarray[Any, Any] | None] = []
    for given in typed_operands(form, operands, dtypes):
        array = None
        if given is not None:
            array, dtype = given
            if is_float(dtype):
                array = rounded(array, dtype) if own else np.asarray(array, dtype=np.float64)
        arrays.append(array)
    with np.errstate(all="ignore"):
        answer = np.asarray(_evaluate(form, arrays, opset))
    if not is_float(result):
        return rounded(answer, result)
    return np.asarray(rounded(answer, result) if own else answer, dtype=np.float64)


def _evaluate(form: OnnxForm, arrays: list[np.ndarray[Any, Any] | None], opset: int) -> Any:
    """The result in the type that the operands have."""
    floats = [a for a in arrays if a is not None and a.dtype == np.float64]
    if form.op_type in _ARITHMETIC and not (form.domain or form.attributes) and opset >= BROADCASTS:
        function = _ARITHMETIC[form.op_type]
        if len(floats) == len(arrays) == function.nin:
            return function(*floats)
    if form.op_type == "Mean" and not form.domain:  # the reference adds in place, to the first operand
        arrays = list(np.broadcast_arrays(*(a for a in arrays if a is not None)))
    given = tuple(None if a is None else ir.DataType.from_numpy(a.dtype) for a in arrays)
    feeds = {f"x{k}": a for k, a in enumerate(arrays) if a is not None}
    if (form.op_type == "Pow" or form.op_type.startswith("Reduce")) and not (floats or form.domain):
        # The reference fails on logarithms of integers, and has another mean of none; what overflows is
        # another power to onnxruntime, which computes in float64 and by products where the exponent is small.
        with suppress(Exception):  # onnxruntime's errors share no base class
            output = onnx.helper.make_tensor_value_info("y", int(given[0] or 0), None)
            return _run_apart(node_model(form, given, output, opset).SerializeToString(), feeds)
    if form.op_type == "Pow" and not form.domain:
        base, exponent = (a for a in arrays if a is not None)
        if base.dtype.kind in "iu":
            return _integer_power(base, exponent)
    if form.op_type == "GatherND":
        x, indices = (a for a in arrays if a is not None)
        if not indices.size:  # the reference does not know how many rows none are for each of no batches
            behind = x.shape[dict(form.attributes).get("batch_dims", 0) + indices.shape[-1] :]
            return np.zeros((*indices.shape[:-1], *behind), x.dtype)
    evaluator = _evaluator(form.op_type, form.domain, form.attributes, given, opset)
    try:
        (answer,) = evaluator.run(None, feeds)
    except RuntimeError as error:  # as the reference says it of an Upsample, and not by its own class
        if str(error).startswith("Not implemented"):
            raise NotImplementedError(str(error)) from error
        raise
    return answer


def _integer_power(base: np.ndarray[Any, Any], exponent: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """In the base's type, through float64, as onnxruntime computes it where it has a kernel."""
    power = np.power(base.astype(np.float64), exponent.astype(np.float64))
    return np.asarray(power.astype(base.dtype))


@lru_cache(maxsize=1024)
def _evaluator(
    op_type: str, domain: str, attributes: Attributes, given: tuple[ir.DataType | None, ...], opset: int
) -> ReferenceEvaluator:
    """What runs a node; `given` are its operands' types, None for an absent one."""
    from onnx.reference import ReferenceEvaluator  # all of its operators, and few models need any

    from egraph_opt.rebuild.conv_transpose import ConvTranspose

    form = OnnxForm(op_type, (), attributes, domain)
    output = onnx.ValueInfoProto(name="y")
    model = node_model(form, given, output, max(opset, _SINCE.get(op_type, 1)))
    return ReferenceEvaluator(model, new_ops=[ConvTranspose])


def node_model(
    form: OnnxForm, given: Sequence[int | None], output: onnx.ValueInfoProto, opset: int
) -> onnx.ModelProto:
    """A node as a model of inputs x0, x1, ...; `given` are its operands' types, None for an absent one."""
    names = ["" if dtype is None else f"x{k}" for k, dtype in enumerate(given)]
    attributes = dict(form.attributes)
    node = onnx.helper.make_node(form.op_type, names, [output.name], domain=form.domain, **attributes)
    inputs = [
        onnx.helper.make_tensor_value_info(name, int(dtype), None)
        for name, dtype in zip(names, given, strict=True)
        if dtype is not None
    ]
    graph = onnx.helper.make_graph([node], "constant", inputs, [output])
    imports = [onnx.helper.make_opsetid("", opset)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


SESSIONS = 64
"""Nodes that are kept loaded."""


def evaluate_in_own_types(
    form: OnnxForm,
    operands: Sequence[np.ndarray[Any, Any] | None],
    dtypes: Sequence[int],
    result: int,
    opset: int,
) -> np.ndarray[Any, Any]:
    """One node on constant operands, by onnxruntime; as `evaluate_form`, which is for what it cannot run."""
    given = list(typed_operands(form, operands, dtypes))
    feeds = {f"x{k}": rounded(*operand) for k, operand in enumerate(given) if operand is not None}
    types = [None if operand is None else operand[1] for operand in given]
    output = onnx.helper.make_tensor_value_info("y", result, None)
    model = node_model(form, types, output, opset).SerializeToString()
    try:
        answer = _run_apart(model, feeds)
    except Exception:  # onnxruntime's errors share no base class; it lacks kernels, and types of feeds
        answer = rounded(evaluate_form(form, operands, dtypes, result, opset), result)
    return np.asarray(answer, dtype=np.float64) if is_float(result) else np.asarray(answer)


SECONDS = 20.0
"""That one node may take."""


def _run_apart(model: bytes, feeds: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    """What a node computes, in onnxruntime's process where it has one; raises what onnxruntime does."""
    return often_apart(_run, model, feeds, seconds=SECONDS)


def _run(model: bytes, feeds: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    (answer,) = _session(model).run(None, feeds)
    return answer


@lru_cache(maxsize=SESSIONS)
def _session(model: bytes) -> InferenceSession:
    return plain_session(model, plain_options(threads=1))
