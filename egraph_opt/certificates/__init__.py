"""Certificates: why a result is equal to its model, checked without what found it.

The checker reads both files, and follows the certificate step by step: an instance of a law is matched with
the law's statement, its conditions are asked of what is known by then, equal operands make equal results, and
constants are computed anew.  It loads no engine of e-graphs, no solver and no runtime.
"""
