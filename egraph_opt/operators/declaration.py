"""How an operator of the term language is declared: once, with all that the engine needs of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, get_type_hints

import egglog
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.terms import Bundle, Tensor, Tensors

T = TypeVar("T")

Attributes = tuple[tuple[str, Any], ...]

PSEUDO_DOMAIN = "egraph_opt.pseudo"
"""The domain of forms that stand for something other than an ONNX node."""


attribute_classes: dict[str, type] = {}
"""Classes of attribute values by name: what a saved snapshot may contain besides plain values."""


def attribute_class(declared: type[T]) -> type[T]:
    """Register a frozen dataclass whose instances are attributes of operators.

    Raises:
        ValueError: the name is taken.
    """
    if declared.__name__ in attribute_classes:
        raise ValueError(f"attribute class {declared.__name__} is declared twice")
    attribute_classes[declared.__name__] = declared
    return declared


@attribute_class
@dataclass(frozen=True)
class Literal:
    """A constant tensor with few elements, written by a law or a rebuilt node.

    Attributes:
        dtype: ``onnx.TensorProto.DataType``.
        dims: its shape, all numbers.
        values: the elements in row-major order; one element stands for all of them.
    """

    dtype: int
    dims: tuple[int, ...]
    values: tuple[Any, ...]


def ints(values: tuple[int, ...]) -> Literal:
    """A constant int64 vector."""
    return Literal(TensorProto.INT64, (len(values),), values or (0,))


@dataclass(frozen=True)
class OnnxForm:
    """One ONNX node as a term is written.

    Attributes:
        op_type: the ONNX operator.
        inputs: per input the position of the term's operand, a constant to write, or None where absent.
        attributes: sorted by name; ints, floats, strings and tuples of them.
        domain: "" for the default one.
    """

    op_type: str
    inputs: tuple[int | Literal | None, ...]
    attributes: Attributes = ()
    domain: str = ""


COMMUTATIVE = frozenset(("Add", "Mul"))
"""Element-wise operators whose operands a step may have in either order."""


@dataclass(frozen=True)
class Earlier:
    """The result of an earlier step, as an operand of a later one."""

    step: int


@dataclass(frozen=True)
class Scalar:
    """A constant of rank 0, in the type of the pseudo-operator's first operand, as an operand of a step."""

    value: float

    def literal(self, dtype: int) -> Literal:
        return Literal(dtype, (), (self.value,))


@dataclass(frozen=True)
class Step:
    """One of the operators that a pseudo-operator stands for.

    Attributes:
        operator: the name of a declared operator, itself no pseudo-operator, that makes one tensor.
        attributes: in the operator's order.
        operands: positions of the pseudo-operator's operands (lists spliced in), results of earlier steps, or
            constants.
    """

    operator: str
    attributes: tuple[Any, ...] = ()
    operands: tuple[int | Earlier | Scalar, ...] = ()


Form = Callable[..., OnnxForm | None]
Inference = Callable[..., Fact | tuple[Fact, ...]]
Expansion = Callable[..., tuple[Step, ...] | None]


@dataclass(frozen=True)
class Operator:
    """A declared operator.

    Attributes:
        name: of its constructor.
        function: the egglog constructor, for use in laws.
        made_by: the parallel table: which law made the e-node (0: it is of the original graph).
        kinds: per parameter "tensor", "tensors", "bundle", "string", "int" or "object".
        names: the parameters' names.
        result: "tensor" or "bundle".
        form: ``form(opset, attributes, operand facts) -> OnnxForm``; None where that opset cannot say it.
        infer: ``infer(opset, attributes, operand facts) -> Fact`` (a tuple for a bundle) where ONNX's
            inference on `form` does not do, and neither do the steps of `expand`.
        expand: makes it a pseudo-operator wherever its `form` is in `PSEUDO_DOMAIN`: something that ONNX, or
            the model's opset, does not have and that only a cost model which knows it can choose; the form is
            what it sees.  ``expand(attributes) -> steps``; the last step's result is what the rebuilt graph
            has in its place, without any steps it is the first operand.  None where there is no such thing.
    """

    name: str
    function: Any
    made_by: Any
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    result: str
    form: Form | None = None
    infer: Inference | None = None
    expand: Expansion | None = None
    doc: str = field(default="", compare=False)

    @cached_property
    def attribute_positions(self) -> tuple[int, ...]:
        return tuple(k for k, kind in enumerate(self.kinds) if kind in ("string", "int", "object"))

    @cached_property
    def operand_positions(self) -> tuple[int, ...]:
        return tuple(k for k, kind in enumerate(self.kinds) if kind in ("tensor", "tensors", "bundle"))


_KINDS = {
    Tensor: "tensor",
    Tensors: "tensors",
    Bundle: "bundle",
    egglog.String: "string",
    egglog.i64: "int",
    egglog.PyObject: "object",
}

_operators: dict[str, Operator] = {}


def operators() -> dict[str, Operator]:
    """Every declared operator by name, in order of declaration."""
    return dict(_operators)


def operator_named(name: str) -> Operator:
    return _operators[name]


def _keep_first(old: Any, new: Any) -> Any:
    return old


def _egg_function(name: str, parameters: list[tuple[str, Any]], result: Any, **options: Any) -> Any:
    """An egglog function with a computed signature (egglog reads signatures of Python functions)."""

    def stub(*args: Any) -> None: ...

    stub.__name__ = stub.__qualname__ = name
    stub.__module__ = "egraph_opt.operators.terms"
    stub.__annotations__ = {**dict(parameters), "return": result}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    stub.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, kind, annotation=a) for n, a in parameters], return_annotation=result
    )
    declare: Any = egglog.function(egg_fn=name, **options)
    return declare(stub)


def operator(
    *, form: Form | None = None, infer: Inference | None = None, expand: Expansion | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Declare an operator from a stub whose parameters are its operands and attributes.

    Returns the egglog constructor, so that laws use the declared name.

    Raises:
        ValueError: the name is taken.
    """

    def declare(stub: Callable[..., Any]) -> Any:
        name = stub.__name__
        if name in _operators:
            raise ValueError(f"operator {name} is declared twice")
        hints = get_type_hints(stub)
        result = hints.pop("return")
        parameters = list(hints.items())
        function = _egg_function(name, parameters, result)
        made_by = _egg_function(f"made_by_{name}", parameters, egglog.i64, merge=_keep_first)
        _operators[name] = Operator(
            name=name,
            function=function,
            made_by=made_by,
            kinds=tuple(_KINDS[annotation] for _, annotation in parameters),
            names=tuple(n for n, _ in parameters),
            result=_KINDS[result],
            form=form,
            infer=infer,
            expand=expand,
            doc=inspect.getdoc(stub) or "",
        )
        return function

    return declare


# --- lowering -------------------------------------------------------------------------------------------

Lower = Callable[..., Any]
_lowerings: dict[str, Lower] = {}


def lowers(*op_types: str) -> Callable[[Lower], Lower]:
    """Register ``f(node: NodeReader) -> TermSpec | None`` for ONNX operators; None leaves the node opaque."""

    def register(function: Lower) -> Lower:
        for op_type in op_types:
            if op_type in _lowerings:
                raise ValueError(f"{op_type} is lowered twice")
            _lowerings[op_type] = function
        return function

    return register


def lowering_of(op_type: str) -> Lower | None:
    return _lowerings.get(op_type)


def lowered_op_types() -> Iterator[str]:
    yield from sorted(_lowerings)


@dataclass(frozen=True)
class TermSpec:
    """What a lowering function answers: an operator with its attributes and operands.

    Attributes:
        operator: its name.
        attributes: values for its attribute parameters, in order.
        operands: inputs of the node by position; a tuple of positions for a list; None for an absent one.
        read: inputs whose constant value went into the attributes.
    """

    operator: str
    attributes: tuple[Any, ...]
    operands: tuple[Any, ...]
    read: tuple[int, ...] = ()
