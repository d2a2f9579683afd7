"""Recurrent layers with every activation that ONNX has, with alphas and betas that some of them take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from egraph_opt.check.choices import Choices, chance, pick, picks
from egraph_opt.check.layers import FUNCTIONS
from egraph_opt.check.theme import Theme
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.recurrent import RecurrentLayer

ACTIVATIONS = (
    *("Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh"),
    *("Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"),
)
ALPHAS, BETAS = (0.5, 0.25, 1.5), (0.25, 0.75, -0.5)


class Activations(Theme):
    """Settings of layers; the lists of alphas and betas have one for each activation, or only some."""

    operators = frozenset({"recurrent"})
    most = 16

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        made = super().attribute(rng, operator, parameter, before, operands)
        if not isinstance(made, RecurrentLayer):
            return made
        settings = dict(made.settings)
        count = FUNCTIONS[made.kind] * (2 if settings["direction"] == "bidirectional" else 1)
        first = ACTIVATIONS[rng.attempts % len(ACTIVATIONS)]  # each in turn
        others = picks(rng, (first, *ACTIVATIONS), count - 1)
        settings["activations"] = (first, *others)
        if chance(rng, 0.8):
            settings["activation_alpha"] = tuple(picks(rng, ALPHAS, count))
        if chance(rng, 0.6):
            settings["activation_beta"] = tuple(picks(rng, BETAS, int(pick(rng, count, 1))))
        return RecurrentLayer(made.kind, tuple(sorted(settings.items())))
