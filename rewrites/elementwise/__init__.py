"""Element-wise operators: identities, bounds, activations."""
