"""The term language: egglog sorts, the constructors that every graph needs, and the analysis functions.

One e-class of sort `Tensor` is one mathematical value.  The constructors of operators are declared in
`operators/`.  Lists (`nil`, `cons`) only ever merge by congruence, so a list class has one element list.
"""

from egglog import Expr, PyObject, String, StringLike, function, i64, i64Like

from egraph_opt.operators import host


class Tensor(Expr, egg_sort="Tensor"):
    """One value: a tensor, or a sequence, optional or sparse tensor that no law looks into."""


class Tensors(Expr, egg_sort="Tensors"):
    """A list of operands."""


class Bundle(Expr, egg_sort="Bundle"):
    """All outputs of one multi-output operator."""


@function(egg_fn="nil")
def nil() -> Tensors: ...


@function(egg_fn="cons")
def cons(first: Tensor, rest: Tensors) -> Tensors: ...


@function(egg_fn="append")
def append(left: Tensors, right: Tensors) -> Tensors:
    """The elements of left, then those of right; computed by the ruleset of `analysis`."""


# What the host writes: term i of a lowered graph, by its sort.
@function(egg_fn="node", merge=lambda old, new: old)
def node(i: i64Like) -> Tensor: ...


@function(egg_fn="bundle_node", merge=lambda old, new: old)
def bundle_node(i: i64Like) -> Bundle: ...


@function(egg_fn="list_node", merge=lambda old, new: old)
def list_node(i: i64Like) -> Tensors: ...


# What is known.
@function(egg_fn="fact", merge=lambda old, new: PyObject(host.meet)(old, new))
def fact(x: Tensor) -> PyObject:
    """The `facts.Fact` of a class."""


@function(egg_fn="facts", merge=lambda old, new: new)
def facts(xs: Tensors) -> PyObject:
    """The facts of a list's elements, a tuple."""


@function(egg_fn="bundle_facts", merge=lambda old, new: new)
def bundle_facts(b: Bundle) -> PyObject:
    """The facts of a bundle's outputs, a tuple."""


@function(egg_fn="opset", merge=lambda old, new: new)
def opset() -> i64:
    """The model's opset of the default domain."""


@function(egg_fn="limit", merge=lambda old, new: new)
def limit(name: StringLike) -> i64:
    """A limit that the target publishes, such as "pool_kernel"; laws that split fire only above it."""


__all__ = [
    "Bundle",
    "PyObject",
    "String",
    "Tensor",
    "Tensors",
    "append",
    "bundle_facts",
    "bundle_node",
    "cons",
    "fact",
    "facts",
    "i64",
    "limit",
    "list_node",
    "nil",
    "node",
    "opset",
]
