"""Parameters of cost models searched by what whole models take in ONNX Runtime."""
