"""From chosen e-nodes back to ONNX."""
