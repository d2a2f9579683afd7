"""Slice, Concat, Split and Gather."""
