"""A graph saturated by some laws, then by others, each time from the start: it is loaded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.readout import take_snapshot
from egraph_opt.egraph.saturation import run_rounds, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.egraph.watchdog import watched
from egraph_opt.laws.law import Law
from egraph_opt.operators.host import calls


class Attempts:
    """Attempts at one graph after another, in an engine of their own.

    Args:
        laws: all that any attempt may ask for.
        target_limits, nodes, rounds, seconds: of an attempt, as in `saturate_terms`.
    """

    def __init__(
        self,
        laws: tuple[Law, ...],
        target_limits: Mapping[str, int],
        *,
        nodes: int,
        rounds: int,
        seconds: float,
    ) -> None:
        self._laws, self._target_limits = laws, target_limits
        self._nodes, self._rounds, self._seconds = nodes, rounds, seconds
        self._engine = Engine(laws)
        self._graph: Lowered | None = None

    def saturated(
        self, graph: Lowered, active: Callable[[str], bool], wanted: Callable[[str], bool] | None = None
    ) -> Snapshot | None:
        """A graph saturated by some rules; None where laws are wanted of which none has matched.

        Args:
            active: whether a rule runs, as in `saturate_terms`.
            wanted: whether a law is wanted, by its key.

        Raises:
            UnsoundLawError: types clash, as in `saturate_terms`.
        """
        engine = self._loaded(graph)
        if wanted is not None and not engine.can_match(active):
            return None
        with engine.aside(), watched():
            calls.forget()
            report = run_rounds(engine, active, nodes=self._nodes, rounds=self._rounds, seconds=self._seconds)
            if wanted is not None and not any(map(wanted, report.matches)):
                return None
            snapshot = take_snapshot(engine, graph)
        if calls.failures or snapshot.clashes():  # find the laws, and go on without them
            snapshot, _ = saturate_terms(
                *(graph, self._laws, self._target_limits),
                nodes=self._nodes,
                rounds=self._rounds,
                seconds=self._seconds,
                active=active,
            )
        return snapshot

    def _loaded(self, graph: Lowered) -> Engine:
        """The engine with a graph in it."""
        if self._graph is not graph or self._engine.is_to_be_loaded_again:
            self._engine.load(graph, self._target_limits)
            self._graph = graph
        return self._engine
