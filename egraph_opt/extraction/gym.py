"""Reading e-graphs in the JSON form of extraction-gym (github.com/egraphs-good/extraction-gym)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.problem import ExtractionProblem


def load_json(path: str | Path) -> ExtractionProblem:
    """Read ``{"nodes": {id: {"op", "children": [node ids], "eclass", "cost"}}, "root_eclasses": [...]}``.

    Plain or gzipped (``.gz``).  Classes and nodes are numbered in the order of the file.

    Raises:
        ExtractionError: the file is not of that form.
    """
    source = Path(path)
    raw = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    try:
        graph = json.loads(raw)
        nodes = graph["nodes"]
        number: dict[str, int] = {}
        for node in nodes.values():
            number.setdefault(node["eclass"], len(number))
        owner = [number[node["eclass"]] for node in nodes.values()]
        children = [[number[nodes[child]["eclass"]] for child in node["children"]] for node in nodes.values()]
        cost = [float(node["cost"]) for node in nodes.values()]
        roots = [number[root] for root in graph["root_eclasses"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{source.name} is not an e-graph in extraction-gym's JSON form: {error!r}"
        raise ExtractionError(reason) from error
    return ExtractionProblem(
        node_class=np.array(owner, np.int32),
        child_ptr=np.cumsum([0, *map(len, children)], dtype=np.int32),
        child=np.array([child for below in children for child in below], np.int32),
        cost=np.array(cost),
        roots=np.array(roots, np.int32),
    )
