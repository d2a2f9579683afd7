"""Themes of terms (`egraph_opt.check.theme`), each of what parts of a term have to have together."""

from __future__ import annotations

from egraph_opt.check.activations import Activations
from egraph_opt.check.around_pixels import AroundPixels
from egraph_opt.check.between_groups import BetweenGroups
from egraph_opt.check.exponents import Exponents
from egraph_opt.check.leading_ones import LeadingOnes
from egraph_opt.check.letters import Letters
from egraph_opt.check.many_axes import ManyAxes
from egraph_opt.check.many_parts import ManyParts
from egraph_opt.check.rounded_scales import RoundedScales
from egraph_opt.check.theme import Theme
from egraph_opt.check.turns import Turns

THEMES: tuple[type[Theme], ...] = (
    *(Turns, ManyAxes, BetweenGroups, AroundPixels, RoundedScales, Activations, Letters, ManyParts),
    *(LeadingOnes, Exponents),
)
