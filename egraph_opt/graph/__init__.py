"""Graphs of ONNX nodes: walks, names, constants, equality of bodies, inlining."""
