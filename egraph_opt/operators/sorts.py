"""The sorts of attributes, by name: a law that hands one where another is asked for is refused.

To the host, and to a type checker, a value of a sort is the Python type that stands first.
"""

from __future__ import annotations

from typing import Annotated

from egraph_opt.facts.fact import Shape
from egraph_opt.operators.declaration import Attributes
from egraph_opt.operators.expressions import String, attribute_sort

Permutation = Annotated[tuple[int, ...], attribute_sort("Permutation")]
"""Which axis of the operand each axis of the result is."""

Axis = Annotated[int, attribute_sort("Axis")]
"""An axis, counted from the front: 0 or more."""

Axes = Annotated[tuple[int, ...], attribute_sort("Axes")]
"""Axes, sorted, counted from the front."""

Dims = Annotated[Shape, attribute_sort("Dims")]
"""The dims of a tensor: numbers and symbolic expressions."""

Sizes = Annotated[tuple[int, ...], attribute_sort("Sizes")]
"""The lengths of the parts of a Split."""

Pads = Annotated[tuple[int, ...], attribute_sort("Pads")]
"""What is added in front of every axis, then behind every axis."""

Slices = Annotated[tuple[tuple[int, int, int | None, int], ...], attribute_sort("Slices")]
"""Per sliced axis: the axis, start, end (None: all that follows) and step."""

Steps = Annotated[tuple[int, ...], attribute_sort("Steps")]
"""Per sliced axis the step: not 0."""

Settings = Annotated[Attributes, attribute_sort("Settings")]
"""The attributes of an ONNX node as pairs of name and value, sorted, defaults filled in; () if none."""

DataType = Annotated[int, attribute_sort("DataType")]
"""An element type, ``onnx.TensorProto.DataType``."""

Float = Annotated[float, attribute_sort("Float")]
"""A number, such as an epsilon."""

Flag = Annotated[int, attribute_sort("Flag")]
"""0 or 1."""

Mode = Annotated[str, attribute_sort("Mode")]
"""How something is filled or interpolated, such as "constant", "edge" and "reflect" of a Pad."""

Name = Annotated[str, String]
"""The name of an operator, as a host function answers it; in patterns it is a `String`."""

Number = Annotated[float | int, attribute_sort("Number")]
"""A number as an element of a tensor: an int for integers, else a float; 0, 0.0 and -0.0 are three."""

Place = Annotated[int | None, attribute_sort("Place")]
"""A place along an axis or in a list of dims; None is the end."""

Equation = Annotated[str, attribute_sort("Equation")]
"""A sum of products in Einstein's notation."""
