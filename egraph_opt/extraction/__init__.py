"""The cheapest acyclic choice of one node per e-class, with a bound of its distance to the optimum.

>>> import numpy as np
>>> problem = ExtractionProblem(  # class 0: node 0 uses class 1, node 1 is alone; class 1: node 2
...     node_class=np.array([0, 0, 1]), child_ptr=np.array([0, 1, 1, 1]), child=np.array([1]),
...     cost=np.array([1.0, 5.0, 2.0]), roots=np.array([0]))
>>> solution = extract(problem)
>>> solution.choice.tolist(), solution.cost, solution.proved
([0, 2], 3.0, True)
"""

from egraph_opt.extraction.alternatives import Alternative, alternatives
from egraph_opt.extraction.problem import ExtractionProblem, load_json
from egraph_opt.extraction.ranking import k_best
from egraph_opt.extraction.registry import EXTRACTORS, Extractor, extract
from egraph_opt.extraction.solution import PieceReport, Solution, check
from egraph_opt.extraction.strategies.steps import selection

__all__ = [
    "EXTRACTORS",
    "Alternative",
    "ExtractionProblem",
    "Extractor",
    "PieceReport",
    "Solution",
    "alternatives",
    "check",
    "extract",
    "k_best",
    "load_json",
    "selection",
]
