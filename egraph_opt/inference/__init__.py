"""What is known of values: types, symbolic shapes, constants, elements, and ranges of integers.

``infer_node`` answers for one node, ``infer_graph`` for a whole graph.  Each family of operators has its own
file of formulas; adding one is a function under ``@formula("Op")``.
"""

from .constants import constants_of, tensor_fact
from .core import infer_node
from .graph import attributes_of, infer_graph

__all__ = ["attributes_of", "constants_of", "infer_graph", "infer_node", "tensor_fact"]
