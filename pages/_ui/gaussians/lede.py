"""What the race asks: about the chosen samplers, on the chosen target."""

from __future__ import annotations

from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.gaussians.scores import describe_race

_TRAPPED = "Does **SGLD** leave the mode where it starts?"
_NOISY = "What does **N-SGLD** gain from more noise, and what does it lose?"
_QUESTIONS = {
    "ring": "The ring has no walls, but it is long. How much of it does each sampler visit? Its "
    "twelve equal sectors count as modes.",
    "banana": "The ridge is bent, steep across and long along. Which sampler reaches both ends, "
    "and as often as the target says? Five stretches of equal probability count as modes.",
    "two_modes": "The left mode has 80 % of the weight. Which sampler finds both modes, and does "
    "it visit them in the right shares?",
    "gaussian": "There is one mode, so there is nothing to find. Which sampler gets its spread "
    "right?",
}
_SHORT_STEPS = " Are cg-SGLD's steps, chosen for the 25 Gaussians, long enough here?"


def lede_of(settings: GaussiansSettings) -> str:
    """The page's first sentences, as Markdown.

    >>> lede_of(GaussiansSettings(samplers=("sgld",)))
    'One sampler, one start. Play the run. Does **SGLD** leave the mode where it starts?'
    """
    chosen = settings.samplers
    if not chosen:
        return "Samplers that are chosen at the left race over this target from the same start."
    if settings.target == "gaussians25":
        what = _gaussians_text(chosen) + _steps_text(settings)
    else:
        what = _QUESTIONS[settings.target]
    if settings.target == "two_modes" and "cg" in chosen:
        what += _SHORT_STEPS
    play = "Play the race" if len(chosen) > 1 else "Play the run"
    return f"{describe_race(settings)} {play}. {what}"


def _steps_text(settings: GaussiansSettings) -> str:
    """A question about cycles whose longest steps are shorter than the paper's, if all are.

    >>> _steps_text(GaussiansSettings(samplers=("cg",), alpha_max=5.0))
    ' Its longest steps are shorter than in the paper. Does it still leave a mode?'
    """
    paper = GaussiansSettings()
    shorter = {
        "clr": settings.rate_clr < paper.rate_clr,
        "cg": settings.alpha_max * settings.rate_cg < paper.alpha_max * paper.rate_cg,
    }
    cyclical = [key for key in settings.samplers if key in shorter]
    if not cyclical or not all(shorter[key] for key in cyclical):
        return ""
    if len(cyclical) > 1:
        return " Their longest steps are shorter than in the paper. Do they still leave a mode?"
    return " Its longest steps are shorter than in the paper. Does it still leave a mode?"


def _gaussians_text(chosen: tuple[str, ...]) -> str:
    """A question about each of the samplers on the 25 Gaussians."""
    parts = [text for key, text in (("sgld", _TRAPPED), ("nsgld", _NOISY)) if key in chosen]
    if "clr" in chosen and "cg" in chosen:
        parts.append("Do the two **cyclical** samplers find another mode in each cycle?")
    elif "clr" in chosen or "cg" in chosen:
        label = "clr-SGLD" if "clr" in chosen else "cg-SGLD"
        parts.append(f"Does **{label}** find another mode in each cycle?")
    return " ".join(parts)
