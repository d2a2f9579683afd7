"""All bad files that are kept, by name; importing the modules that make them fills the table."""

from __future__ import annotations

from . import amounts, attributes, branches, counts, parts, tensors
from .making import CASES

__all__ = ["CASES", "amounts", "attributes", "branches", "counts", "parts", "tensors"]
