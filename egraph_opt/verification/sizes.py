"""Numbers for the symbolic dimensions of a model's inputs.

What sizes a model accepts is found by trying: exporters leave demands such as "a multiple of 32" or "48 rows"
undeclared.  The candidates, their order and their number are fixed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence

from egraph_opt.facts.assumption import Assumptions
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.verification.interface import ValueSpec

Sizes = dict[str, int]
Ranges = Assumptions

SCALES = (32, 16, 8, 64, 48, 7, 5, 4, 3, 2, 1, 128, 96, 224, 256, 320, 512, 576, 640, 1024, 2048, 4096, 16000)
"""Sizes to try first for all dims but the leading ones, the likeliest first."""
ALTERNATIVES = (7, 48, 64, 96, 33, 16, 128, 40, 512, 256, 1, 2, 3)
"""Sizes to try for a dim that ran with one size already: an odd one first, which finds most mistakes."""
BATCHES = (2, 1)
OTHER_BATCHES = (1, 3, 2, 4)
ANONYMOUS = frozenset({"", "?", "-1", "None", "none", "unk", "unknown"})
"""Names that exporters give to several dims at once though they may differ."""
MAX_ELEMENTS = 2**22
"""Assignments that make an input larger than this are left out."""
ENLARGEMENTS = (64, 16, 4)
MAX_ENLARGED = 2**18
MAX_CANDIDATES = 160
MAX_ALONE = 4


def dim_name(spec: ValueSpec, axis: int) -> str | None:
    """The symbol of one dim: its name, or ``<input>.<axis>`` if it has none; None if it is a number."""
    assert spec.shape is not None
    dim = spec.shape[axis]
    if isinstance(dim, int):
        return None
    return f"{spec.name}.{axis}" if dim is None or dim.strip() in ANONYMOUS else dim


def symbols(specs: Sequence[ValueSpec]) -> dict[str, bool]:
    """Every symbol of these inputs in order of appearance; True for those that lead some input."""
    found: dict[str, bool] = {}
    for spec in specs:
        for axis in range(len(spec.shape or ())):
            name = dim_name(spec, axis)
            if name is not None:
                found[name] = found.get(name, False) or axis == 0
    return found


def shape_of(spec: ValueSpec, sizes: Mapping[str, int], rank: int = 1) -> tuple[int, ...]:
    """The shape of one input under an assignment; an input of open rank gets `rank` dims of 2, 3, 4, ...

    Raises:
        KeyError: a symbol that the assignment lacks.
    """
    if spec.shape is None:
        return tuple(range(2, 2 + rank))
    dims = []
    for axis, dim in enumerate(spec.shape):
        name = dim_name(spec, axis)
        dims.append(sizes[name] if name is not None else int(dim))  # type: ignore[arg-type]
    return tuple(dims)


def candidates(specs: Sequence[ValueSpec], bounds: Ranges | None = None) -> Iterator[Sizes]:
    """Assignments to try until the model runs: different sizes for different symbols first, then equal ones.

    Args:
        specs: the inputs.
        bounds: what the user said about symbols; sizes stay within.
    """
    leads = symbols(specs)
    if not leads:
        yield {}
        return
    seen: set[tuple[int, ...]] = set()
    for scale in SCALES:
        for sizes in _patterns(leads, scale):
            for with_expressions in (True, False):
                chosen = _bounded(_derive(sizes) if with_expressions else sizes, bounds)
                key = tuple(chosen.values())
                if key in seen or not _affordable(specs, chosen):
                    continue
                seen.add(key)
                yield chosen
                if len(seen) >= MAX_CANDIDATES:
                    return


def variations(
    specs: Sequence[ValueSpec], base: Sizes, runs: Callable[[Sizes], bool], bounds: Ranges | None = None
) -> Sizes | None:
    """A second assignment that runs and differs from `base` in as many symbols as can be; None if none does.

    All symbols are changed at once first; where that does not run, one after the other.
    """
    leads = symbols(specs)

    def attempt(sizes: Sizes) -> Sizes | None:
        for chosen in (_bounded(_derive(sizes), bounds), _bounded(sizes, bounds)):
            if chosen != base and _affordable(specs, chosen) and runs(chosen):
                return chosen
        return None

    for scale in ALTERNATIVES[:6]:
        for batch in OTHER_BATCHES[:2]:
            for distinct in (True, False):
                sizes = _fill(leads, scale, batch, distinct)
                if all(sizes[name] != base[name] for name in leads):
                    found = attempt(sizes)
                    if found is not None and all(found[name] != base[name] for name in leads):
                        return found
    for other in (None, *OTHER_BATCHES[:2]):
        # Dims that have to be multiples of something, or of each other, grow together.
        sizes = {n: (other or base[n]) if leading else 2 * base[n] for n, leading in leads.items()}
        found = attempt(sizes) if set(leads.values()) != {True} else None
        if found is not None:
            return _each(found, leads, attempt, base)
    return _each(base, leads, attempt, base)


def around(
    specs: Sequence[ValueSpec], base: Sizes, wanted: Sequence[int], bounds: Ranges | None, most: int
) -> list[Sizes]:
    """Assignments that give one symbol after the other, or all but the leading ones, the sizes wanted."""
    leads = symbols(specs)
    groups = [[name] for name in leads]
    inner = [name for name, leading in leads.items() if not leading]
    if len(inner) > 1:
        groups.insert(0, inner)
    found: list[Sizes] = []
    for size in wanted:
        for group in groups:
            chosen = _bounded(_derive({**base, **dict.fromkeys(group, size)}), bounds)
            if chosen != base and chosen not in found and _affordable(specs, chosen):
                found.append(chosen)
                if len(found) >= most:
                    return found
    return found


def _each(
    base: Sizes, leads: Mapping[str, bool], attempt: Callable[[Sizes], Sizes | None], first: Sizes
) -> Sizes | None:
    """Changes one symbol after the other, as long as the model runs; None if it is still `first`."""
    current = dict(base)
    for name, leading in leads.items():
        if current[name] != first[name]:
            continue
        # A leading dim is not always a batch (samples of audio, tokens), so larger sizes are tried too.
        multiples = (2 * base[name], 3 * base[name])
        batches = (*OTHER_BATCHES, *multiples, *ALTERNATIVES[:4])
        for size in batches if leading else (*multiples, *ALTERNATIVES):
            found = attempt({**current, name: size}) if size != base[name] else None
            if found is not None:
                current = found
                break
    return current if current != first else None


def enlarged(specs: Sequence[ValueSpec], sizes: Sizes) -> Sizes:
    """The same assignment with all dims but the leading ones larger, as long as the inputs stay small."""
    leads = symbols(specs)
    # The cost of attention grows with the square of the length: tokens are not multiplied as samples are.
    tokens = any(spec.dtype not in ALL_FLOATS for spec in specs if spec.shape is None or spec.shape)
    for factor in ENLARGEMENTS[-1:] if tokens else ENLARGEMENTS:
        larger = {name: size if leads.get(name, True) else factor * size for name, size in sizes.items()}
        if _affordable(specs, larger, MAX_ENLARGED):
            return larger
    return sizes


def _patterns(leads: Mapping[str, bool], scale: int) -> Iterator[Sizes]:
    for batch in BATCHES:
        yield _fill(leads, scale, batch, True)
        yield _fill(leads, scale, batch, False)
    yield _fill(leads, scale, scale, False)
    # A batch need not lead: a recurrent state is [layers, batch, hidden].
    others = [name for name, leading in leads.items() if not leading]
    if 1 < len(others) <= MAX_ALONE:
        for name in others:
            yield {**dict.fromkeys(leads, BATCHES[0]), name: scale}


def _fill(leads: Mapping[str, bool], scale: int, batch: int, distinct: bool) -> Sizes:
    sizes: Sizes = {}
    counts = {True: 0, False: 0}
    for name, leading in leads.items():
        k = counts[leading] if distinct else 0
        counts[leading] += 1
        sizes[name] = batch + k if leading else scale * (1 + k % 3)
    return sizes


def _bounded(sizes: Sizes, bounds: Ranges | None) -> Sizes:
    if not bounds:
        return sizes
    return {name: bounds[name].nearest(size) if name in bounds else size for name, size in sizes.items()}


def _affordable(specs: Sequence[ValueSpec], sizes: Sizes, limit: int = MAX_ELEMENTS) -> bool:
    for spec in specs:
        count = 1
        dynamic = False
        for axis, dim in enumerate(spec.shape or ()):
            name = dim_name(spec, axis)
            dynamic = dynamic or name is not None
            count *= int(dim) if name is None else sizes[name]  # type: ignore[arg-type]
        if dynamic and count > limit:
            return False
    return True


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.floordiv,
}
_MAX_EXPRESSION = 200


def _derive(sizes: Sizes) -> Sizes:
    """Symbols whose name is arithmetic on other symbols (``past + 1``) get the number it gives."""
    derived = dict(sizes)
    for name in sizes:
        value = _evaluate(name, sizes)
        if value is not None and value >= 0:
            derived[name] = value
    return derived


def _evaluate(text: str, sizes: Mapping[str, int]) -> int | None:
    """The value of an arithmetic expression on at least one *other* known symbol, else None."""
    if text.isidentifier() or len(text) > _MAX_EXPRESSION:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    stack: list[int] = []
    named = False
    # Postfix order without recursion: a node is met a second time once its operands are on the stack.
    todo: list[tuple[ast.AST, bool]] = [(tree, False)]
    while todo:
        node, ready = todo.pop()
        if isinstance(node, ast.Name) and node.id in sizes:
            stack.append(sizes[node.id])
            named = True
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            stack.append(node.value)
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            if not ready:
                todo += [(node, True), (node.right, False), (node.left, False)]
                continue
            right, left = stack.pop(), stack.pop()
            if isinstance(node.op, ast.FloorDiv | ast.Div) and right == 0:
                return None
            stack.append(_OPERATORS[type(node.op)](left, right))
        else:
            return None
    return stack[0] if named else None


def sizes_text(sizes: Sizes) -> str:
    """An assignment of symbolic dims for people."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def fits(spec: ValueSpec, shape: tuple[int, ...], sizes: Sizes) -> bool:
    """Whether a value of this shape is as declared, under an assignment of symbolic dims."""
    if spec.shape is None or len(spec.shape) != len(shape):
        return spec.shape is None
    for axis, (declared, real) in enumerate(zip(spec.shape, shape, strict=True)):
        name = dim_name(spec, axis)
        known = declared if name is None else sizes.get(name, real)
        if known != real:
            return False
    return True
