"""Quantized values: QuantizeLinear (Q) and DequantizeLinear (DQ) among other operators."""
