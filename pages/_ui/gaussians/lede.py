"""What the race asks: about the chosen samplers, on the chosen target."""

from __future__ import annotations

from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.gaussians.scores import describe_race

_QUESTIONS = {
    "gaussians25": "does a chain find all 25 modes",
    "ring": "does a chain get all the way round this long ring without walls",
    "banana": "does a chain reach both ends of the ridge, steep across and long along",
    "two_modes": "does a chain find both modes, though the left one has 80 % of the weight",
    "gaussian": "does a chain get the spread of this one mode right",
}


def lede_of(settings: GaussiansSettings) -> str:
    """The page's first sentences, as Markdown.

    >>> lede_of(GaussiansSettings(samplers=("sgld",)))
    'One sampler, one start. Press play: does a chain find all 25 modes?'
    """
    if not settings.samplers:
        return "Samplers that are chosen in **All settings** race over this target."
    return f"{describe_race(settings)} Press play: {_QUESTIONS[settings.target]}?"
