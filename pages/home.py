"""Start: a place to drop a table, and one picture that refits as it moves."""

from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.settings import from_values
from gbuq_core.study.study import Run
from gbuq_core.study.wave import WAVE, WaveSettings, is_wide
from gbuq_core.synthetic.wave import RARE_END, describe_rare
from pages._ui.claims import draw_claims
from pages._ui.handing import drop_table
from pages._ui.home.controls import EXPERIMENT, FOLLOWED, STATE
from pages._ui.home.map import show_methods
from pages._ui.home.picture import draw_wave, export_wave
from pages._ui.jobs_glue import Answer, Request, ask, in_thread, show_progress
from pages._ui.live_sliders import LIVE_SECONDS, carried, carry, drop, follow, take_dropped
from pages._ui.notices import show_notice
from pages._ui.sections import draw_section
from pages._ui.skeleton import COMPARE, EXPORT, PAPER, WHY, Skeleton

WHAT_TO_LOOK_AT = (
    "Add rows. Does the dark rim shrink where the new rows fall? {rare} Does the rim stay there? "
    "Does the pale band settle at the true noise, which is largest around 1.4?\n\n"
    "Two places are hard. One row at a position does not show how large the noise is. Right of "
    "{end:g} there are no rows, and trees repeat their last value. The table compares knowledge "
    "uncertainty with the actual error in each region.\n\n"
    "Data and knowledge uncertainty add up to the total "
    "([Malinin et al. 2021, eq. 6](https://arxiv.org/abs/2006.10562))."
)


def request_of(settings: WaveSettings) -> Request:
    """The fit that the sliders ask for."""
    plan = WAVE.plan(settings, "sglb")
    stored = partial(WAVE.opening.find, plan)
    return Request("wave", ("wave", plan), in_thread(WAVE.fit, plan), "SGLB", stored=stored)


def run_of(answer: Answer) -> Run:
    """What was fitted, which may be of earlier settings."""
    plan = answer.result.plan
    return WAVE.gather(plan, [WAVE.view(answer.result, plan)])


def draw(page: Skeleton, answer: Answer, wide: bool, values: SimpleNamespace, moving: bool) -> bool:
    """The picture, with the answer alone while something is dragged; whether it is of these values.

    ``wide`` says which axes it has, which stay until what is dragged is let go.
    """
    page.place_verdict(moving)
    if moving:
        settings = from_values(WaveSettings, vars(values))
        (answer,) = ask([request_of(settings)], LIVE_SECONDS)
        if answer.result is not None:
            page.say_verdict(WAVE.say_answer(run_of(answer)), ())
    done = answer.fresh or bool(answer.error)
    if answer.error:
        show_notice(answer.error, "wave", tone="error")
    elif answer.result is not None:
        draw_wave(run_of(answer), wide, carried(STATE), not done, move_rare, leave_rare)
    return done


def move_rare(seq: int, begin: float, width: float) -> None:
    """The stretch of rare rows is dragged in the picture: a callback."""
    carry(STATE, seq, rare=begin, rare_width=width)


def leave_rare(begin: float, width: float) -> None:
    """It was let go there: a callback."""
    drop(STATE, EXPERIMENT, rare=begin, rare_width=width)


@st.fragment(key=EXPERIMENT)
def experiment() -> None:
    """The sliders and all that answers them."""
    take_dropped(STATE)
    page = Skeleton(WAVE.question, WAVE.lede, aside=True)
    with page.aside:
        drop_table()
    values = page.open(STATE, ("rows",))
    settings = from_values(WaveSettings, vars(values))
    (answer,) = ask([request_of(settings)])
    with page.progress:
        show_progress([answer])
    with page.picture, st.container(key="picture"):
        follow(STATE, values, FOLLOWED, partial(draw, page, answer, is_wide(settings)))
    with page.fold(COMPARE):
        show_methods()
    with page.fold(WHY):
        rare = describe_rare(settings.rare, settings.rare_width)
        st.markdown(WHAT_TO_LOOK_AT.format(rare=rare, end=RARE_END))
    if answer.result is not None:
        run = run_of(answer)
        claims = WAVE.judge(run)
        with page.fold(PAPER):
            study = WAVE.seeds if answer.fresh else None
            seeds = draw_claims(claims, study, run.settings)
        page.say_verdict(WAVE.say_answer(run), claims, seeds=seeds)
        with page.fold(WHY):
            for section in WAVE.scores(run):
                draw_section(section, "wave")
        with page.fold(EXPORT):
            export_wave(run)


experiment()
