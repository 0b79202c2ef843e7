"""A one-dimensional prediction with its uncertainty as bands, and the same as stacked variances.

In the upper panel the inner pale band is data uncertainty and the stronger rim outside it is
knowledge uncertainty, so that the outer edge is the total. In the lower panel both are variances
on top of each other, because variances add up: total = data + knowledge.
"""

from __future__ import annotations

import numpy as np

from gbuq_core.experiments.wave.fit import (
    ENSEMBLE,
    N_STD,
    NOMINAL_COVERAGE,
    WaveRun,
    WaveSettings,
    describe_wave,
)
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, band, line, panel, reading, rounded
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import digits, format_bytes, seconds_text

DATA_OPACITY, KNOWLEDGE_OPACITY = 0.22, 0.62
MOST_DOTS = 1000
# Of y and of its variance: fixed, so that a slider moves the picture and not its scale. The wide
# ones are for rows that are rare elsewhere than usual: the noisy stretch may have few.
USUAL_AXES, WIDE_AXES = ((-1.2, 3.2), (0.0, 0.24)), ((-1.4, 3.2), (0.0, 0.5))
_STYLE = METHOD_STYLES[ENSEMBLE["method"]]
_ROWS: Part = {"colour": "text", "opacity": 0.25}
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}


def is_wide(settings: WaveSettings) -> bool:
    """Whether rows are rare elsewhere than usual, where the noise may be larger."""
    return settings.rare_ends != WaveSettings().rare_ends


def wave_figure(run: WaveRun, wide: bool | None = None) -> Curves:
    """Draw the bands (`N_STD` standard deviations to either side) and the variances."""
    x, data, knowledge = run.x, run.uncertainty.data, run.uncertainty.knowledge
    wide = is_wide(run.settings) if wide is None else wide
    y_range, variance_range = WIDE_AXES if wide else USUAL_AXES
    hatch = {"kind": "hatch", "from": float(x[run.data.in_support][-1]), "to": float(x[-1])}
    read = (
        ("prediction", run.loc),
        ("truth", run.data.mean),
        ("data, standard deviation", np.sqrt(data)),
        ("knowledge, standard deviation", np.sqrt(knowledge)),
        ("true noise", np.sqrt(run.data.variance)),
    )
    return draw_curves(
        f"uncertainty-{run.settings.rows}-rows",
        describe_wave(run),
        440,
        axis((x[0], x[-1]), "x"),
        [
            panel(y_range, "y", [*_bands(run), *_lines(run), hatch], 0.68),
            panel(variance_range, "variance of y", [*_variances(run), hatch], 0.32),
        ],
        _LEGEND,
        reading(x, "x", read),  # uncertainties as standard deviations, like the bands
    )


def _bands(run: WaveRun) -> list[Part]:
    """Rim, band, rim, from below."""
    inner, outer = (N_STD * np.sqrt(part) for part in (run.uncertainty.data, run.uncertainty.total))
    edges = (
        (-outer, -inner, KNOWLEDGE_OPACITY),
        (-inner, inner, DATA_OPACITY),
        (inner, outer, KNOWLEDGE_OPACITY),
    )
    return [
        band(run.x, run.loc + low, run.loc + high, _STYLE.colour, opacity)
        for low, high, opacity in edges
    ]


def _lines(run: WaveRun) -> list[Part]:
    """Training rows, prediction and truth."""
    x_rows, y_rows = run.data.X[:MOST_DOTS, 0], run.data.y[:MOST_DOTS]
    return [
        {"kind": "dots", "x": rounded(x_rows), "y": rounded(y_rows), **_ROWS},
        line(run.x, run.loc, _STYLE.colour, 2.2),
        line(run.x, run.data.mean, **_TRUTH),
    ]


def _variances(run: WaveRun) -> list[Part]:
    """Data variance from zero, knowledge variance on top of it, the true noise as a line."""
    total, data, _ = run.uncertainty
    return [
        band(run.x, np.zeros_like(data), data, _STYLE.colour, DATA_OPACITY),
        band(run.x, data, total, _STYLE.colour, KNOWLEDGE_OPACITY),
        line(run.x, run.data.variance, **_TRUTH),
    ]


_AREA: Part = {"kind": "band", "colour": _STYLE.colour}
_LEGEND: list[Part] = [
    {"name": "knowledge", **_AREA, "opacity": KNOWLEDGE_OPACITY},
    {"name": "data", **_AREA, "opacity": DATA_OPACITY},
    {"name": "prediction", "kind": "line", "colour": _STYLE.colour, "width": 2.2},
    {"name": "truth", "kind": "line", **_TRUTH},
    {"name": "rows", "kind": "dots", "colour": "text", "opacity": 0.5},
    {"name": "no rows", "kind": "hatch", "colour": "text"},
]


def wave_section(run: WaveRun) -> Section:
    """The picture with its words, and estimate beside truth as numbers with what they cost."""
    figure, scores = wave_figure(run), run.scores
    regions = (("plentiful", scores.plenty), ("rare", scores.rare), ("none", scores.beyond))
    head = ("Rows", "Data", "True noise", "Knowledge", "Error")
    return Section(
        curves=figure,
        caption=figure.alt,
        table=[head, *((name, *map(digits, region)) for name, region in regions)],
        text=f"The dots are {min(MOST_DOTS, run.settings.rows)} of {run.settings.rows:,} rows. The "
        "table gives standard deviations in units of y; the error is the distance from the "
        f"predicted mean to the true mean. The outer edge is {N_STD:g} total standard deviations "
        f"from the mean. Where there are rows, it holds {100 * scores.coverage:.1f} % of new "
        f"values; {100 * NOMINAL_COVERAGE:.1f} % would be right.{_cost(run)}",
    )


def _cost(run: WaveRun) -> str:
    if run.memory_bytes is None:
        return ""
    return (
        f" {ENSEMBLE['n_members']} SGLB models were fitted in {seconds_text(run.fit_seconds)} and "
        f"take {format_bytes(run.memory_bytes)}."
    )
