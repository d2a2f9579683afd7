"""What laws are written with; operators are in `egraph_opt.operators`.

from egraph_opt.laws import Permutation, Tensor, hosted, law, rewrite
from egraph_opt.operators import transpose
"""

from egraph_opt.laws import sorts
from egraph_opt.laws.algebra import (
    erf,
    exp,
    is_constant,
    is_same,
    log,
    number_like,
    reciprocal,
    relu,
    sigmoid,
    softplus,
    sqrt,
    tanh,
    varies,
)
from egraph_opt.laws.exactness import approximate
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Auxiliary, Example, Law, auxiliary, law, laws_of
from egraph_opt.laws.sorts import *  # noqa: F403
from egraph_opt.laws.statements import absent, assign, eq, equal, guard, kernel, ne, rewrite, rule, union
from egraph_opt.operators.host import HostFunction, hosted
from egraph_opt.operators.tables import shorthand, table
from egraph_opt.operators.terms import (
    append,
    bundle_facts,
    cons,
    declare_limit,
    fact,
    facts,
    limit,
    listed,
    nil,
    node,
    opset,
)

__all__ = [
    *sorts.__all__,
    "Auxiliary",
    "Example",
    "HostFunction",
    "Law",
    "Operands",
    "absent",
    "append",
    "approximate",
    "assign",
    "auxiliary",
    "bundle_facts",
    "cons",
    "declare_limit",
    "eq",
    "equal",
    "erf",
    "exp",
    "fact",
    "facts",
    "guard",
    "hosted",
    "is_constant",
    "is_same",
    "kernel",
    "law",
    "laws_of",
    "limit",
    "listed",
    "log",
    "ne",
    "nil",
    "node",
    "number_like",
    "opset",
    "reciprocal",
    "relu",
    "rewrite",
    "rule",
    "shorthand",
    "sigmoid",
    "softplus",
    "sqrt",
    "table",
    "tanh",
    "union",
    "varies",
]
