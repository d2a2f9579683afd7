"""Transposes: composition, and movement past other operators."""
