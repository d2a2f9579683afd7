"""An optimizer for ONNX models by equality saturation."""
