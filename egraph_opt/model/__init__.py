"""Models as files: reading, checking, writing, and what surrounds a graph."""
