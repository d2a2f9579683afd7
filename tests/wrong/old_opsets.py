"""Right sides that opsets 7 to 10 lack, of laws that are right in later ones."""

# These authors take it that shapes are known.
# mypy: disable-error-code="arg-type, index, misc, operator"

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import DataType, Tensor, hosted, rewrite
from egraph_opt.operators import binary, cast, unary

from . import is_single, of_one, wrong


@wrong("bitwise", of_one(lambda x: unary("IsNaN", (), x)), opset=10)
def no_number_is_not_itself(x: Tensor):
    """IsNaN(x) = Not(x = x)

    Wrong of floats before opset 11, where Equal takes integers only.
    """
    itself = unary("Not", (), binary("Equal", x, x))
    yield rewrite(unary("IsNaN", (), x), itself, is_single(x), because="another spelling")


def _below(g):
    return binary("Less", cast(g.input((3,), T.UINT8), T.FLOAT), cast(g.input((3,), T.UINT8), T.FLOAT))


@hosted()
def are_bytes(x: Fact, y: Fact, t: int) -> bool:
    return x.dtype == y.dtype == T.UINT8 and t == T.FLOAT


@wrong("bitwise", _below, opset=7)
def bytes_in_order(x: Tensor, y: Tensor, t: DataType):
    """Cast_float(x) < Cast_float(y) = x < y for bytes

    Wrong before opset 9, where Less takes floats only.
    """
    left = binary("Less", cast(x, t), cast(y, t))
    yield rewrite(left, binary("Less", x, y), are_bytes(x, y, t), because="forgets the floats")
