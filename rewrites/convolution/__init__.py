"""Operators with windows: Conv, ConvTranspose, pooling."""
