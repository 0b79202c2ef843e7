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
        one = getattr(fit, key)
        read += [
            (LABELS[key], one.mean),
            ("data std", np.sqrt(one.data)),
            ("knowledge std", np.sqrt(one.knowledge)),
        ]
    return draw_curves(
        "beyond",
        describe_beyond(fit),
        _HEIGHT,
        axis((FROM, TO), "x"),
        panels,
        _legend(fit, getattr(fit, keys[0])),
        reading(fit.x, "x", read),
        facets=2,
    )


def _panel(fit: BeyondFit, key: str, one: Estimate, note: str = "") -> Part:
    colour = COLOURS[key]
    layers = [*_behind(fit), *_bands(fit.x, one, colour), *_lines(fit, one.mean, colour)]
    return panel(Y_RANGE, "y", layers, title=LABELS[key], note=note, colour=colour)


def _behind(fit: BeyondFit) -> list[Part]:
    """Hatching where no rows are, and the rows."""
    dots = {"kind": "dots", "x": rounded(fit.rows.x), "y": rounded(fit.rows.y), **_ROWS}
    return [*hatches(fit.x, ~fit.inside), dots]


def _bands(x: Array, one: Estimate, colour: str) -> list[Part]:
    """Rim, band, rim, from below; kept within the picture."""
    inner, outer = N_STD * np.sqrt(one.data), one.half
    edges = ((-outer, -inner, _KNOWLEDGE), (-inner, inner, _DATA), (inner, outer, _KNOWLEDGE))
    return [
        band(x, np.clip(one.mean + low, *Y_RANGE), np.clip(one.mean + high, *Y_RANGE), colour, fill)
        for low, high, fill in edges
    ]


def _lines(fit: BeyondFit, mean: Array, colour: str) -> list[Part]:
    return [line(fit.x, fit.truth, **_TRUTH), line(fit.x, mean, colour, 2.2)]


def _legend(fit: BeyondFit, one: Estimate) -> list[Part]:
    """Names at their places in the first panel."""
    colour = COLOURS["trees"]
    entries: list[Part] = [
        {"name": "prediction", "kind": "line", "colour": colour, "width": 2.2},
        {"name": "truth", "kind": "line", **_TRUTH},
        {"name": "no rows", "kind": "hatch", "colour": "text"},
    ]
    lines = {"truth": [fit.truth], "prediction": [one.mean]}
    gaps = stretches(fit.x, ~fit.inside)
    places = label_places(fit.x, ((FROM, TO), Y_RANGE), lines, {}, {}, gaps)
    return labelled(entries, places)


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
        below = panel((0.0, 1.05), "weight", [
            line(fit.x, weight, colour, 1.8), {"kind": "words", "text": "weight in the law"},
        ], own=False)  # fmt: skip
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
    inside, right = fit.inside, fit.x > fit.settings.edge

    weight = fit.spoken.weight

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
    for one in score_beyond(fit):
        parts.append(
            f"{one.label}: bands of {percent(LEVEL, 0)} hold {percent(one.coverage.inside, 0)} of "
            f"new values among the rows and {percent(one.coverage.outside, 0)} where no rows are; "
            f"their mean width is {short(one.width.inside)} and {short(one.width.outside)}."
        )
    return " ".join(parts)
