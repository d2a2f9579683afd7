"""A solver that lies: the real one, whose statements are changed before anybody hears them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from egraph_opt.extraction.programs import solver
from egraph_opt.extraction.programs.linear import LinearProgram
from egraph_opt.extraction.programs.solver import Effort, ProgramSolver
from egraph_opt.extraction.programs.trust import Statement
from egraph_opt.extraction.structure import Floats


class Asked:
    """A session as it is when it is asked: what a lie can be made of."""

    def __init__(self, session: ProgramSolver) -> None:
        self.session = session
        self.program: LinearProgram = session.program
        self.first: Floats = session.first if session.first is not None else np.zeros(len(self.program.cost))

    def cost(self, values: Floats) -> float:
        """What the values cost, as a solver counts."""
        return float(self.program.cost @ values) / self.program.scale

    def another(self, said: Statement) -> Floats:
        """What the same rows allow where other costs are asked for."""
        program = self.program
        honest, program.cost = program.cost, np.ones(len(program.cost)) - program.cost / program.scale
        try:
            other = ProgramSolver(program, Effort(), integers=self.session.integers)
            found = TRUTH(other).values
        finally:
            program.cost = honest
        return found if len(found) else said.values


Lie = Callable[[Asked, Statement], Statement]

TRUTH = ProgramSolver.run


def _solution(asked: Asked, said: Statement, values: Floats) -> Statement:
    """Some values as the optimum, with their own cost, so that nothing contradicts it."""
    cost = asked.cost(values)
    return said._replace(optimal=True, values=values, objective=cost, bound=cost)


def _raise(asked: Asked, said: Statement) -> Statement:
    raise RuntimeError("the library fails")


def _flipped(values: Floats) -> Floats:
    return np.where(np.arange(len(values)) % 3 == 0, 1.0 - values, values)


LIES: dict[str, Lie] = {
    "the truth": lambda asked, said: said,
    "the start": lambda asked, said: said._replace(values=asked.first, optimal=True),
    "the start as the optimum": lambda asked, said: _solution(asked, said, asked.first),
    "another feasible choice": lambda asked, said: said._replace(values=asked.another(said)),
    "another as the optimum": lambda asked, said: _solution(asked, said, asked.another(said)),
    "an infeasible choice": lambda asked, said: said._replace(values=_flipped(said.values)),
    "nothing chosen": lambda asked, said: _solution(asked, said, np.zeros(len(asked.program.cost))),
    "a bound that is too high": lambda asked, said: said._replace(bound=said.bound * 1.5 + 1.0),
    "all costs too high": lambda asked, said: said._replace(
        bound=said.bound * 1.2 + 1.0, objective=said.objective * 1.2 + 1.0
    ),
    "a bound of infinity": lambda asked, said: said._replace(bound=np.inf),
    "a bound of minus infinity": lambda asked, said: said._replace(bound=-np.inf),
    "a bound that is no number": lambda asked, said: said._replace(bound=np.nan, objective=np.nan),
    "optimal, whatever it found": lambda asked, said: said._replace(optimal=True),
    "no solution": lambda asked, said: said._replace(optimal=False, infeasible=True),
    "not optimal": lambda asked, said: said._replace(optimal=False),
    "values of 0.4999": lambda asked, said: said._replace(values=np.where(said.values > 0.5, 0.4999, 0.0)),
    "values a little off": lambda asked, said: said._replace(values=said.values * 0.999),
    "values that are no numbers": lambda asked, said: said._replace(values=said.values * np.nan),
    "too few values": lambda asked, said: said._replace(values=said.values[:-1]),
    "nothing": lambda asked, said: said._replace(values=np.zeros(0), multipliers=np.zeros(0)),
    "an exception": _raise,
    "multipliers times two": lambda asked, said: said._replace(multipliers=said.multipliers * 2.0),
    "multipliers with other signs": lambda asked, said: said._replace(multipliers=-said.multipliers),
    "large multipliers": lambda asked, said: said._replace(multipliers=said.multipliers + 1e30),
    "multipliers that are no numbers": lambda asked, said: said._replace(
        multipliers=said.multipliers * np.nan
    ),
    "too few multipliers": lambda asked, said: said._replace(multipliers=said.multipliers[:-1]),
}
"""What is said instead, by name."""


def lie(patch: pytest.MonkeyPatch, name: str) -> None:
    """From now on all sessions say that."""
    patch.setattr(solver.ProgramSolver, "run", lambda session: LIES[name](Asked(session), TRUTH(session)))
