"""Two clocks: is the stated uncertainty true? (stopping of the mean and of the scale)."""

from gbuq_core.experiments.two_clocks.plan import TwoClocksSettings
from gbuq_core.experiments.two_clocks.words import answer_two_clocks
from gbuq_core.settings import from_values
from pages._ui.experiment import COMPARE, EXPORT, PAPER, WHY, Skeleton
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.two_clocks.controls import STATE
from pages._ui.two_clocks.picture import (
    FIT,
    OTHER_TAILS,
    SEEDS,
    claims_of,
    describe_fit,
    draw_picture,
    draw_scores,
    draw_seeds,
    draw_why,
    explain_two_clocks,
    export_two_clocks,
    fit_request,
    keep_other_tails,
    look_at,
    other_tails_request,
    scores_over_seeds,
    seeds_request,
)

LEDE = (
    "A boosted model states how sure it is. Do its 90 % intervals hold 90 % of new rows? Move the "
    "two sliders: one stops the **mean**, the other the **scale**."
)
LEDE_WITHOUT_CLOCKS = (
    "Every model here states a std for each row. Do its 90 % intervals hold 90 % of new rows? "
    "Switch the factor on and off, and watch the band over the truth."
)
WAIT_SECONDS, QUICK = 1.5, 0.12  # the default's fits come without a flash of progress


page = Skeleton("Is the stated uncertainty true?")
values = page.open(STATE, ())  # its knobs are the sliders in the picture
settings = from_values(TwoClocksSettings, vars(values))
page.ask(LEDE if settings.has_clocks else LEDE_WITHOUT_CLOCKS)
(answer,) = ask([fit_request(settings)], WAIT_SECONDS, others=(SEEDS, OTHER_TAILS))
with page.notices:
    show_progress([answer])
    look = look_at(settings, answer)
if look is not None:
    with page.picture:
        draw_picture(settings, look, answer.fresh)
seeds = None
if answer.fresh:  # the seeds wait for the picture
    behind = [seeds_request(settings), *other_tails_request(settings, answer.result)]
    seeds, *other = ask(behind, QUICK, others=(FIT,))
    keep_other_tails(answer.result, other)
if look is not None:
    page.say_verdict(answer_two_clocks(look), claims_of(look, scores_over_seeds(seeds)))
    with page.fold(COMPARE):
        draw_scores(look)
        describe_fit(settings, look)
    with page.fold(WHY):
        draw_why(settings, look)
    with page.fold(PAPER):
        draw_seeds(settings, look, seeds)
        if seeds is not None:
            show_progress([seeds], "-seeds")
    with page.fold(EXPORT):
        export_two_clocks(settings, look, seeds)
with page.fold(WHY):
    explain_two_clocks()
