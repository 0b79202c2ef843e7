"""Bands of trees alone beside those of the law: data the light band, knowledge the rim outside."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.beyond.fit import (
    FROM,
    LABELS,
    LEVEL,
    N_STD,
    TO,
    Array,
    BeyondFit,
    Estimate,
    score_beyond,
)
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.labels import label_places, labelled
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    entry,
    hatches,
    line,
    panel,
    reading,
    rounded,
    stretches,
)
from gbuq_core.figures.theme import VOICE_COLOURS as COLOURS
from gbuq_core.presentation import percent, short
from gbuq_core.stacking.voices import VOICES

Y_RANGE = (-2.6, 5.4)  # fixed, so that a knob moves the picture and not its scale
_DATA, _KNOWLEDGE = 0.2, 0.48  # opacities
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_ROWS: Part = {"colour": "text", "opacity": 0.3, "size": 3.0}
_HEIGHT, _VOICE_HEIGHT = 380, 200


def beyond_figure(fit: BeyondFit) -> Curves:
    """Trees alone beside the law; while the law is not fitted, beside the process."""
    keys = ("trees", "process" if fit.law is None else "law")
    note = "the law follows" if fit.law is None else ""
    panels = [_panel(fit, key, getattr(fit, key), note if key == keys[1] else "") for key in keys]
    read = [("truth", fit.truth)]
    for key in keys:
        estimate = getattr(fit, key)
        read += [
            (LABELS[key], estimate.mean),
            ("data std", np.sqrt(estimate.data)),
            ("knowledge std", np.sqrt(estimate.knowledge)),
        ]
    return draw_curves(
        "beyond",
        describe_beyond(fit),
        _HEIGHT,
        axis((FROM, TO), "x"),
        panels,
        _legend(fit),
        reading(fit.x, "x", read),
        facets=2,
    )


def _panel(fit: BeyondFit, key: str, estimate: Estimate, note: str = "") -> Part:
    colour = COLOURS[key]
    layers = [*_behind(fit), *_bands(fit.x, estimate, colour), *_lines(fit, estimate.mean, colour)]
    return panel(Y_RANGE, "y", layers, title=LABELS[key], note=note, colour=colour)


def _behind(fit: BeyondFit) -> list[Part]:
    """Hatching where no rows are, and the rows."""
    dots = {"kind": "dots", "x": rounded(fit.rows.x), "y": rounded(fit.rows.y), **_ROWS}
    return [*hatches(fit.x, ~fit.inside), dots]


def _bands(x: Array, estimate: Estimate, colour: str) -> list[Part]:
    """Rim, band, rim, from below; kept within the picture."""
    mean, inner, outer = estimate.mean, N_STD * np.sqrt(estimate.data), estimate.half
    edges = ((-outer, -inner, _KNOWLEDGE), (-inner, inner, _DATA), (inner, outer, _KNOWLEDGE))
    return [
        band(x, np.clip(mean + low, *Y_RANGE), np.clip(mean + high, *Y_RANGE), colour, fill)
        for low, high, fill in edges
    ]


def _lines(fit: BeyondFit, mean: Array, colour: str) -> list[Part]:
    return [line(fit.x, fit.truth, **_TRUTH), line(fit.x, mean, colour, 2.2)]


def _legend(fit: BeyondFit) -> list[Part]:
    """Names at their places in the first panel."""
    entries: list[Part] = [
        {"name": "prediction", "kind": "line", "colour": COLOURS["trees"], "width": 2.2},
        {"name": "truth", "kind": "line", **_TRUTH},
        {"name": "no rows", "kind": "hatch", "colour": "text"},
    ]
    lines = {"truth": [fit.truth], "prediction": [fit.trees.mean]}
    gaps = stretches(fit.x, ~fit.inside)
    return labelled(entries, label_places(fit.x, ((FROM, TO), Y_RANGE), lines, {}, {}, gaps))


def voices_figure(fit: BeyondFit) -> Curves:
    """Each voice with its band, and below how much of the law it is at each x."""
    assert fit.spoken is not None
    panels = []
    for k, voice in enumerate(VOICES):
        colour, weight = COLOURS[voice], fit.spoken.weight[:, k]
        layers = _behind(fit)
        mean, variance = fit.spoken.mean[:, k], fit.spoken.variance[:, k]
        known = np.isfinite(mean)
        if known.all():
            half = N_STD * np.sqrt(variance)
            low, high = (np.clip(mean + sign * half, *Y_RANGE) for sign in (-1.0, 1.0))
            layers += [band(fit.x, low, high, colour, _DATA), *_lines(fit, mean, colour)]
        else:
            layers += [line(fit.x, fit.truth, **_TRUTH)]
        share = f"{100 * weight[fit.inside].mean():.0f} %"
        note = f"{share} among the rows" if known.all() else "did not enter"
        below = panel(
            (0.0, 1.05),
            "weight",
            [
                line(fit.x, weight, colour, 1.8),
                {"kind": "words", "text": "weight in the law"},
            ],
            own=False,
        )
        title = voice.capitalize()
        panels.append(
            panel(Y_RANGE, "y", layers, title=title, note=note, colour=colour, below=below)
        )
    shares = zip(VOICES, fit.spoken.weight.T, strict=True)
    read = [("truth", fit.truth), *((f"weight of {voice}", share) for voice, share in shares)]
    return draw_curves(
        "beyond-voices",
        describe_voices(fit),
        _VOICE_HEIGHT,
        axis((FROM, TO), "x"),
        panels,
        [entry("truth", {"kind": "line", **_TRUTH}), {"name": "rows", "kind": "dots", **_ROWS}],
        reading(fit.x, "x", read),
        facets=2,
        below=56,
        between=26,
    )


def describe_voices(fit: BeyondFit) -> str:
    """The weights in words."""
    assert fit.spoken is not None
    inside, right, weight = fit.inside, fit.x > fit.settings.edge, fit.spoken.weight

    def shares(at: npt.NDArray[np.bool_]) -> str:
        means = weight[at].mean(axis=0)
        parts = [f"{voice} {100 * share:.0f} %" for voice, share in zip(VOICES, means, strict=True)]
        return ", ".join(parts)

    return (
        f"Mean weights of the voices. Among the rows: {shares(inside)}. Beyond x = "
        f"{fit.settings.edge:g}: {shares(right)}."
    )


def describe_beyond(fit: BeyondFit) -> str:
    """The picture in words, from its numbers."""
    plan = fit.settings
    parts = [
        f"{plan.rows} training rows lie between 0 and {plan.edge:g}, around a curve drawn from "
        f"{FROM:g} to {TO:g}."
    ]
    if plan.gap:
        begin, end = plan.stretches[0][1], plan.stretches[1][0]
        parts.append(f"There are none from {begin:g} to {end:g}.")
    for score in score_beyond(fit):
        held, width = score.coverage, score.width
        parts.append(
            f"{score.label}: bands of {percent(LEVEL, 0)} hold {percent(held.inside, 0)} of new "
            f"values among the rows and {percent(held.outside, 0)} where no rows are; their mean "
            f"width is {short(width.inside)} and {short(width.outside)}."
        )
    return " ".join(parts)
