"""Experiments with saturation: what each law is worth on a model, and how e-graphs grow."""
