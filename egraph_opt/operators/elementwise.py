"""Element-wise operators: one constructor per arity, so that a law about any of them is one rewrite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.elementwise import keeps, widens
from egraph_opt.inference.numbers import settle
from egraph_opt.operators.activations import expand_activation
from egraph_opt.operators.availability import is_available
from egraph_opt.operators.declaration import (
    PSEUDO_DOMAIN,
    Attributes,
    Literal,
    OnnxForm,
    Step,
    TermSpec,
    lowers,
    operator,
)
from egraph_opt.operators.expressions import String, Tensor, Tensors, stands_for
from egraph_opt.operators.sorts import DataType, Settings

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu "
    "HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Sigmoid Sign "
    "Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"
).split()
BINARY = (
    "Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Mod Mul Or "
    "PRelu Pow Sub Xor"
).split()
VARIADIC = ("Max", "Mean", "Min", "Sum")


def _unary_form(opset: int, attributes: tuple[str, Attributes], facts: tuple[Fact, ...]) -> OnnxForm | None:
    op, settings = attributes
    if op != "Clip":
        if is_available(op, opset):
            return OnnxForm(op, (0,), settings)
        if expand_activation(op, settings) is None:
            return None
        return OnnxForm(op, (0,), settings, PSEUDO_DOMAIN)
    bounds = dict(settings)
    if opset < 11:
        return OnnxForm("Clip", (0,), tuple((k, v) for k, v in settings if v is not None))
    dtype = facts[0].dtype
    known = [bound for bound in bounds.values() if bound is not None]
    if dtype <= 0 or (dtype in INTEGERS and any(settle(dtype, bound) is None for bound in known)):
        return None  # there is no such constant
    constants = [None if bounds[k] is None else Literal(dtype, (), (bounds[k],)) for k in ("min", "max")]
    while constants and constants[-1] is None:
        constants.pop()
    return OnnxForm("Clip", (0, *constants))


def _expand_unary(attributes: tuple[str, Attributes]) -> tuple[Step, ...] | None:
    return expand_activation(*attributes)


@operator(form=_unary_form, expand=_expand_unary, op_types=(*UNARY, "Clip"))
def unary(op: String, settings: Settings, x: Tensor) -> Tensor:
    """The ONNX operator `op` on each element; `settings`: its attributes, sorted, defaults filled in.

    An activation that the opset does not have yet is a pseudo-operator.
    """


def relu(x: Tensor) -> Any:
    """Relu(x), for laws."""
    return unary("Relu", (), x)


def apply_unary(op: Any, x: Tensor) -> Any:
    """A unary operator without attributes, for laws."""
    return unary(op, (), x)


def _binary_form(opset: int, attributes: tuple[str], facts: tuple[Fact, ...]) -> OnnxForm | None:
    if attributes[0] == "Pow" and facts[0].dtype in INTEGERS:
        return None  # see `_lower_binary`
    return OnnxForm(attributes[0], (0, 1))


@operator(form=_binary_form, op_types=BINARY)
def binary(op: String, x: Tensor, y: Tensor) -> Tensor:
    """The ONNX operator `op` on the elements of x and y, broadcast as in numpy."""


stands_for("unary", unary)
stands_for("binary", binary)


def _where_form(opset: int, attributes: tuple[()], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Where", (0, 1, 2)) if opset >= 9 else None


@operator(form=_where_form)
def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition holds, else y; all three broadcast."""


def _variadic_form(opset: int, attributes: tuple[str], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm(attributes[0], tuple(range(len(facts))))


@operator(form=_variadic_form, op_types=VARIADIC)
def variadic(op: String, xs: Tensors) -> Tensor:
    """Sum, Mean, Max or Min of any number of operands."""


def _cast_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Cast", (0,), (("to", attributes[0]),))


@operator(form=_cast_form)
def cast(x: Tensor, to: DataType) -> Tensor:
    """x in another element type (an ``onnx.TensorProto.DataType``)."""


@lowers(*UNARY)
def _lower_unary(node: NodeReader) -> TermSpec | None:
    return TermSpec("unary", (node.op_type, node.settings()), (0,))


@lowers("Clip")
def _lower_clip(node: NodeReader) -> TermSpec | None:
    bounds: dict[str, float | int | None] = {"max": None, "min": None}
    read = []
    if node.opset < 11:
        for name in bounds:
            bounds[name] = node.attribute(name)
    else:
        for position, name in ((1, "min"), (2, "max")):
            if node.has(position):
                fact = node.fact(position)
                if not fact.const or fact.splat is None:
                    return None
                bounds[name] = fact.splat
                read.append(position)
    return TermSpec("unary", ("Clip", tuple(sorted(bounds.items()))), (0,), tuple(read))


@lowers(*BINARY)
def _lower_binary(node: NodeReader) -> TermSpec | None:
    if node.op_type == "Mod" and node.attribute("fmod"):
        return None
    if node.op_type == "Pow" and node.fact(0).dtype not in FLOATS:
        # onnxruntime computes powers of integers in double, and by products where one small number raises a
        # row, so that what overflows or takes more than 53 bits depends on how operands are laid
        return None
    if node.op_type == "PRelu" and widens(node.fact(1).shape, node.fact(0).shape):
        return None  # onnxruntime broadcasts x, which the standard rules out
    return TermSpec("binary", (node.op_type,), (0, 1))


@lowers("Where")
def _lower_where(node: NodeReader) -> TermSpec | None:
    if node.is_same(1, 2) and keeps(node.fact(0).shape, node.fact(1).shape):
        return TermSpec("identity", (), (1,))  # or laws move past a choice that is none, again and again
    return TermSpec("where", (), (0, 1, 2))


@lowers(*VARIADIC)
def _lower_variadic(node: NodeReader) -> TermSpec | None:
    return TermSpec("variadic", (node.op_type,), (tuple(range(node.count)),))


@lowers("Cast")
def _lower_cast(node: NodeReader) -> TermSpec | None:
    if node.attribute("saturate") == 0 or node.attribute("round_mode") not in (None, "up"):
        return None
    return TermSpec("cast", (node.attribute("to"),), (0,))


@lowers("CastLike")
def _lower_cast_like(node: NodeReader) -> TermSpec | None:
    if node.attribute("saturate") == 0 or node.fact(1).dtype <= 0:
        return None
    return TermSpec("cast", (node.fact(1).dtype,), (0,), (1,))


@lowers("Identity")
def _lower_identity(node: NodeReader) -> TermSpec | None:
    return TermSpec("identity", (), (0,))


@lowers("Dropout")
def _lower_dropout(node: NodeReader) -> TermSpec | None:
    """In inference Dropout is the identity; the mask, where it is used, keeps the node."""
    if node.uses_output(1):
        return None
    if node.opset >= 12 and node.has(2):
        training = node.fact(2)
        if not training.const or training.splat is None or training.splat:
            return None
    return TermSpec("identity", (), (0,))
