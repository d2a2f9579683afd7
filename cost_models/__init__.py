"""The cost models: one file per target."""
