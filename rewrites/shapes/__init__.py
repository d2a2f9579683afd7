"""Arithmetic on shapes, and casts."""
