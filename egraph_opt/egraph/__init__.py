"""Equality saturation: graphs go in as terms, come out as a snapshot of all that laws make of them."""
