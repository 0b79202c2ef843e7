"""Home: what total, data and knowledge uncertainty are, in one picture that refits as it moves."""

from functools import partial

import numpy as np
import streamlit as st

from gbuq_core.experiments.wave import (
    N_STD,
    NOMINAL_COVERAGE,
    WaveConfig,
    WaveRun,
    describe_wave,
    run_wave,
    wave_code,
)
from gbuq_core.figures.bands import Bands, Limits, bands_figure
from gbuq_core.figures.theme import METHOD_STYLES, plot_config
from pages._ui.export_ui import Download, is_dark, picture_format, show_exports
from pages._ui.home_map import show_map
from pages._ui.jobs_glue import Request, ask, seconds_text, show_progress
from pages._ui.knobs import Knob
from pages._ui.notices import show_notice
from pages._ui.url_state import PageState, link_to, open_page

ROWS = (100, 200, 400, 800, 1600, 3200, 6400, 12800)
STATE = PageState(
    key="home",
    knobs=(
        Knob(
            "rows",
            "Training rows",
            "ladder",
            WaveConfig().n_rows,
            choices=ROWS,
            help="Added everywhere but between 3 and 4.5, which keeps one row a position.",
        ),
    ),
)
LIMITS = Limits(y=(-1.8, 3.4), variance=(0.0, 0.36))
SHOWN_ROWS = 600  # dots; more would hide the bands


def main() -> None:
    """Draw the page from top to bottom."""
    st.title("How uncertain is a prediction, and why?")
    with st.container(key="lede"):
        st.markdown(
            "A prediction can be uncertain because the data are noisy (**data uncertainty**) or "
            "because the model has seen too few rows like this one (**knowledge uncertainty**). "
            "Together they are the **total**. Ensembles of boosted trees tell them apart."
        )
    picture, reading = st.columns([0.68, 0.32], gap="large")
    with picture:
        values = open_page(STATE, in_sidebar=False)
        config = WaveConfig(n_rows=values.rows)
        (answer,) = ask([Request("wave", ("wave", config), partial(_compute, config), "SGLB")])
        show_progress([answer])
        if answer.error:
            show_notice(answer.error, "wave", tone="error")
        elif answer.result is not None:
            _draw_picture(answer.result)
    with reading, st.container(key="reading"):
        _show_reading()
        if answer.result is not None:
            _show_scores(answer.result)
    if answer.result is not None:
        _show_exports(answer.result, link_to(STATE, values))
    show_map()


def _compute(config: WaveConfig, job: object) -> WaveRun:
    return run_wave(config)


def _draw_picture(run: WaveRun) -> None:
    st.plotly_chart(
        _figure(run, is_dark()),
        key="wave",
        config=plot_config(f"uncertainty-{run.config.n_rows}-rows", picture_format()),
        alt=describe_wave(run),
    )


def _figure(run: WaveRun, dark: bool = False):
    seen = run.x[run.in_support]
    bands = Bands(
        x=run.x,
        loc=run.loc,
        data=run.uncertainty.data,
        knowledge=run.uncertainty.knowledge,
        true_mean=run.true_mean,
        true_variance=run.true_variance,
        x_rows=run.X[:SHOWN_ROWS, 0],
        y_rows=run.y[:SHOWN_ROWS],
        gaps=((float(seen[-1]), float(run.x[-1])),),
    )
    return bands_figure(bands, METHOD_STYLES["sglb"], LIMITS, N_STD, dark)


def _show_reading() -> None:
    st.markdown(
        "**What to look at.** Add rows. The dark rim, knowledge uncertainty, melts where rows are "
        "added and stays between 3 and 4.5, where they are not. The light band, data uncertainty, "
        "settles at the true noise and stays, widest around 1.4.\n\n"
        "Between 3 and 4.5 the light band is too wide as well: from one row a position noise "
        "cannot be told. Right of 6 there are no rows at all. Trees repeat their last value and "
        "do not notice: the prediction goes wrong, the rim stays thin."
    )


def _show_scores(run: WaveRun) -> None:
    """Estimate beside truth, as numbers."""
    scores = run.scores
    regions = (("plentiful", scores.plenty), ("rare", scores.rare), ("none", scores.beyond))
    lines = [
        "| Rows | Data | True noise | Knowledge | Error |",
        "|:--|--:|--:|--:|--:|",
        *(
            f"| {name} | " + " | ".join(f"{v:#.2g}" for v in region) + " |"
            for name, region in regions
        ),
    ]
    st.markdown("\n".join(lines))
    st.caption(
        "Standard deviations, in units of y. Error: how far the predicted mean is from the true "
        f"one. The outer edge, {N_STD:g} total standard deviations away, holds "
        f"{100 * scores.coverage:.1f} % of new values where there are rows; "
        f"{100 * NOMINAL_COVERAGE:.1f} % would be right."
    )
    st.caption(
        f"{run.config.n_members} SGLB models fitted in {seconds_text(run.fit_seconds)}, "
        f"{run.memory_bytes / 1e6:.2g} MB."
    )


def _show_exports(run: WaveRun, link: str) -> None:
    downloads = (
        Download("Data (CSV)", "wave.csv", "text/csv", partial(_csv, run)),
        Download("Page (HTML)", "wave.html", "text/html", partial(_html, run)),
    )
    show_exports("wave", wave_code(run.config), link, downloads, plotly_picture=True)
    with st.expander("In words"):
        st.text(describe_wave(run))


def _csv(run: WaveRun) -> bytes:
    head = "x,prediction,total,data,knowledge,true_mean,true_variance"
    columns = (run.x, run.loc, *run.uncertainty, run.true_mean, run.true_variance)
    lines = [",".join(f"{value:.9g}" for value in row) for row in np.column_stack(columns)]
    return "\n".join([head, *lines, ""]).encode()


def _html(run: WaveRun) -> bytes:
    page = _figure(run).to_html(include_plotlyjs=True, config=plot_config("wave"))
    return page.encode()


main()
