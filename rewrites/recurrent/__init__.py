"""Recurrent layers: what they start from, what is taken of them, and their directions."""
