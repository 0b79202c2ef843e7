"""Home's picture: the wave as bands, its scorecard, and what can be taken away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from gbuq_core.experiments.wave.fit import (
    N_STD,
    NOMINAL_COVERAGE,
    WaveConfig,
    WaveRun,
    describe_wave,
    wave_code,
)
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.figures.wave import MOST_DOTS, Bands, Limits, bands_figure
from gbuq_core.presentation import digits, format_bytes, markdown_table, seconds_text
from gbuq_core.synthetic.wave import LEAST_RARE_WIDTH, MOST_RARE_WIDTH, RARE_END
from gbuq_core.tables.files import to_csv_bytes
from pages._ui.curves import Carry, Ends, Stretch, show_curves
from pages._ui.export import Download, show_exports

LIMITS = Limits(y=(-1.2, 3.2), variance=(0.0, 0.24))
WIDE = Limits(y=(-1.4, 3.2), variance=(0.0, 0.5))  # the noisy stretch may have few rows
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
    figure = wave_figure(run, wide)
    begin, end = run.config.rare
    stretch = Stretch(
        round(end - begin, 1), LEAST_RARE_WIDTH, MOST_RARE_WIDTH, 0.0, RARE_END, "rare rows"
    )
    grip = Carry(
        seq, waits, lambda seq, ends: carry(seq, *place_of(run, ends)), begin, _HINT,
        stretch=stretch,
    )  # fmt: skip
    show_curves(figure, "wave", on_stretch=lambda ends: drop(*place_of(run, ends)), carry=grip)


def place_of(run: WaveRun, ends: Ends) -> tuple[float, float]:
    """Where a stretch begins and how wide it is, as rows can be rare there."""
    first, last = (round(float(run.x[end]), 1) for end in ends)
    width = min(max(last - first, LEAST_RARE_WIDTH), MOST_RARE_WIDTH)
    begin = min(max(first, 0.0), RARE_END - width)
    return round(begin, 1), round(width, 1)


def is_wide(config: WaveConfig) -> bool:
    """Whether rows are rare elsewhere than usual, where the noise may be larger."""
    return config.rare != WaveConfig().rare


def wave_figure(run: WaveRun, wide: bool | None = None) -> Curves:
    """The run as a figure; the stretch beyond the last row is hatched.

    ``wide`` chooses the axes; without it the run does.
    """
    wide = is_wide(run.config) if wide is None else wide
    seen = run.x[run.in_support]
    bands = Bands(
        x=run.x,
        loc=run.loc,
        data=run.uncertainty.data,
        knowledge=run.uncertainty.knowledge,
        true_mean=run.true_mean,
        true_variance=run.true_variance,
        x_rows=run.X[:, 0],
        y_rows=run.y,
        gaps=((float(seen[-1]), float(run.x[-1])),),
    )
    return bands_figure(
        bands,
        METHOD_STYLES["sglb"],
        WIDE if wide else LIMITS,
        N_STD,
        name=f"uncertainty-{run.config.n_rows}-rows",
        alt=describe_wave(run),
    )


def score_wave(run: WaveRun) -> None:
    """Estimate beside truth, as numbers, and what they cost."""
    scores = run.scores
    regions = (("plentiful", scores.plenty), ("rare", scores.rare), ("none", scores.beyond))
    head = ("Rows", "Data", "True noise", "Knowledge", "Error")
    st.markdown(markdown_table([head, *((name, *map(digits, region)) for name, region in regions)]))
    shown = min(MOST_DOTS, run.config.n_rows)
    st.caption(
        f"The dots are {shown} of {run.config.n_rows:,} rows. The table gives standard deviations "
        "in units of y; the error is the distance from the predicted mean to the true mean. The "
        f"outer edge is {N_STD:g} total standard deviations from the mean. Where there are rows, "
        f"it holds {100 * scores.coverage:.1f} % of new values; {100 * NOMINAL_COVERAGE:.1f} % "
        f"would be right. {run.config.n_members} SGLB models were fitted in "
        f"{seconds_text(run.fit_seconds)} and take {format_bytes(run.memory_bytes)}."
    )


def export_wave(run: WaveRun, link: str) -> None:
    """Code, link, data, page, picture; then the picture in words."""
    downloads = (
        Download("Data (CSV)", "wave.csv", "text/csv", partial(_csv, run)),
        Download("Page (HTML)", "wave.html", "text/html", partial(_html, run)),
    )
    show_exports("wave", wave_code(run.config), link, downloads)
    with st.expander("In words"):
        st.text(describe_wave(run))


def _csv(run: WaveRun) -> bytes:
    columns = {
        "x": run.x,
        "prediction": run.loc,
        "total_uncertainty": run.uncertainty.total,
        "data_uncertainty": run.uncertainty.data,
        "knowledge_uncertainty": run.uncertainty.knowledge,
        "true_mean": run.true_mean,
        "true_variance": run.true_variance,
    }
    return to_csv_bytes(pd.DataFrame(columns))


def _html(run: WaveRun) -> bytes:
    figure = wave_figure(run)
    section = Section(curves=figure, caption=figure.alt)
    return standalone_html(section, "Three uncertainties on a line").encode()
