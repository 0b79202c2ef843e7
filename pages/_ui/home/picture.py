"""Home's picture: the wave as bands with a bar to drag, and what can be taken away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.study.study import Run
from gbuq_core.study.wave import WAVE, WaveSettings, wave_figure
from gbuq_core.synthetic.wave import LEAST_RARE_WIDTH, MOST_RARE_WIDTH, RARE_END
from pages._ui.curves import Carry, Ends, Stretch, show_curves
from pages._ui.export import Download, show_exports

_HINT = (
    " Drag the orange bar to move the stretch where rows are rare, or one of its ends to change "
    "its width. Keys: Shift and an arrow."
)


def draw_wave(
    run: Run,
    wide: bool,
    seq: int,
    waits: bool,
    carry: Callable[[int, float, float], None],
    drop: Callable[[float, float], None],
) -> None:
    """Draw the bands and the variances, with the stretch of rare rows to be dragged."""
    begin, end = run.settings.rare_ends
    stretch = Stretch(
        round(end - begin, 1), LEAST_RARE_WIDTH, MOST_RARE_WIDTH, 0.0, RARE_END, "rare rows"
    )
    grip = Carry(
        seq,
        waits,
        lambda seq, ends: carry(seq, *place_of(run, ends)),
        begin,
        _HINT,
        stretch=stretch,
        greets=seq == 0 and run.settings == WaveSettings(),
    )
    show_curves(
        wave_figure(run, wide).quiet,
        "wave",
        on_stretch=lambda ends: drop(*place_of(run, ends)),
        carry=grip,
    )


def place_of(run: Run, ends: Ends) -> tuple[float, float]:
    """Where a stretch begins and how wide it is, as rows can be rare there."""
    first, last = (round(float(run.data.grid[end, 0]), 1) for end in ends)
    width = min(max(last - first, LEAST_RARE_WIDTH), MOST_RARE_WIDTH)
    begin = min(max(first, 0.0), RARE_END - width)
    return round(begin, 1), round(width, 1)


def export_wave(run: Run) -> None:
    """Code, data, page; then the picture in words."""
    downloads = [
        *(
            Download(f"{label} (CSV)", "wave.csv", "text/csv", partial(make, run))
            for label, make in WAVE.tables(run).items()
        ),
        Download("Page (HTML)", "wave.html", "text/html", partial(wave_html, run)),
    ]
    show_exports("wave", WAVE.code(run), downloads)
    st.caption("In words")
    st.text(WAVE.describe(run))


def wave_html(run: Run) -> bytes:
    """The downloaded page."""
    figure = wave_figure(run)
    sections = [Section(curves=figure, caption=figure.alt), *WAVE.scores(run)]
    return standalone_html(sections, WAVE.title).encode()
