"""How a piece is treated: which methods, in which order, within which limits."""
