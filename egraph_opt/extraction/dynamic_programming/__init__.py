"""Exact solutions of long, narrow pieces by dynamic programming along an elimination order."""
