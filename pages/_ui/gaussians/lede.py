"""What to look at in the race: of the samplers that were chosen, on the target that was chosen."""

from __future__ import annotations

from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.gaussians.scores import describe_race

_TRAPPED = "**SGLD** settles in a mode and stays"
_NOISY = "**N-SGLD** shakes itself out and blurs everything"
_CYCLES = "thrown out at the start of each cycle and settle"
_WHAT_TO_SEE = {
    "ring": "there are no walls, but it is a long way round. How much of it has each gone by the "
    "end? Its twelve equal sectors count as modes.",
    "banana": "one bent ridge, steep across and long along it. Who reaches both ends, and as often "
    "as the target? Five stretches of equal probability count as modes.",
    "two_modes": "80 % of the weight lies on the left. Who finds both modes, and do their shares "
    "come out?",
    "gaussian": "one mode, nothing to find. Who gets its spread right? More noise widens it, a "
    "scaled gradient narrows it.",
}
_SHORT_STEPS = " cg-SGLD's steps, long enough for the 25 Gaussians, are too short to leave these."


def lede_of(settings: GaussiansSettings) -> str:
    """The page's first sentences, as Markdown.

    >>> lede_of(GaussiansSettings(samplers=("sgld",)))
    'One sampler, one start. Play the run: **SGLD** settles in a mode and stays.'
    """
    chosen = settings.samplers
    if not chosen:
        return "Samplers that are chosen at the left race over this target from the same start."
    if settings.target == "gaussians25":
        what = _gaussians_text(chosen)
    else:
        what = _WHAT_TO_SEE[settings.target]
    if settings.target == "two_modes" and "cg" in chosen:
        what += _SHORT_STEPS
    play = "Play the race" if len(chosen) > 1 else "Play the run"
    return f"{describe_race(settings)} {play}: {what}"


def _gaussians_text(chosen: tuple[str, ...]) -> str:
    """What each of the samplers does on the 25 Gaussians with the paper's knobs."""
    parts = [text for key, text in (("sgld", _TRAPPED), ("nsgld", _NOISY)) if key in chosen]
    if "clr" in chosen and "cg" in chosen:
        parts.append(f"the two **cyclical** ones are {_CYCLES} somewhere else by its end")
    elif "clr" in chosen or "cg" in chosen:
        label = "clr-SGLD" if "clr" in chosen else "cg-SGLD"
        parts.append(f"**{label}** is {_CYCLES}s somewhere else by its end")
    return ", ".join(parts) + "."
