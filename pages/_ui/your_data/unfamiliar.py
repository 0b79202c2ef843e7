"""How unfamiliar the rows are: measured once a table, after its model, whatever the view shows."""

from __future__ import annotations

from types import SimpleNamespace

from gbuq_core.lenses.register import LENSES
from gbuq_core.tables import add_unfamiliarity
from pages._ui.jobs_glue import Answer
from pages._ui.kept import remember
from pages._ui.your_data.lens import ask_lens
from pages._ui.your_data.training import Trained, View


def with_unfamiliarity(
    view: View, trained: Trained, values: SimpleNamespace
) -> tuple[View, Answer]:
    """The view with the columns of unfamiliarity, or as it is with what to wait for."""
    fit = view._replace(scored=trained.scored)
    answer = ask_lens(LENSES["unfamiliar"], values, trained, fit)
    if not answer.fresh:
        return view, answer
    digest = f"{view.digest}-familiar"
    return View(
        remember(digest, add_unfamiliarity, view.scored, answer.result, most=8), digest
    ), answer
