"""Home: what total, data and knowledge uncertainty are, in one picture that refits as it moves."""

from functools import partial
from types import MappingProxyType, SimpleNamespace

import streamlit as st

from gbuq_core.experiments.wave.fit import WaveConfig, WaveRun, run_wave
from gbuq_core.knobs import Knob
from pages._ui.home.map import show_methods, show_pages
from pages._ui.home.picture import draw_wave, export_wave, score_wave
from pages._ui.jobs_glue import Answer, Request, ask, show_progress
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.notices import show_notice
from pages._ui.url_state import PageState, link_to, open_page

STATE = PageState(
    key="home",
    knobs=(
        Knob(
            "rows",
            "Training rows",
            "ladder",
            WaveConfig().n_rows,
            choices=(
                *(100, 125, 160, 200, 250, 320, 400, 500, 640, 800, 1000, 1250, 1600, 2000, 2500),
                *(3200, 4000, 5000, 6400, 8000, 10000, 12800),
            ),
            help="New rows fall everywhere except between 3 and 4.5: one row a position there.",
        ),
    ),
    opening=MappingProxyType({"rows": 100}),  # few rows: there is something not to know
)
LEDE = (
    "A prediction can be uncertain because the data are noisy (**data uncertainty**) or because "
    "the model has seen too few rows like this one (**knowledge uncertainty**). Together they are "
    "the **total**. Ensembles of boosted trees tell them apart "
    "([Malinin et al. 2021, eq. 6](https://arxiv.org/abs/2006.10562))."
)
WHAT_TO_LOOK_AT = (
    "**What to look at.** Add rows. The strong rim is knowledge uncertainty. Does it shrink where "
    "rows are added, and stay between 3 and 4.5, where none are? The pale band is data "
    "uncertainty. Does it settle at the true noise, which is largest around 1.4?\n\n"
    "Two places are hard. Between 3 and 4.5 each position has one row, and one row does not show "
    "how large the noise is. Right of 6 there are no rows, and trees repeat their last value. The "
    "table compares knowledge uncertainty with the actual error in each region."
)


def compute(config: WaveConfig, job: object) -> WaveRun:
    """Refit the ensemble; the runner calls this in another thread."""
    return run_wave(config)


def request_of(values: SimpleNamespace) -> Request:
    """The fit that the slider asks for."""
    config = WaveConfig(n_rows=values.rows)
    return Request("wave", ("wave", config), partial(compute, config), "SGLB")


def draw(answer: Answer, values: SimpleNamespace, moving: bool) -> bool:
    """The picture, alone while the slider is on its way; whether it is of these values."""
    if moving:
        (answer,) = ask([request_of(values)], LIVE_SECONDS)
    if answer.error:
        show_notice(answer.error, "wave", tone="error")
    elif answer.result is not None:
        draw_wave(answer.result)
    return answer.fresh or bool(answer.error)


@st.fragment
def experiment() -> None:
    """The slider and all that answers it; the rest of the page does not run again with it."""
    picture, reading = st.columns([0.68, 0.32], gap="large")
    with picture:
        values = open_page(STATE, in_sidebar=False)
        (answer,) = ask([request_of(values)])
        with st.container():  # always there, so that the picture below stays in its place
            show_progress([answer])
        with st.container(key="picture"):
            follow(STATE, values, ("rows",), partial(draw, answer))
    with reading, st.container(key="reading"):
        st.markdown(WHAT_TO_LOOK_AT)
        if answer.result is not None:
            score_wave(answer.result)
    if answer.result is not None:
        export_wave(answer.result, link_to(STATE, values))


st.title("How uncertain is a prediction, and why?")
with st.container(key="lede"):
    st.markdown(LEDE)
experiment()
show_pages()
show_methods()
