"""For authors of laws: check a law, draw examples, prove terms equal, optimise models and compare them.

check_law(law)                  everything that the tests of laws check
check_example(law, example)     one example of it
proves(operands, a, b)          two terms become one class
finds(operands, a, b)           b is built from a alone
assert_sound(model)             optimise, compare outputs, optimise again, see nothing change
equal_graphs(a, b)              two models are the same but for names
"""

from egraph_opt.testing.finding import finds
from egraph_opt.testing.harness import check_example
from egraph_opt.testing.models import assert_sound, equal_graphs
from egraph_opt.testing.proving import prove, proves
from egraph_opt.testing.whole_law import LawReport, check_law

__all__ = [
    "LawReport",
    "assert_sound",
    "check_example",
    "check_law",
    "equal_graphs",
    "finds",
    "prove",
    "proves",
]
