"""The laws: one file per family."""
