"""Cost models fitted to profiles: what kernels took, their nodes, the parameters that explain it."""
