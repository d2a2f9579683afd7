"""Numbers that a statement leaves open and its conditions do not: 1 / 2 of a half, 2 or -2 of a factor."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.proofs.paths import Path

MOST_VALUES = 2
"""A number of which there are more is none that is known."""


def settle_numbers(scene: Any) -> bool:
    """Choose each number that can be few ones; False where there is none."""
    before = len(scene.known_numbers)
    for number in scene.open_numbers:
        if str(number) in scene.known_numbers:
            continue
        values = scene.path.once(f"values of {number}", lambda n=number: _values(scene.path, n))
        if values:
            value = values[scene.path.choose(len(values))]
            scene.path.assume(number == value)
            scene.known_numbers[str(number)] = number, value
    return len(scene.known_numbers) > before


def _values(path: Path, number: z3.ArithRef) -> list[z3.ArithRef]:
    """All numbers that it can be; none where there are many, or it is not known."""
    found: list[z3.ArithRef] = []
    while len(found) <= MOST_VALUES:
        asked = [number != value for value in found]
        answer = path.trail.check(*asked)
        if answer == z3.unsat:
            return found
        if answer != z3.sat:
            return []
        value = path.solver.model().eval(number, model_completion=True)
        if not (z3.is_rational_value(value) or z3.is_int_value(value)):
            return []
        found.append(value)
    return []
