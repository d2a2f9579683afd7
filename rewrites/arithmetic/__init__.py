"""Sums and products: order, distribution, and constants that meet."""
