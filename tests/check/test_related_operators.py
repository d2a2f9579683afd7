"""What is tried beside examples of windows, rotations, recurrent layers and settings."""

from __future__ import annotations

from egraph_opt.check.beside.numbers_by_type import with_least_bounds, with_numbers_without_inverse
from egraph_opt.check.beside.other_layers import with_other_layers
from egraph_opt.check.beside.other_rotations import with_other_rotations
from egraph_opt.check.beside.seen_from_behind import with_windows_seen_from_behind
from egraph_opt.check.beside.variants import dims_of
from egraph_opt.laws import Operands
from egraph_opt.operators import none, output, pool, slice_, unary
from egraph_opt.operators.recurrent import RecurrentLayer, recurrent
from egraph_opt.operators.rotary import rotary, settings_of
from egraph_opt.operators.terms import listed
from egraph_opt.operators.windows import PoolWindow

from .examples import example
from .test_related_changes import attributes


def test_windows_are_seen_from_behind_and_slices_follow() -> None:
    def turned(g: Operands):
        x = slice_(g.input((1, 2, 7)), ((2, 6, None, -1),))
        return slice_(pool("MaxPool", x, PoolWindow((3,), (2,), (0, 0), (1,))), ((2, 2, None, -1),))

    made = list(with_windows_seen_from_behind(example(turned)))
    found = {(w.strides, w.pads, dims_of(each.operands.values[0])[2], attributes(each, "slice_", 1)[0][0][1])
             for each in made for w in attributes(each, "pool", 2)}  # fmt: skip
    assert ((3,), (1, 1), 8, 2) in found and ((2,), (0, 0), 9, 2) in found


def test_a_part_of_a_row_is_rotated_and_angles_follow() -> None:
    whole = settings_of(0)
    row = example(lambda g: rotary(g.input((1, 2, 3, 6)), *(g.input((1, 3, 3)) for _ in "cs"), whole))
    made = {attributes(each, "rotary", 3)[0]: each for each in with_other_rotations(row)}
    assert dims_of(made[settings_of(0, 0, 4)].operands.values[1]) == (1, 3, 2)
    assert whole not in made and settings_of(1) in made


def test_an_lstm_looks_at_its_cell() -> None:
    def run(g: Operands):
        layer = RecurrentLayer("LSTM", (("direction", "forward"), ("hidden_size", 2)))
        weights = listed(g.random(1, 8, 3), g.random(1, 8, 2), none(), none())
        return output(recurrent(g.input((1, 2, 3)), weights, none(), none(), none(), layer), 0)

    *_, looking = with_other_layers(example(run))
    assert looking.operands.values[-1].const_value.numpy().shape == (1, 6)


def test_slopes_have_no_inverse_and_bounds_no_half() -> None:
    leaky = example(lambda g: unary("LeakyRelu", (("alpha", 0.1),), g.input((2,))))
    (made,) = with_numbers_without_inverse(leaky)
    assert attributes(made, "unary", 1) == [(("alpha", 1e-40),)]
    bounded = example(lambda g: unary("Clip", (("max", 6.0), ("min", None)), g.input((2,))))
    (least,) = with_least_bounds(bounded)
    assert attributes(least, "unary", 1) == [(("max", 2.0**-149), ("min", None))]
