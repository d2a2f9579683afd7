"""Random small models, made of what laws look for, and what has to hold of an optimised one.

    make fuzz SECONDS=60 SEED=0
    python -m tests.fuzzing --only 0:17

`drawing` is a graph under construction, the files of motifs fill it by family (`structured` with any operator that
the engine declares, `planting` with examples of laws), `models` puts it together and `varying` makes it odd;
`settings` draws how it is optimised.  `examining` does so and says what is wrong: `judging` compares answers,
with ONNX's reference in float64 (`widening`) as arbiter, `metamorphic` costs.  `workers` and `running` do that for
hours, `shrinking` makes what fails small, `keeping` writes it down; `corpus` holds what was found.
`checking` and `classes` are about every e-node of a saturated graph.
"""
