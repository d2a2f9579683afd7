"""Themes of terms (`egraph_opt.check.theme`), each of what parts of a term have to have together."""

from __future__ import annotations

from egraph_opt.check.theme import Theme
from egraph_opt.check.themes.activations import Activations
from egraph_opt.check.themes.around_pixels import AroundPixels
from egraph_opt.check.themes.between_groups import BetweenGroups
from egraph_opt.check.themes.exponents import Exponents
from egraph_opt.check.themes.leading_ones import LeadingOnes
from egraph_opt.check.themes.letters import Letters
from egraph_opt.check.themes.many_axes import ManyAxes
from egraph_opt.check.themes.many_parts import ManyParts
from egraph_opt.check.themes.rounded_scales import RoundedScales
from egraph_opt.check.themes.turns import Turns

THEMES: tuple[type[Theme], ...] = (
    *(Turns, ManyAxes, BetweenGroups, AroundPixels, RoundedScales, Activations, Letters, ManyParts),
    *(LeadingOnes, Exponents),
)
