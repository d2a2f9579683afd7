"""What this optimiser makes of a model beside greedy passes and the tools that users know."""
