"""The gate for laws, and what authors of laws ask: is it right, does it end, what follows from it.

check_law(law)                  what a law has to pass: raises LawRefusedError, or returns a LawReport
check_example(law, example)     what one example of its author says of it
proves(operands, a, b)          two terms become one class
finds(operands, a, b)           b is built from a alone
assert_sound(model)             optimise, compare outputs, optimise again, see nothing change
equal_graphs(a, b)              two models are the same but for names
"""

from egraph_opt.check.finding import finds
from egraph_opt.check.models import assert_sound, equal_graphs
from egraph_opt.check.proving import prove, proves
from egraph_opt.check.refusal import LawRefusedError
from egraph_opt.check.whole_law import LawReport, check_example, check_law

__all__ = [
    "LawRefusedError",
    "LawReport",
    "assert_sound",
    "check_example",
    "check_law",
    "equal_graphs",
    "finds",
    "prove",
    "proves",
]
