"""Stress graphs saturate by themselves, with few e-nodes a node, and those grow linearly with the depth."""

from __future__ import annotations

from functools import cache

import pytest
from stress import COSTS, GRAPHS, e_nodes, runtime_nodes

from egraph_opt import Saturated, saturate

SHALLOW = {"ascend": 3, "shared_scales": 4}
"""Blocks, by cost model or graph; kernels of up to six operators reach beyond fewer.  Else 2."""

WIDTH = {"linear_residuals": 2}
"""Of what the products of a block are: each further one triples the e-nodes of that graph.  Else 3."""

MOST = {"ascend": 83}
"""E-nodes a run-time node; kernels and formats are e-nodes as well.  Else 40."""

LINEAR = 2.3
"""How many times as many e-nodes a graph of twice the depth may have."""


@cache
def saturated(name: str, depth: int, cost: str) -> Saturated:
    return saturate(GRAPHS[name](depth, WIDTH.get(name, 3)), target=cost)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_stress_graph_grows_linearly_with_its_depth(name: str, cost: str) -> None:
    first = SHALLOW.get(name, SHALLOW.get(cost, 2))
    shallow, deep = (saturated(name, depth, cost) for depth in (first, 2 * first))
    for found in (shallow, deep):
        assert found.region is not None
        assert found.region.saturation.stop == "saturated", found.region.saturation
        assert not found.warnings
        assert e_nodes(found) <= MOST.get(cost, 40) * runtime_nodes(found)
    assert e_nodes(deep) <= LINEAR * e_nodes(shallow)
