"""Beyond the rows: what does a model say where it has seen nothing? (the law of several voices)."""

from functools import partial

from gbuq_core.experiments.beyond.experiment import BEYOND, beyond_sections, check_claims
from gbuq_core.experiments.beyond.picture import describe_beyond
from gbuq_core.presentation import seconds_text
from pages._ui.beyond import picture
from pages._ui.beyond.controls import FOLLOWED, STATE
from pages._ui.experiment import WHY, open_account
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.kept import kept
from pages._ui.live_sliders import follow

WAIT_SECONDS = 1.5  # the default's fit comes without a flash of progress

page, values, settings = open_account(BEYOND, STATE, ("edge", "gap"))
(answer,) = ask([picture.fit_request(settings)], WAIT_SECONDS)
with page.notices:
    show_progress([answer])
with page.picture:
    follow(STATE, values, FOLLOWED, partial(picture.draw, answer))
fit = answer.result
if fit is None:
    page.explain(BEYOND)
else:
    claims = kept("beyond-claims", [fit], None, lambda: check_claims(fit))
    with page.fold(WHY):
        picture.draw_why(fit)
    took = [] if answer.seconds is None else [f"Fitted in {seconds_text(answer.seconds)}."]
    page.tell(
        BEYOND, fit, claims, partial(beyond_sections, fit, claims), describe_beyond(fit),
        complete=answer.fresh, costs=took,
    )  # fmt: skip
