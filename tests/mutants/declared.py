"""One wrong thing at a time: in laws, the gate, verification and the bounds of extraction.

Each stands for a kind of mistake that a layer is there for.  `python -m tests.mutants` runs the tests that
have to notice it; that a text is found once is a test of its own, so that none goes stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

AGREEMENT = "egraph_opt/check/judging/agreement.py"
ODD_VALUES = "egraph_opt/verification/odd_values.py"
TRIALS = "egraph_opt/verification/trials.py"
STEPS = "egraph_opt/extraction/strategies/steps.py"
CUTS = "egraph_opt/extraction/programs/landmark_cuts.py"

GATE = ("tests/check",)
VERIFICATION = ("tests/verification", "tests/pipeline/test_wrong_laws.py")
EXTRACTION = ("tests/extraction",)


@dataclass(frozen=True)
class Mutant:
    """A text of a file, and what is there instead.

    Attributes:
        what: is wrong, in words.
        tests: of which one has to fail, as pytest takes them.
    """

    what: str
    file: str
    old: str
    new: str
    tests: Sequence[str]


def _law(key: str, what: str, file: str, old: str, new: str) -> Mutant:
    test = f"tests/rewrites/test_laws.py::test_a_law_passes_the_gate[{key}]"
    return Mutant(f"{key}: {what}", f"rewrites/{file}.py", old, new, (test,))


LAWS = (
    _law(
        "convolution.of_convolution",
        "what the first makes may be padded",
        "convolution/composed",
        "any(p and not whole[k % axes] for k, p in enumerate(other.pads))",
        "False",
    ),
    _law(
        "matmul.scalars_meet",
        "the second factor may be any shape",
        "linear/matmul",
        'sound = (may_combine("Mul", s, t), is_scalar(t, x, y), are',
        'sound = (may_combine("Mul", s, t), are',
    ),
    _law(
        "softmax.level_shift",
        "m may be larger than x",
        "normalization/softmax",
        "level = (is_softmax(kind), is_level(m, x, k), fits(m, x), is_no_mask(m))",
        "level = (is_softmax(kind), is_level(m, x, k), is_no_mask(m))",
    ),
    _law(
        "reduction.pair_of_reductions",
        "the outer axes count as if the inner ones were still there",
        "reductions/reduction",
        "return tuple(sorted({*inner, *(left[a] for a in outer)}))",
        "return tuple(sorted({*inner, *outer}))",
    ),
    _law(
        "reduction.pair_of_reductions",
        "means of integers are combined",
        "reductions/reduction",
        'kind not in ("ReduceSum", "ReduceL1")',
        'kind not in ("ReduceSum", "ReduceMean", "ReduceL1")',
    ),
    _law(
        "constants.difference_adds",
        "a sign",
        "arithmetic/constants",
        "yield rewrite((-x) + c, c - x, inverse=back)",
        "yield rewrite((-x) + c, x - c, inverse=back)",
    ),
    _law(
        "constants.quotient_scales",
        "a divisor may be 0",
        "arithmetic/constants",
        "return all(SMALLEST[c.dtype] <= abs(v) <= min(",
        "return all(abs(v) <= min(",
    ),
    _law(
        "reduction.reduction_is_global_pool",
        "any axes",
        "reductions/reduction",
        "sound = (are_spatial(a, x), can_be_pooled(x))",
        "sound = (can_be_pooled(x),)",
    ),
)

IN_GATE = (
    Mutant("places by a hundred", AGREEMENT, "PLACES = 16\n", "PLACES = 1600\n", GATE),
    Mutant("last places by a hundred", AGREEMENT, "FEW = 4\n", "FEW = 400\n", GATE),
    Mutant("sums by a hundred", AGREEMENT, "np.dtype(np.float32): 1e-4", "np.dtype(np.float32): 1e-2", GATE),
    Mutant("rounding by a hundred", AGREEMENT, "COMPUTED = 64\n", "COMPUTED = 6400\n", GATE),
    Mutant(
        "a zero may change its sign",
        AGREEMENT,
        "return _of(number & (np.signbit(a) != np.signbit(b)), ZEROS)",
        "return None",
        GATE,
    ),
    Mutant(
        "the bound of an approximate law by a hundred",
        AGREEMENT,
        "(share > claim.bound,",
        "(share > 100 * claim.bound,",
        ("tests/laws/test_approximate.py",),
    ),
    Mutant(
        "no special inputs",
        "egraph_opt/check/feeds/kinds.py",
        '"bitwise": ("normal", "alike", "wide", "ends", "special", "multiples",',
        '"bitwise": ("normal", "alike", "wide", "ends", "multiples",',
        GATE,
    ),
    Mutant(
        "integers are small",
        "egraph_opt/check/feeds/inputs.py",
        "whole = dict.fromkeys((*INTEGERS, int(info.min), int(info.max)))",
        "whole = dict.fromkeys((0, 1, 2))",
        GATE,
    ),
    Mutant("two terms", "egraph_opt/check/whole_law.py", "TERMS = 200\n", "TERMS = 2\n", GATE),
    Mutant(
        "steps are 1", "egraph_opt/check/tables.py", "STEPS = (1, 1, 1, 2, -1, -2, 3)", "STEPS = (1,)", GATE
    ),
    Mutant(
        "growth is no matter",
        "egraph_opt/check/whole_law.py",
        "    if grown is not None:\n",
        "    if grown is not None and not law.key:\n",
        GATE,
    ),
    Mutant(
        "no condition is dropped",
        "egraph_opt/check/whole_law.py",
        "tuple(missed(law)) if wanted else ()",
        "()",
        GATE,
    ),
)

IN_VERIFICATION = (
    Mutant(
        "tolerance by a hundred",
        "egraph_opt/verification/comparison.py",
        "np.dtype(np.float32): Tolerance(1e-4, 1e-5)",
        "np.dtype(np.float32): Tolerance(1e-2, 1e-3)",
        VERIFICATION,
    ),
    Mutant(
        "integers are 0",
        ODD_VALUES,
        "return [v for v in dict.fromkeys(found) if limits.min <= v <= limits.max]",
        "return [0]",
        VERIFICATION,
    ),
    Mutant("no special floats", TRIALS, "if not self._bitwise:\n", "if self.specs:\n", VERIFICATION),
    Mutant("no sizes", TRIALS, "if not base:\n            return\n", "return\n", VERIFICATION),
    Mutant(
        "nothing inside",
        TRIALS,
        "        if self.inside:\n            yield",
        "        if not self.specs:\n            yield",
        VERIFICATION,
    ),
    Mutant(
        "no constants of the model", TRIALS, "known = self._constants.thresholds", "known = ()", VERIFICATION
    ),
    Mutant(
        "any movement is a tolerance",
        "egraph_opt/verification/stability.py",
        "CAP = 0.02\n",
        "CAP = 2.0\n",
        VERIFICATION,
    ),
)

IN_EXTRACTION = (
    Mutant(
        "the bound of an unproved solution by 2 %",
        STEPS,
        "return Found(best, min(bound, piece.value(best)[0]))",
        "return Found(best, min(bound * 1.02, piece.value(best)[0]))",
        EXTRACTION,
    ),
    Mutant(
        "the bound of a program by 2 %",
        "egraph_opt/extraction/programs/cutting_planes.py",
        "return Found(best, piece.lower(branching.bound))",
        "return Found(best, piece.lower(branching.bound) * 1.02)",
        EXTRACTION,
    ),
    Mutant(
        "a landmark counts once more",
        CUTS,
        "bound, cuts, amounts = 0, ",
        "bound, cuts, amounts = 1, ",
        EXTRACTION,
    ),
    Mutant(
        "a landmark is taken off one of its nodes",
        CUTS,
        "needs.lower(entering, least)",
        "needs.lower(entering[:1], least)",
        EXTRACTION,
    ),
    Mutant(
        "a solver's bound is believed",
        "egraph_opt/extraction/programs/trust.py",
        "bound, left = program.dual_bound(said.multipliers)",
        "left = program.dual_bound(said.multipliers)[1]\n        bound = int(said.bound / program.unit)",
        EXTRACTION,
    ),
    Mutant(
        "a bound is rounded up",
        "egraph_opt/extraction/piece.py",
        "return max(0.0, (bound - self._rounded) * self.unit)",
        "return max(0.0, (bound + 1000 * self._rounded) * self.unit)",
        EXTRACTION,
    ),
)

MUTANTS = (*LAWS, *IN_GATE, *IN_VERIFICATION, *IN_EXTRACTION)
