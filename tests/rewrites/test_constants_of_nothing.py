"""Constants without elements: conditions that ask for the least or the greatest of these say no."""

import numpy as np
import onnx_ir as ir

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.constants import tensor_fact
from egraph_opt.operators import ConvWindow
from egraph_opt.rewrites.convolution.inputs import is_scale_below_shift
from egraph_opt.rewrites.reductions.norms import has_root

PADDED = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))


def _known(*numbers: float) -> Fact:
    return tensor_fact(ir.tensor(np.array(numbers, np.float32).reshape(1, -1, 1, 1)))


def test_a_scale_or_a_shift_of_nothing_is_not_below_the_other() -> None:
    assert is_scale_below_shift.function(_known(2.0), _known(1.0), PADDED)
    assert not is_scale_below_shift.function(_known(2.0), _known(), PADDED)
    assert not is_scale_below_shift.function(_known(), _known(1.0), PADDED)


def test_a_scale_of_nothing_has_no_root() -> None:
    assert has_root.function(_known(4.0))
    assert not has_root.function(_known())
