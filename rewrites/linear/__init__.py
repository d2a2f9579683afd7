"""Products of matrices: MatMul, Gemm, Einsum."""
