"""Nodes and models timed in ONNX Runtime, and what was measured kept for the next time."""
