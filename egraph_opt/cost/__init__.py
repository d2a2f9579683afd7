"""What an e-node costs: cost models, prices, pseudo-operators, and many models for one e-graph."""
