"""Home's picture: the wave as bands with a bar to drag, and what can be taken away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from gbuq_core.experiments.wave.fit import WaveRun, WaveSettings, describe_wave, wave_code
from gbuq_core.experiments.wave.picture import wave_figure, wave_section
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.synthetic.wave import LEAST_RARE_WIDTH, MOST_RARE_WIDTH, RARE_END
from pages._ui.curves import Carry, Ends, Stretch, show_curves
from pages._ui.export import Download, show_exports
from pages._ui.sections import draw_section

_HINT = (
    " Drag the orange bar to move the stretch where rows are rare, or one of its ends to change "
    "its width. Keys: Shift and an arrow."
)


def draw_wave(
    run: WaveRun,
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


def place_of(run: WaveRun, ends: Ends) -> tuple[float, float]:
    """Where a stretch begins and how wide it is, as rows can be rare there."""
    first, last = (round(float(run.x[end]), 1) for end in ends)
    width = min(max(last - first, LEAST_RARE_WIDTH), MOST_RARE_WIDTH)
    begin = min(max(first, 0.0), RARE_END - width)
    return round(begin, 1), round(width, 1)


def score_wave(run: WaveRun) -> None:
    """Estimate beside truth, as numbers, and what they cost."""
    section = wave_section(run)
    draw_section(Section(table=section.table, caption=section.text), "wave")


def export_wave(run: WaveRun) -> None:
    """Code, data, page, picture; then the picture in words."""
    downloads = (
        Download("Data (CSV)", "wave.csv", "text/csv", partial(_csv, run)),
        Download("Page (HTML)", "wave.html", "text/html", partial(_html, run)),
    )
    show_exports("wave", wave_code(run.settings), downloads)
    st.caption("In words")
    st.text(describe_wave(run))


def _csv(run: WaveRun) -> bytes:
    import pandas as pd  # late, as the first page has no table

    from gbuq_core.tables.files import to_csv_bytes

    columns = {
        "x": run.x,
        "prediction": run.loc,
        **{f"{part}_uncertainty": values for part, values in run.uncertainty._asdict().items()},
        "true_mean": run.data.mean,
        "true_variance": run.data.variance,
    }
    return to_csv_bytes(pd.DataFrame(columns))


def _html(run: WaveRun) -> bytes:
    return standalone_html(wave_section(run), "Three uncertainties on a line").encode()
