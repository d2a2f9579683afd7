"""Experiments: other searches, other optimisers and other prices, beside what `optimize` does."""
