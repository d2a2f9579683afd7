"""Random small models, made of what laws look for, and what has to hold of an optimised one.

    python -m tests.fuzzing --seeds 0..1000

`drawing` builds graphs, the files beside it hold the motifs by family, `models` puts them together;
`checking` optimises under several cost models and compares; `classes` runs every e-node of a saturated graph.
"""
