"""One instance of a statement: ranks and names are chosen, dims, attributes and elements are symbols.

What the pattern asks for is assumed; what the statement writes has to be shown to be defined.  Both are built
from the meaning of operators (`semantics`), conditions are asked of the host functions that run in e-graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import z3

from egraph_opt.proofs.dims import Symbols, formula_of_text
from egraph_opt.proofs.element_types import Types
from egraph_opt.proofs.elements import Elements
from egraph_opt.proofs.facts import Facts
from egraph_opt.proofs.folding import FoldNaming
from egraph_opt.proofs.indexing import Indexing
from egraph_opt.proofs.known_numbers import settle_numbers
from egraph_opt.proofs.names import Name, Naming
from egraph_opt.proofs.numbers import formula_of, number_of
from egraph_opt.proofs.paths import Dead, Path, Unproved
from egraph_opt.proofs.real_functions import EXP, FUNCTIONS, LOG
from egraph_opt.proofs.sums import Fold, constants
from egraph_opt.proofs.trail import Open
from egraph_opt.semantics.values import WIDE_EXP, WIDE_LOG, ElementType, Index, Value

IDEMPOTENT = frozenset("Abs Ceil Floor Relu Round Sign".split())
"""Functions of which it is the same to apply them once more, to the bit."""

MOST_PARTS = 3
"""A Split has as many, or more where a statement names them."""

Arithmetic = Literal["bitwise", "finite", "real"]


Dims = Literal["numbers", "symbols", "unknown"]


@dataclass
class Instance(Naming, FoldNaming, Indexing):
    """Where a statement is looked at along one path.

    Attributes:
        arithmetic: "real": functions are those of real numbers; "finite": what compares is, and sums and
            products are only known to have no order; "bitwise": so are all functions, but for moving numbers.
        dims: what dims of tensors are to the host: numbers, symbols, or not known.
        showing: what operators ask of their operands has to be shown, and is not assumed.
        folds: by the name of their number.
        positive: the names of sums that are above 0.
        cuts: the names of starts and lengths of slices, and the axes that they cut.
        lemmas: what is true of the functions that were written.
        notes: what the proof takes for granted.
        asks_ranks: it asked for a rank or a shape, which may be unknown.
        highest: rank of an operand.
        open_numbers: that a statement leaves open: of attributes, and of tensors that are one number.
        known_numbers: by name those that can only be one number.
        operators: those of which a meaning was looked for.
        parts: how many a Split has at most.
        bounded: tensors of indices that are within an axis, see `indexing`.
        asks_dims: a host function was handed dims, so that numbers and symbols may be different to it.
    """

    path: Path
    arithmetic: Arithmetic = "real"
    dims: Dims = "numbers"
    most_axes: int = 3
    showing: bool = False
    folds: dict[str, Fold] = field(default_factory=dict)
    lemmas: list[z3.BoolRef] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)
    shares: list[tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef]] = field(default_factory=list)
    positive: set[str] = field(default_factory=set)
    symbols: Symbols = field(init=False)
    places: dict[Any, tuple[Any, list[z3.ArithRef]]] = field(default_factory=dict)
    cuts: dict[tuple[int, int], tuple[Any, tuple[z3.ArithRef, z3.ArithRef], z3.ArithRef]] = field(
        default_factory=dict
    )
    open_numbers: list[z3.ArithRef] = field(default_factory=list)
    known_numbers: dict[str, tuple[z3.ArithRef, z3.ArithRef]] = field(default_factory=dict)
    operators: set[str] = field(default_factory=set)
    asks_dims: bool = False
    asks_ranks: bool = False
    highest: int = 0
    parts: int = MOST_PARTS
    bounded: list[tuple[Value, int | None, z3.ArithRef]] = field(default_factory=list)
    types: Types = field(init=False)
    facts: Facts = field(init=False)
    remembering: list[Any] = field(default_factory=list)
    _names: list[Name] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.path.is_real = self.reals
        self.types, self.symbols, self.facts = Types(self.path), Symbols(self), Facts(self)
        self.remembering += (self, self.types, self.symbols, self.facts)

    @property
    def reals(self) -> bool:
        return self.arithmetic == "real"

    @property
    def compares(self) -> bool:
        """Whether what compares numbers is known, which NaN and the two zeros are no numbers for."""
        return self.arithmetic != "bitwise"

    # --- what operators ask for ---------------------------------------------------------------------------

    def must(self, condition: z3.BoolRef | bool) -> None:
        if not self.showing:
            self.path.assume(condition)
        elif not self.path.follows(condition) and not self._follows_of_cuts(condition):
            raise Unproved(f"that {condition}, which the right side needs")

    def _follows_of_cuts(self, condition: z3.BoolRef | bool) -> bool:
        """Whether a condition follows from what the names of starts and lengths mean."""
        if not self.cuts or isinstance(condition, bool):
            return False
        return self.path.follows(z3.Implies(z3.And(self.lemmas), condition))

    def decide(self, condition: z3.BoolRef | bool) -> bool:
        return self.path.decide(condition)

    def choose(self, count: int) -> int:
        return self.path.choose(count)

    def same(self, a: z3.ArithRef, b: z3.ArithRef) -> bool:
        return z3.eq(a, b) or self.path.follows(a == b, 200)

    def within(self, n: z3.ArithRef, low: z3.ArithRef, high: z3.ArithRef) -> bool:
        return self.path.follows(z3.And(low <= n, n < high), 200)

    def whole(self, name: str) -> z3.ArithRef:
        return self.path.fresh(name)

    def plain(self, formula: z3.ArithRef) -> Any:
        return number_of(formula, self.path)

    def share(self, n: z3.ArithRef, parts: z3.ArithRef, least: int = 1) -> z3.ArithRef:
        """n / parts, which has to be whole and no less than this; the parts are 1 or more."""
        for a, b, quotient in self.shares:
            if self.same(a, n) and self.same(b, parts):
                self.must(quotient >= least)
                return quotient
        quotient = n / parts if self.showing else self.path.fresh("share")
        self.must(z3.And(n == quotient * parts, quotient >= least, parts >= 1))
        self.shares.append((n, parts, quotient))
        return quotient

    def cut(
        self,
        first: z3.ArithRef,
        count: z3.ArithRef,
        by: z3.ArithRef,
        dim: z3.ArithRef,
        *,
        asked: Sequence[z3.ArithRef | None] = (),
    ) -> tuple[z3.ArithRef, z3.ArithRef]:
        """Names for where a cut starts and how much it takes, of which the path knows what is inside.

        Args:
            asked: the bounds as they are written: along axes of one length they cut out the same.
        """
        if z3.is_int_value(count) and z3.is_int_value(first):
            return first, count
        key = first.get_id(), count.get_id()
        if key not in self.cuts:
            names = self.whole("first"), self.whole("count")
            self.lemmas += [names[0] == first, names[1] == count]
            last = names[0] + (names[1] - 1) * by
            way = z3.If(by > 0, last - names[0], names[0] - last)
            # A step of 2 and more takes every second element at most: that is no product to the solver.
            steps = z3.And(names[1] - 1 <= way, z3.Implies(z3.Or(by > 1, by < -1), 2 * names[1] - 2 <= way))
            inside = z3.And(names[0] >= 0, names[0] < dim, last >= 0, last < dim, steps)
            self.path.assume(z3.And(names[1] >= 0, z3.Implies(names[1] > 0, inside)), possible=True)
            written = tuple(None if each is None else z3.simplify(each) for each in (*asked, by))
            for (_, _, *before), others, length in self.cuts.values():
                if asked and _is_one(before, written):
                    one = z3.And([a == b for a, b in zip(names, others, strict=True)])
                    self.path.assume(z3.Implies(dim == length, one), possible=True)
            self.cuts[key] = (first, count, *written), names, dim
        return self.cuts[key][1]

    def counted(self, n: z3.ArithRef) -> int:
        """How many dims a computed shape has: as many as an attribute may have."""
        self.must(n <= self.most_axes)
        for count in range(self.most_axes + 1):
            if self.decide(n == count):
                self.notes.add(f"computed shapes have at most {self.most_axes} dims")
                return count
        raise Dead

    def dim(self) -> Any:
        """A dim that an attribute leaves open: host functions are handed what `dim_of` makes of it."""
        return self._new_dim()

    def _new_dim(self) -> z3.ArithRef:
        symbols = self.dims == "symbols"
        name = f"{'s' if symbols else 'd.'}{self.path.number()}"
        if symbols:
            self.symbols.names.add(name)
        self.path.assume(z3.Int(name) >= 0, possible=True)
        return z3.Int(name)

    def dim_of(self, formula: z3.ArithRef) -> Any:
        """A dim as host functions get it."""
        if z3.is_int_value(formula):
            return formula.as_long()
        self.asks_dims = True
        if self.dims != "symbols":
            return self.plain(formula)
        return self.symbols.text(formula)

    def dims_of(self, dims: Index) -> tuple[Any, ...]:
        return tuple(map(self.dim_of, dims))

    def rank_of(self, dims: Index) -> int | None:
        """What host functions get for a rank."""
        self.asks_ranks = True
        return None if self.dims == "unknown" else len(dims)

    def shape_of(self, dims: Index) -> tuple[Any, ...] | None:
        """What host functions get for a shape."""
        self.asks_ranks = True
        return None if self.dims == "unknown" else self.dims_of(dims)

    def real(self, name: str) -> Any:
        made = self.path.fresh_real(name)
        self.open_numbers.append(made)
        return number_of(made, self.path)

    def formula(self, value: Any) -> z3.ArithRef:
        if isinstance(value, str):
            return formula_of_text(value)
        found = formula_of(value)
        if found is None:
            raise Open(f"{value!r} is no number that a proof computes with")
        return found

    def real_formula(self, value: Any) -> z3.ArithRef:
        found = self.formula(value)
        return self.valued(z3.simplify(z3.ToReal(found)) if found.is_int() else found)

    def valued(self, formula: z3.ArithRef) -> z3.ArithRef:
        """A formula with what is known of numbers by now."""
        if not self.known_numbers:
            return formula
        return z3.simplify(z3.substitute(formula, *self.known_numbers.values()))

    def function(self, name: str, *arguments: z3.ArithRef) -> z3.ArithRef:
        """A function of which nothing is known, but of the reciprocal of a number."""
        given = z3.simplify(arguments[0])
        if self.reals and len(arguments) == 1 and z3.is_app_of(given, z3.Z3_OP_ITE):
            condition, a, b = given.children()
            return z3.If(condition, self.function(name, a), self.function(name, b))
        if name == "unary Reciprocal ()" and z3.is_rational_value(given) and given.as_fraction() != 0:
            return z3.simplify(1 / given)
        if name == "unary Sqrt ()" and z3.is_rational_value(given) and given.as_fraction() in (0, 1):
            return given
        if self.reals and name in FUNCTIONS:
            return FUNCTIONS[name](self, self._plain, given)
        name = {WIDE_EXP: EXP, WIDE_LOG: LOG}.get(name, name)
        if name == EXP and self.reals and z3.is_rational_value(given) and given.as_fraction() == 0:
            return z3.RealVal(1)
        made = self._plain(name, *arguments)
        if name.removeprefix("unary ").removesuffix(" ()") in IDEMPOTENT:
            self.lemmas.append(self._plain(name, made) == made)
        if self.reals and name == EXP:
            self.lemmas.append(made > 0)
        return made

    def _plain(self, name: str, *arguments: z3.ArithRef) -> z3.ArithRef:
        return z3.Function(name, *[z3.RealSort()] * (len(arguments) + 1))(*arguments)

    def add(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        if self.reals:
            return a + b
        made = self.without_order("+", a, b)
        if self.compares:
            for x, y in ((a, b), (b, a)):
                self.lemmas.append(z3.And(z3.Implies(x == 0, made == y), z3.Implies(x == -y, made == 0)))
        return made

    def multiply(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        if self.reals:
            return a * b
        made = self.without_order("*", a, b)
        for x, y in ((a, b), (b, a)):
            one = z3.Implies(x == 1, made == y)
            self.lemmas.append(z3.And(one, z3.Implies(x == -1, made == self.negated(y))))
            if self.compares:
                self.lemmas.append(z3.Implies(x == 0, made == 0))
        return made

    def known(self, *facts: z3.BoolRef) -> None:
        """What is true of functions of which nothing else is known."""
        self.lemmas += facts

    def negated(self, a: z3.ArithRef) -> z3.ArithRef:
        """-a, of which there are two zeros: of numbers that a model names none is -0.0."""
        if self.compares or (z3.is_rational_value(a) and a.as_fraction() != 0):
            return -a
        made = self.function("unary Neg ()", a)
        self.lemmas.append(self.function("unary Neg ()", made) == a)
        if any(name.startswith("splat.") for name in constants(a)) and z3.is_const(a):
            self.lemmas.append(z3.Implies(a != 0, made == -a))
        return made

    def without_order(self, name: str, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        made = self.function(name, a, b)
        self.lemmas.append(made == self.function(name, b, a))
        return made

    # --- names and settings -------------------------------------------------------------------------------

    def split(self) -> bool:
        """Choose what was left open so far: names, and which conditions hold; False where that is nothing."""
        names = [name for name in self._names if name.chosen is None]
        for name in names:
            name.spelled()
        return any((self.path.split(), bool(names), settle_numbers(self)))

    # --- tensors ------------------------------------------------------------------------------------------

    def leaf(self, name: str, rank: int) -> Value:
        """Any tensor of a rank; all its elements may be one number."""
        made = self.path.number()
        dims = tuple(self._new_dim() for _ in range(rank))
        self.highest = max(self.highest, rank)
        self.symbols.places |= {str(dim): (made, axis - rank) for axis, dim in enumerate(dims)}
        function = z3.Function(f"{name}.{made}", *[z3.IntSort()] * rank, z3.RealSort())

        known = ElementType(lambda: ("leaf", made), lambda: self.types.settled(known))
        elements = self._remembering(Elements(self, known, dims, function))
        return Value(known, dims, elements.at, elements.splat, elements.listed, known=elements)

    def alike(self, a: ElementType, b: ElementType) -> None:
        self.types.alike(a, b, self.showing)

    def among(self, dtype: ElementType, types: Sequence[int]) -> None:
        self.types.among(dtype, types, self.showing)

    def is_whole(self, dtype: ElementType) -> bool:
        return self.types.is_whole(dtype)

    def is_in(self, dtype: ElementType, types: Collection[int]) -> bool:
        return self.types.is_in(dtype, types)

    def is_surely_in(self, dtype: ElementType, types: Collection[int]) -> bool:
        return self.types.is_surely_in(dtype, types)

    def retyped(self, token: Any, known: ElementType) -> None:
        self.types.retyped(token, known)

    def root(self, dtype: ElementType) -> Any:
        return self.types.root(dtype)


def _is_one(left: Sequence[z3.ArithRef | None], right: Sequence[z3.ArithRef | None]) -> bool:
    """Whether formulas are written alike."""
    pairs = zip(left, right, strict=True)
    return len(left) == len(right) and all(
        a is b or (a is not None and b is not None and z3.eq(a, b)) for a, b in pairs
    )
