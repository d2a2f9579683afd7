"""Walks over the class graph: who can be built, what is reached, cycles, connected parts.

Graphs come as pointer arrays (CSR): the targets of row ``i`` are ``target[ptr[i]:ptr[i + 1]]``.
Nothing recurses, because e-graphs of deep models are deep.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def pointers(owner: npt.NDArray[np.integer], n: int) -> Ints:
    """The pointer array of entries sorted by their owner (0 to n-1)."""
    ptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(owner, minlength=n), out=ptr[1:])
    return ptr


def invert(ptr: Ints, target: Ints, n: int) -> tuple[Ints, Ints]:
    """Rows per target: ``(ptr, row)`` of the reversed relation, ``n`` targets."""
    row = np.repeat(np.arange(len(ptr) - 1, dtype=np.int32), np.diff(ptr))
    order = np.argsort(target, kind="stable")
    return pointers(target, n), row[order]


def entries(ptr: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Positions of all entries of the given rows, and for each the index into ``rows`` it belongs to."""
    counts = ptr[rows + 1] - ptr[rows]
    owner = np.repeat(np.arange(len(rows), dtype=np.int32), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.repeat(ptr[rows], counts) + within).astype(np.int32), owner


def reached(starts: Sequence[int] | npt.NDArray[np.integer], ptr: Ints, target: Ints) -> Mask:
    """Which rows are reached from ``starts`` (themselves included)."""
    seen = bytearray(len(ptr) - 1)
    first, to = ptr.tolist(), target.tolist()
    stack = [int(start) for start in starts]
    for start in stack:
        seen[start] = 1
    while stack:
        row = stack.pop()
        for other in to[first[row] : first[row + 1]]:
            if not seen[other]:
                seen[other] = 1
                stack.append(other)
    return np.frombuffer(seen, np.uint8).astype(np.bool_)


def strong_components(ptr: Ints, target: Ints) -> Ints:
    """The strongly connected component of each row, numbered so that targets have smaller numbers.

    Tarjan's algorithm (1972) with an explicit stack.
    """
    n = len(ptr) - 1
    first, to = ptr.tolist(), target.tolist()
    index, low, component = [0] * n, [0] * n, [-1] * n
    position = first[:n]
    counter, found = 1, 0
    open_rows: list[int] = []
    for start in range(n):
        if index[start]:
            continue
        path = [start]
        while path:
            row = path[-1]
            if not index[row]:
                index[row] = low[row] = counter
                counter += 1
                open_rows.append(row)
            at, end, descended = position[row], first[row + 1], False
            while at < end:
                other = to[at]
                at += 1
                if not index[other]:
                    path.append(other)
                    descended = True
                    break
                if component[other] < 0 and index[other] < low[row]:
                    low[row] = index[other]
            position[row] = at
            if descended:
                continue
            path.pop()
            if path and low[row] < low[path[-1]]:
                low[path[-1]] = low[row]
            if low[row] == index[row]:
                while True:
                    member = open_rows.pop()
                    component[member] = found
                    if member == row:
                        break
                found += 1
    return np.array(component, np.int32)


def components_of(children: Sequence[Collection[int]]) -> Ints:
    """`strong_components` of rows given as lists."""
    owner = np.repeat(np.arange(len(children)), [len(row) for row in children])
    target = np.array([child for row in children for child in row], np.int32)
    return strong_components(pointers(owner, len(children)), target)


def first_built(
    nodes: Iterable[int],
    children: Sequence[Collection[int]],
    owner: Sequence[int],
    users: Sequence[Collection[int]],
) -> list[int]:
    """Of the given nodes, for each class the first whose child classes are there, or -1: never a cycle.

    Args:
        children, owner: of all nodes.
        users: the nodes that use each class.
    """
    missing = {node: len(children[node]) for node in nodes}
    choice = [-1] * len(users)
    ready = [node for node, count in missing.items() if not count]
    for node in ready:
        here = owner[node]
        if choice[here] >= 0:
            continue
        choice[here] = node
        for above in sorted(users[here]):
            if above in missing:
                missing[above] -= 1
                if not missing[above]:
                    ready.append(above)
    return choice


def weak_components(n: int, left: Ints, right: Ints) -> Ints:
    """The connected component of each of ``n`` items under undirected edges, numbered by smallest member."""
    parent = list(range(n))
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b
    for item in range(n):  # a parent is never larger than its item, so one pass in order is enough
        parent[item] = parent[parent[item]]
    return np.unique(np.array(parent, np.int64), return_inverse=True)[1].astype(np.int32)


def users_of(children: Sequence[Collection[int]], n: int) -> list[list[int]]:
    """The rows that use each of ``n`` targets, in order."""
    users: list[list[int]] = [[] for _ in range(n)]
    for row, below in enumerate(children):
        for child in below:
            users[child].append(row)
    return users


def _children_first(children: Sequence[Collection[int]]) -> tuple[list[int], list[int]]:
    """The rows that reach no cycle, children first, and of every row how many children are not among them."""
    users = users_of(children, len(children))
    missing = [len(row) for row in children]
    order = [row for row, count in enumerate(missing) if not count]
    for row in order:
        for user in users[row]:
            missing[user] -= 1
            if not missing[user]:
                order.append(user)
    return order, missing


def topological(children: Sequence[Collection[int]]) -> list[int] | None:
    """An order of the rows in which children come first; None if there is a cycle."""
    order, missing = _children_first(children)
    return order if len(order) == len(missing) else None


def cycle_in(children: Sequence[Collection[int]]) -> list[int]:
    """Some cycle of a graph that has one, as the rows on it in order."""
    _, missing = _children_first(children)
    row = next(row for row, count in enumerate(missing) if count)
    walk: dict[int, int] = {}
    while row not in walk:  # what is left always has a child that is left
        walk[row] = len(walk)
        row = next(child for child in children[row] if missing[child])
    return list(walk)[walk[row] :]
