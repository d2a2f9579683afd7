"""What binds a node on Ascend: by how much its price falls where one resource costs nothing.

A price is a sum of launches and of what takes longest of computing and moving, so it has no parts that add
up.  The chip with one resource for nothing is a chip, too: the difference is what that resource has of the
price, and of two that take equally long neither has any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from egraph_opt.cost_models.ascend_soc import Soc

_FREE = 1e15
"""A rate at which nothing takes time."""

_LAUNCHES = (
    "fixed_vector_us", "fixed_cube_us", "fixed_transpose_us", "fixed_control_us", "view_us",
)  # fmt: skip

RESOURCES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "launch": dict.fromkeys(_LAUNCHES, 0.0),
        "cube": {"cube_efficiency": _FREE},
        "vector": {"vector_cores": _FREE},
        "memory": {"memory_gbs": _FREE},
        "conversion": {"fixed_transdata_us": 0.0, "transdata_efficiency": _FREE},
        "host": {"host_us": 0.0, "host_wait_us": 0.0},
        "AI CPU": {"fixed_aicpu_us": 0.0, "aicpu_gops": _FREE},
    }
)
"""Per resource the parameters of a chip on which it costs nothing."""


def without_resource(soc: Soc, resource: str) -> Soc:
    """The chip where a resource costs nothing."""
    return replace(soc, **RESOURCES[resource])
