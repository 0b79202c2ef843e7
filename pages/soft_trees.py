"""Soft trees: how many functions fit the same points? (Cinquin et al. 2022)."""

from functools import partial

from gbuq_core.experiments.soft_trees.claims import check_claims
from gbuq_core.experiments.soft_trees.experiment import SOFT_TREES
from gbuq_core.experiments.soft_trees.scores import describe_soft_trees
from pages._ui.experiment import PAPER, QUICK, WHY, open_account
from pages._ui.jobs_glue import ask
from pages._ui.side_by_side import view_answers
from pages._ui.soft_trees import look, picture
from pages._ui.soft_trees.controls import INSIDE, STATE
from pages._ui.soft_trees.export import soft_trees_sections
from pages._ui.trials import draw_trials, trial_requests, trial_results

WAIT_SECONDS = 0.9  # the default's methods come without a flash of progress

folds = {WHY: [INSIDE], PAPER: [trial.fold for trial in SOFT_TREES.trials]}
page, values, settings = open_account(SOFT_TREES, STATE, ("rows",), folds)
fits, compared = picture.fit_requests(values, settings), trial_requests(SOFT_TREES)
asked = ask([*fits, *compared], QUICK if compared else WAIT_SECONDS)  # no wait for a comparison
answers, others = asked[: len(fits)], asked[len(fits) :]
alone = all(answer.state == "done" for answer in answers)
shown = view_answers(SOFT_TREES, settings, answers)
with page.picture:
    picture.draw_picture(values, settings, shown)
    picture.say_state(settings, shown, others)
run = picture.soft_trees_run(settings, shown)
with page.fold(WHY):
    look.draw_looks(values, answers)
page.tell(
    SOFT_TREES, run, check_claims(run, run.scores) if run.scores else (),
    partial(soft_trees_sections, run, shown, values, trial_results(others)),
    describe_soft_trees(run, run.scores),
    scored=bool(run.scores),
    complete=alone,
    costs=picture.costs_of(settings, shown),
)  # fmt: skip
with page.fold(PAPER):
    draw_trials(SOFT_TREES, STATE, values, others, alone)
