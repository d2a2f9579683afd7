"""Presolve: what can be decided about a problem without search, and the way back from what is left."""
