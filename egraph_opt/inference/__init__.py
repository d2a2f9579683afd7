"""What is known of values: types, symbolic shapes, constants, elements, and ranges of integers.

``infer_node`` answers for one node, ``infer_graph`` for a whole graph.  Each family of operators has its own
file of formulas; adding one is a function under ``@formula("Op")``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .constants import constant_lookup, tensor_fact
    from .core import infer_node
    from .graph import attributes_of, infer_graph

__all__ = ["attributes_of", "constant_lookup", "infer_graph", "infer_node", "tensor_fact"]

_MODULES = {
    "attributes_of": "graph",
    "constant_lookup": "constants",
    "infer_graph": "graph",
    "infer_node": "core",
    "tensor_fact": "constants",
}
"""Where the public names are defined: operators need ranges alone, and are declared without the rest."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
