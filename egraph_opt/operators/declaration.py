"""How an operator of the term language is declared: once, with all that the engine needs of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.forking import cached_property
from egraph_opt.operators.expressions import OPERANDS, Function, Sort, declare, signature
from egraph_opt.operators.tables import declare_known

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
        function: its constructor, for use in laws.
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
        op_types: where one constructor stands for many ONNX operators, the names that it takes.
        in_layout: the result is held in a layout of the target's own; rebuilding writes the plain value.
        module: that declares it.
    """

    name: str
    function: Function
    made_by: Function
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    result: str
    form: Form | None = None
    infer: Inference | None = None
    expand: Expansion | None = None
    op_types: tuple[str, ...] = ()
    in_layout: bool = False
    doc: str = field(default="", compare=False)
    module: str = field(default="", compare=False)

    @property
    def signature(self) -> str:
        """The constructor with its parameters and their sorts."""
        inside = ", ".join(f"{name}: {sort}" for name, sort in self.function.parameters)
        return f"{self.name}({inside})"

    @cached_property
    def attribute_positions(self) -> tuple[int, ...]:
        return tuple(k for k, kind in enumerate(self.kinds) if kind in ("string", "int", "object"))

    @cached_property
    def operand_positions(self) -> tuple[int, ...]:
        return tuple(k for k, kind in enumerate(self.kinds) if kind in OPERANDS)


declared_operators: dict[str, Operator] = {}


def operators() -> dict[str, Operator]:
    """Every declared operator by name, in order of declaration."""
    return dict(declared_operators)


def operator_named(name: str) -> Operator:
    return declared_operators[name]


def operator(
    *,
    form: Form | None = None,
    infer: Inference | None = None,
    expand: Expansion | None = None,
    op_types: Iterable[str] = (),
    in_layout: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """Declare an operator from a stub whose parameters are its operands and attributes.

    Returns the constructor, so that laws use the declared name.

    Raises:
        LawError: the name is taken.
    """

    def register(stub: Callable[..., Any]) -> Function:
        name = stub.__name__
        parameters, result = signature(stub)
        function = declare(Function(name, parameters, result, doc=inspect.getdoc(stub) or ""))
        made_by = declare(Function(f"made_by_{name}", parameters, Sort("int"), "first"))
        if form is not None or infer is not None or expand is not None:
            declare_known(function)
        declared_operators[name] = Operator(
            name=name,
            function=function,
            made_by=made_by,
            kinds=tuple(sort.kind for _, sort in parameters),
            names=tuple(n for n, _ in parameters),
            result=result.kind,
            form=form,
            infer=infer,
            expand=expand,
            op_types=tuple(op_types),
            in_layout=in_layout,
            doc=function.doc,
            module=stub.__module__,
        )
        return function

    return register


def declared_outside(module: str) -> bool:
    """Whether a module that declares operators, or reads nodes, is none of this package's."""
    return module.partition(".")[0] != __name__.partition(".")[0]


# --- lowering -------------------------------------------------------------------------------------------

Lower = Callable[..., Any]
lowerings: dict[str, Lower] = {}


def lowers(*op_types: str) -> Callable[[Lower], Lower]:
    """Register ``f(node: NodeReader) -> TermSpec | None`` for ONNX operators; None leaves the node opaque."""

    def register(function: Lower) -> Lower:
        for op_type in op_types:
            if op_type in lowerings:
                raise ValueError(f"{op_type} is lowered twice")
            lowerings[op_type] = function
        return function

    return register


def lowering_of(op_type: str) -> Lower | None:
    return lowerings.get(op_type)


def lowered_op_types() -> Iterator[str]:
    yield from sorted(lowerings)


@dataclass(frozen=True)
class TermSpec:
    """What a lowering function answers: an operator with its attributes and operands.

    Attributes:
        operator: its name.
        attributes: values for its attribute parameters, in order.
        operands: inputs of the node by position; a tuple of positions for a list; None for an absent one;
            or the term of a value between.
        read: inputs whose constant value went into the attributes.
    """

    operator: str
    attributes: tuple[Any, ...]
    operands: tuple[Any, ...]
    read: tuple[int, ...] = ()
