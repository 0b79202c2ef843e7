"""Home: what total, data and knowledge uncertainty are, in one picture that refits as it moves."""

from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.wave.claims import STUDY, check_claims
from gbuq_core.experiments.wave.fit import WaveRun, run_wave
from gbuq_core.experiments.wave.picture import is_wide
from gbuq_core.experiments.wave.plan import WaveSettings
from gbuq_core.settings import from_values
from gbuq_core.synthetic.wave import RARE_END, describe_rare
from pages._ui.claims import draw_chips, draw_claims
from pages._ui.controls import draw_knob
from pages._ui.home.controls import EXPERIMENT, FOLLOWED, STATE
from pages._ui.home.map import show_methods, show_pages
from pages._ui.home.picture import draw_wave, export_wave, score_wave
from pages._ui.jobs_glue import Answer, Request, ask, show_progress
from pages._ui.live_sliders import LIVE_SECONDS, carried, carry, drop, follow, take_dropped
from pages._ui.notices import show_notice
from pages._ui.url_state import link_to, open_page

_RARE_SLIDER_WIDTH = 280  # pixels
LEDE = (
    "A prediction can be uncertain because the data are noisy (**data uncertainty**, DU) or "
    "because the model has seen too few rows like this one (**knowledge uncertainty**, KU). "
    "Together they are the **total**. Does an ensemble of boosted trees "
    "([Malinin et al. 2021, eq. 6](https://arxiv.org/abs/2006.10562)) tell them apart?"
)
_BEFORE = "with the rows before"
WHAT_TO_LOOK_AT = (
    "**What to look at.** Add rows. The strong rim is knowledge uncertainty. Does it shrink where "
    "the new rows fall? {rare} Does the rim stay there? The pale band is data uncertainty. Does it "
    "settle at the true noise, which is largest around 1.4?\n\n"
    "Two places are hard. One row at a position does not show how large the noise is. Right of "
    "{end:g} there are no rows, and trees repeat their last value. The table compares knowledge "
    "uncertainty with the actual error in each region."
)


def reading_of(settings: WaveSettings) -> str:
    """What to look at, in Markdown."""
    rare = describe_rare(settings.rare, settings.rare_width)
    return WHAT_TO_LOOK_AT.format(rare=rare, end=RARE_END)


def compute(settings: WaveSettings, job: object) -> WaveRun:
    """Refit the ensemble; the runner calls this in another thread."""
    return run_wave(settings)


def request_of(settings: WaveSettings) -> Request:
    """The fit that the sliders ask for."""
    return Request("wave", ("wave", settings), partial(compute, settings), "SGLB")


def draw(answer: Answer, wide: bool, values: SimpleNamespace, moving: bool) -> bool:
    """The picture, alone while something is dragged; whether it is of these values.

    ``wide`` says which axes it has, which stay until what is dragged is let go.
    """
    if moving:
        settings = from_values(WaveSettings, vars(values))
        (answer,) = ask([request_of(settings)], LIVE_SECONDS)
    done = answer.fresh or bool(answer.error)
    if answer.error:
        show_notice(answer.error, "wave", tone="error")
    elif answer.result is not None:
        draw_wave(answer.result, wide, carried(STATE), not done, move_rare, leave_rare)
    return done


def move_rare(seq: int, begin: float, width: float) -> None:
    """The stretch of rare rows is dragged in the picture: a callback."""
    carry(STATE, seq, rare=begin, rare_width=width)


def leave_rare(begin: float, width: float) -> None:
    """It was let go there: a callback."""
    drop(STATE, EXPERIMENT, rare=begin, rare_width=width)


@st.fragment(key=EXPERIMENT)
def experiment() -> None:
    """The sliders and all that answers them; the rest of the page does not run again with them."""
    take_dropped(STATE)
    picture, reading = st.columns([0.68, 0.32], gap="large")
    with picture:
        values = open_page(STATE, in_sidebar=False)
        settings = from_values(WaveSettings, vars(values))
        (answer,) = ask([request_of(settings)])
        with st.container():  # always there, so that the picture below stays in its place
            show_progress([answer])
        with st.container(key="chips"):
            if answer.result is not None:
                draw_chips(check_claims(answer.result), "" if answer.fresh else _BEFORE)
        with st.container(key="picture"):
            follow(STATE, values, FOLLOWED, partial(draw, answer, is_wide(settings)))
        with st.container(horizontal=True, gap="large", key="rare-rows"):
            for knob in STATE.knobs[1:]:
                with st.container(width=_RARE_SLIDER_WIDTH):
                    draw_knob(knob)
    with reading, st.container(key="reading"):
        st.markdown(reading_of(settings))
        if answer.result is not None:
            score_wave(answer.result)
    if answer.result is not None:
        st.subheader("Statements and this picture")
        study = STUDY if answer.fresh else None
        draw_claims(check_claims(answer.result), study, answer.result.settings)
        export_wave(answer.result, link_to(STATE, values))


st.title("How uncertain is a prediction, and why?")
with st.container(key="lede"):
    st.markdown(LEDE)
experiment()
show_pages()
show_methods()
