"""What is worked out once a table, after its model and beside the page, whatever the view shows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from types import SimpleNamespace

from gbuq_core.lenses.register import LENSES
from gbuq_core.tables import (
    Prepared,
    ScorePlan,
    SplitQuestion,
    Table,
    add_unfamiliarity,
    ask_about_split,
)
from gbuq_core.tables.censoring import censored_times
from gbuq_core.tables.leaking import find_leaks
from pages._ui.jobs_glue import Answer, Request, ask_beside, in_thread
from pages._ui.kept import remember
from pages._ui.your_data.lens import ask_lens, only_fresh
from pages._ui.your_data.training import Trained, View, own_key


def with_questions(answer: Answer) -> tuple[Answer, Answer | None]:
    """The answer with what is to be asked before its scores are believed, or what to wait for."""
    trained: Trained = answer.result
    if not answer.fresh:
        return answer, None
    scored = trained.scored
    key: tuple[Hashable, ...] = ("split questions", trained.wanted)
    if trained.opened.is_upload or trained.wanted.second:
        key = own_key(key)
    compute = in_thread(_doubt, trained.opened.table, scored.training, scored.plan)
    request = Request("questions", key, compute, "Looking for rows that belong together")
    asked = only_fresh(ask_beside(request))
    if not asked.fresh:
        return answer._replace(result=trained._replace(unasked=True)), asked
    questions, warned = asked.result
    scored = replace(scored, questions=questions)
    return answer._replace(result=trained._replace(scored=scored, warned=warned)), asked


def _doubt(
    table: Table, training: Prepared, plan: ScorePlan
) -> tuple[tuple[SplitQuestion, ...], tuple[str, ...]]:
    """What to ask about the rows, and what to say of cut off times and leaks."""
    warned = (*censored_times(table, training), *map(str, find_leaks(training)))
    return tuple(ask_about_split(table, training, plan)), warned


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
