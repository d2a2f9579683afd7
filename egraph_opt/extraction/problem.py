"""The extraction problem: which node of each e-class to take, as plain arrays.

A solution chooses one node for every class that it uses: the roots, and the children of what is chosen.
It must be acyclic.  Its cost is the sum over the chosen nodes, each counted once however often it is used.

Reading e-graphs in the JSON form of extraction-gym (github.com/egraphs-good/extraction-gym).
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.structure import Floats, Ints, Mask, invert, pointers
from egraph_opt.foreign_text import parsed_json


def _no_ties() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class ExtractionProblem:
    """An e-graph with costs.  Classes are ``0 .. n_classes - 1``, nodes ``0 .. n_nodes - 1``.

    Attributes:
        node_class: the class of each node.
        child_ptr: children of node ``k`` are ``child[child_ptr[k]:child_ptr[k + 1]]``.
        child: class ids, which may repeat.
        cost: of each node, at least 0; infinite means that the node may not be chosen.
        roots: the classes that a solution must provide.
        tie: of each node, finite and at least 0: among solutions of equal cost the one with the smaller sum
            is better (bytes of constants, say).  Left out, it is 0 everywhere.
        n_classes: at least one more than the largest class id that occurs, which is also the default.

    Raises:
        ExtractionError: arrays that do not fit together, costs that are negative or NaN, a class that is used
            but has no node.  The message names the class.
    """

    node_class: Ints
    child_ptr: Ints
    child: Ints
    cost: Floats
    roots: Ints
    tie: Floats = field(default_factory=_no_ties)
    n_classes: int = 0

    def __post_init__(self) -> None:
        for name in ("node_class", "child_ptr", "child", "roots"):
            object.__setattr__(self, name, _integers(name, getattr(self, name)))
        for name in ("cost", "tie"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))
        if not len(self.tie):
            object.__setattr__(self, "tie", np.zeros(self.n_nodes))
        used = (self.node_class, self.child, self.roots)
        largest = max((int(ids.max()) for ids in used if len(ids)), default=-1)
        object.__setattr__(self, "n_classes", max(self.n_classes, largest + 1))
        self._check_shapes()
        self._check_costs()
        self._check_classes()

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.node_class)

    def children(self, node: int) -> Ints:
        """The child classes of one node."""
        return self.child[self.child_ptr[node] : self.child_ptr[node + 1]]

    def owners(self) -> Ints:
        """For each entry of ``child``, the node that it belongs to."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.child_ptr))

    def _check_shapes(self) -> None:
        n = self.n_nodes
        if len(self.cost) != n or len(self.tie) != n or len(self.child_ptr) != n + 1:
            raise ExtractionError(
                f"{n} nodes need {n} costs, {n} ties and {n + 1} child pointers; "
                f"got {len(self.cost)}, {len(self.tie)} and {len(self.child_ptr)}"
            )
        ptr = self.child_ptr
        if ptr[0] != 0 or ptr[-1] != len(self.child) or (np.diff(ptr) < 0).any():
            raise ExtractionError("child_ptr must grow from 0 to the number of children")
        for name in ("node_class", "child", "roots"):
            if (getattr(self, name) < 0).any():
                raise ExtractionError(f"{name} holds a negative class id")

    def _check_costs(self) -> None:
        for name, values, bad in (
            ("cost", self.cost, np.isnan(self.cost) | (self.cost < 0)),
            ("tie", self.tie, ~np.isfinite(self.tie) | (self.tie < 0)),
        ):
            if bad.any():
                node = int(np.flatnonzero(bad)[0])
                raise ExtractionError(
                    f"node {node} of class {self.node_class[node]} has {name} {values[node]}; it must be >= 0"
                )

    def _check_classes(self) -> None:
        filled = np.zeros(self.n_classes, np.bool_)
        filled[self.node_class] = True
        empty_roots = self.roots[~filled[self.roots]]
        if len(empty_roots):
            raise ExtractionError(f"class {empty_roots[0]} is a root but has no nodes")
        empty = np.flatnonzero(~filled[self.child])
        if len(empty):
            node = int(self.owners()[empty[0]])
            raise ExtractionError(
                f"class {self.child[empty[0]]} has no nodes, but node {node} of class "
                f"{self.node_class[node]} uses it"
            )


def _integers(name: str, values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ExtractionError(
            f"{name} must be a flat array of integers, not {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array, np.int32)


def least_costs(problem: ExtractionProblem, nodes: npt.NDArray[np.integer]) -> Floats:
    """Per class the cost of the cheapest of the given nodes; infinite where it has none."""
    least = np.full(problem.n_classes, np.inf)
    np.minimum.at(least, problem.node_class[nodes], problem.cost[nodes])
    return least


def choosable(problem: ExtractionProblem, allowed: Mask | None = None) -> Mask:
    """The nodes of finite cost all of whose children can be built from such nodes without a cycle.

    (A node that uses its own class is among them where another node builds the class.)  One pass from the
    leaves, linear in nodes and children.
    """
    open_nodes = np.isfinite(problem.cost) if allowed is None else np.isfinite(problem.cost) & allowed
    user_ptr, user = invert(problem.child_ptr, problem.child, problem.n_classes)
    first, users = user_ptr.tolist(), user.tolist()
    missing = np.diff(problem.child_ptr).tolist()
    of_class = problem.node_class.tolist()
    is_open = open_nodes.tolist()
    built = bytearray(problem.n_classes)
    ready = np.flatnonzero(open_nodes & (np.diff(problem.child_ptr) == 0)).tolist()
    for node in ready:
        owner = of_class[node]
        if built[owner]:
            continue
        built[owner] = 1
        for above in users[first[owner] : first[owner + 1]]:
            missing[above] -= 1
            if not missing[above] and is_open[above]:
                ready.append(above)
    buildable: Mask = open_nodes & (np.array(missing, np.int32) == 0)
    return buildable


def has_solution(problem: ExtractionProblem) -> bool:
    """Whether all roots have an acyclic solution of finite cost."""
    built = np.zeros(problem.n_classes, np.bool_)
    built[problem.node_class[choosable(problem)]] = True
    return bool(built[problem.roots].all())


def explain_unbuildable(problem: ExtractionProblem, can: Mask) -> str | None:
    """Why some root has no solution, with ``can`` from `choosable`; None if all roots have one."""
    built = np.zeros(problem.n_classes, np.bool_)
    built[problem.node_class[can]] = True
    lost = problem.roots[~built[problem.roots]]
    if not len(lost):
        return None
    root = int(lost[0])
    order = np.argsort(problem.node_class, kind="stable")
    ptr = pointers(problem.node_class, problem.n_classes)
    walk: dict[int, int] = {}
    here = root
    while here not in walk:
        walk[here] = len(walk)
        nodes = order[ptr[here] : ptr[here + 1]]
        finite = nodes[np.isfinite(problem.cost[nodes])]
        if not len(finite):
            via = "" if here == root else f", which root class {root} needs,"
            return f"class {here}{via} has only nodes of infinite cost; give one of them a finite cost"
        below = problem.children(int(finite[0]))
        here = int(below[~built[below]][0])
    cycle = [*list(walk)[walk[here] :], here]
    return (
        f"root class {root} has no acyclic solution of finite cost: "
        f"class {' needs class '.join(map(str, cycle))} and no other choice is left"
    )


def load_json(path: str | Path) -> ExtractionProblem:
    """Read ``{"nodes": {id: {"op", "children": [node ids], "eclass", "cost"}}, "root_eclasses": [...]}``.

    Plain or gzipped (``.gz``).  Classes and nodes are numbered in the order of the file.

    Raises:
        ExtractionError: the file is not of that form.
    """
    source = Path(path)
    raw = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    try:
        graph = parsed_json(raw)
        nodes = graph["nodes"]
        number: dict[str, int] = {}
        for node in nodes.values():
            number.setdefault(node["eclass"], len(number))
        owner = [number[node["eclass"]] for node in nodes.values()]
        children = [[number[nodes[child]["eclass"]] for child in node["children"]] for node in nodes.values()]
        cost = [float(node["cost"]) for node in nodes.values()]
        roots = [number[root] for root in graph["root_eclasses"]]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        reason = f"{source.name} is not an e-graph in extraction-gym's JSON form: {error!r}"
        raise ExtractionError(reason) from error
    return ExtractionProblem(
        node_class=np.array(owner, np.int32),
        child_ptr=np.cumsum([0, *map(len, children)], dtype=np.int32),
        child=np.array([child for below in children for child in below], np.int32),
        cost=np.array(cost),
        roots=np.array(roots, np.int32),
    )
