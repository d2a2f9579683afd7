"""What the operators of the term language mean: the shape of a result, and its element at an index.

Each operator is a few lines, as one would write them on a board.  Laws are proved from them (`proofs`), so
they are compared with ONNX's reference on concrete tensors by tests.  Elements are real numbers: rounding,
NaN and infinities are the gate's (`check`), not theirs.
"""
