"""What an e-node costs: cost models, prices, pseudo-operators, and many models for one e-graph."""

DEFAULT_COST = "nodes"
"""The cost model where none is named: what is fewer nodes is less work on any target."""
