"""Small graphs whose e-graphs are large, looked for uphill.

A graph is a list of genes: each is a motif (or an example of a law) and the seed that it is drawn with.  From the
best of a few random graphs on, genes are dropped, repeated, added and drawn anew; what has more e-nodes for each
node is gone on from.  `python -m tests.fuzzing --growth` keeps the top of each hill that is higher than `MOST`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import onnx

from egraph_opt import EgraphOptError, saturate

from .classes import Finding
from .drawing import Drawing
from .examining import Examined
from .models import MOTIFS, SHAPES, model_of, tried
from .planting import planted
from .settings import Setting

MOST = 40.0
"""E-nodes for each node beyond which the growth of a graph is a finding."""

FEW_NODES = 4
"""A smaller graph counts as one of so many nodes: what a single node is said to be is no growth."""

COSTS = ("nodes", "ascend")
OPSETS = (11, 13, 17, 18, 21)
MOST_GENES = 8
TRIES = 10
"""Random graphs of which a climb begins with the best."""

PATIENCE = 25
"""Changes in a row that do not lead uphill, after which a climb ends."""

LIMITS = {"nodes": 3000, "seconds": 10}
SEEDS = 2**31

Gene = tuple[int, int]
"""The number of a motif, and a seed."""


@dataclass(frozen=True)
class Genome:
    """A graph that can be drawn again, and a cost model.

    Attributes:
        seed: of the inputs.
    """

    opset: int
    seed: int
    genes: tuple[Gene, ...]
    cost: str

    def model(self) -> onnx.ModelProto | None:
        """The graph; None where nothing valid is drawn."""
        rng = np.random.default_rng(self.seed)
        drawing = Drawing(rng, self.opset)
        for _ in range(drawing.integer(1, 2)):
            drawing.input(drawing.one_of(SHAPES))
        for number, seed in self.genes:
            drawing.rng = np.random.default_rng(seed)
            tried(drawing, _MOTIFS[number])
        drawing.rng = np.random.default_rng(self.seed)
        return model_of(drawing)


_MOTIFS = (*MOTIFS, planted)
_WEIGHTS = np.array([*MOTIFS.values(), sum(MOTIFS.values()) / 2])


@dataclass(frozen=True)
class Height:
    """How far a graph grows.

    Attributes:
        score: e-nodes for each node.
        stop: why saturation ended.
    """

    score: float
    nodes: int
    e_nodes: int
    stop: str = ""


NOTHING = Height(0.0, 0, 0)


def height(model: onnx.ModelProto | None, cost: str) -> Height:
    """E-nodes for each node of a graph and its bodies."""
    if model is None:
        return NOTHING
    try:
        saturated = saturate(model, target=cost, limits=LIMITS)
    except EgraphOptError:  # a finding of the fuzzer, not of this search
        return NOTHING
    parts = saturated.region.walk() if saturated.region is not None else ()
    found = sum(part.snapshot.n_nodes for part in parts)
    nodes = saturated.counts.file
    stop = "" if saturated.region is None else saturated.region.saturation.stop
    return Height(found / max(nodes, FEW_NODES), nodes, found, stop)


def random_genome(rng: np.random.Generator) -> Genome:
    genes = tuple(_gene(rng) for _ in range(int(rng.integers(2, 6))))
    return Genome(int(rng.choice(OPSETS)), int(rng.integers(SEEDS)), genes, str(rng.choice(COSTS)))


def _gene(rng: np.random.Generator) -> Gene:
    return int(rng.choice(len(_MOTIFS), p=_WEIGHTS / _WEIGHTS.sum())), int(rng.integers(SEEDS))


def changed(genome: Genome, rng: np.random.Generator) -> Genome:
    """A gene less, one more, one twice, one with another seed or another place; sometimes other inputs."""
    genes = list(genome.genes)
    place, kind = int(rng.integers(len(genes))), rng.random()
    if kind < 0.1:
        return replace(genome, seed=int(rng.integers(SEEDS)))
    if kind < 0.3 and len(genes) > 1:
        del genes[place]
    elif kind < 0.55 and len(genes) < MOST_GENES:
        genes.insert(int(rng.integers(len(genes) + 1)), _gene(rng))
    elif kind < 0.75 and len(genes) < MOST_GENES:
        genes.insert(int(rng.integers(len(genes) + 1)), genes[place])
    elif kind < 0.9:
        genes[place] = (genes[place][0], int(rng.integers(SEEDS)))
    else:
        genes.append(genes.pop(place))
    return replace(genome, genes=tuple(genes))


def climb(rng: np.random.Generator, end: float) -> tuple[Genome, Height]:
    """The top of one hill, or what has no end, or how far it was until the time was over."""
    begun = [(g, height(g.model(), g.cost)) for g in (random_genome(rng) for _ in range(TRIES))]
    best, top = max(begun, key=lambda found: found[1].score)
    left = PATIENCE
    while left and top.stop in ("", "saturated") and time.monotonic() < end:
        other = changed(best, rng)
        found = height(other.model(), other.cost)
        left -= 1
        if found.score > top.score or (found.score == top.score and len(other.genes) < len(best.genes)):
            best, top, left = other, found, PATIENCE
    return best, top


def climbs(seed: int, seconds: float) -> Iterator[tuple[int, Examined]]:
    """Hill after hill until the time is over; what is higher than `MOST` is a finding."""
    end = time.monotonic() + seconds
    for number in range(10**6):
        if time.monotonic() > end:
            return
        genome, top = climb(np.random.default_rng([seed, number, 3]), end)
        examined = Examined()
        examined.cases["climbed"] += 1
        model = genome.model()
        if top.score > MOST and model is not None:
            examined.findings.append(
                Finding("growth", f"{top.nodes} nodes became {top.e_nodes} e-nodes, {top.score:.0f} each")
            )
            examined.case = (model.SerializeToString(), Setting(cost=genome.cost), 0, False)
        yield number, examined
