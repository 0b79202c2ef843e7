"""Two clocks: is the stated uncertainty true? (stopping of the mean and of the scale)."""

from functools import partial

from gbuq_core.experiments.two_clocks.experiment import (
    TWO_CLOCKS,
    describe_two_clocks,
    two_clocks_sections,
)
from pages._ui.experiment import WHY, open_account
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.two_clocks import picture
from pages._ui.two_clocks.controls import STATE

WAIT_SECONDS = 1.5  # the default's fits come without a flash of progress

page, values, settings = open_account(TWO_CLOCKS, STATE, ())  # its knobs are in the picture
behind = (picture.SEEDS, picture.OTHER_TAILS)
(answer,) = ask([picture.fit_request(settings)], WAIT_SECONDS, others=behind)
with page.notices:
    show_progress([answer])
    look = picture.look_at(settings, answer)
if look is None:
    page.explain(TWO_CLOCKS)
else:
    with page.picture:
        picture.draw_picture(settings, look, answer.fresh)
    found = picture.ask_for_seeds(settings, answer)
    seeds = picture.scores_over_seeds(found)
    with page.fold(WHY):
        picture.draw_why(settings, look)
    page.tell(
        TWO_CLOCKS, look, picture.claims_of(look, seeds),
        partial(two_clocks_sections, settings, look, seeds),
        describe_two_clocks(look),
        costs=[picture.describe_fit(settings, look)],
        paper=partial(picture.draw_seeds, settings, look, found),
    )  # fmt: skip
