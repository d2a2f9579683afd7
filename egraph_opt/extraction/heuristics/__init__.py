"""Solutions without a proof: greedy, by tree cost, and large-neighbourhood search."""
