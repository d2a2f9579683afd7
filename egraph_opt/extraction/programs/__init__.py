"""Integer programs of a piece: rows, cuts, relaxations, and the proofs made of them."""
