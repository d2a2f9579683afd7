"""What a variable of a law may be: its annotation says what it stands for."""

from egraph_opt.operators.expressions import Bundle, Int, String, Tensor, Tensors, Unit
from egraph_opt.operators.sorts import (
    Axes,
    Axis,
    DataType,
    Dims,
    Equation,
    Flag,
    Float,
    Mode,
    Number,
    Pads,
    Permutation,
    Place,
    Settings,
    Sizes,
    Slices,
)

__all__ = [
    "Axes",
    "Axis",
    "Bundle",
    "DataType",
    "Dims",
    "Equation",
    "Flag",
    "Float",
    "Int",
    "Mode",
    "Number",
    "Pads",
    "Permutation",
    "Place",
    "Settings",
    "Sizes",
    "Slices",
    "String",
    "Tensor",
    "Tensors",
    "Unit",
]
