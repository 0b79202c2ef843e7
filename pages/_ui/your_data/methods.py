"""Any method, side by side: up to four on the same held-out rows, trained when asked for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.compared import ScoreGaps, compared_figure
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.jobs import Job
from gbuq_core.methods import METHODS
from gbuq_core.presentation import seconds_text
from gbuq_core.tables import (
    MethodComparison,
    MethodRun,
    Prepared,
    ScoredTable,
    ScorePlan,
    compare_runs,
    describe_comparison,
    run_methods,
    to_csv_bytes,
    why_not_compared,
)
from gbuq_core.tables.comparing import (
    method_of_plan,
    plan_of_method,
    protocol_of,
    run_of_scored,
    write_cell,
)
from gbuq_core.tables.plan import compared_methods
from pages._ui.controls import draw_knob
from pages._ui.curves import show_curves
from pages._ui.export import Download
from pages._ui.jobs_glue import Answer, Request, ask_beside
from pages._ui.kept import remember
from pages._ui.own_scores import OwnTable, keep_runs, name_of_run
from pages._ui.url_state import PageState
from pages._ui.your_data.lens import only_fresh, show_answer_or_progress
from pages._ui.your_data.sections import METHODS as METHODS_SECTION
from pages._ui.your_data.state import COMPARE
from pages._ui.your_data.training import Trained, View, own_key

MEANING = (
    "All methods are trained on the same rows and judged on the same held-out rows. ± is one "
    "standard error over these rows, brackets hold 95 % bands. Two methods are not told apart "
    "where the 95 % interval of their difference on the same rows contains 0. Intervals tell what "
    "other rows would change, not what another training would."
)
_BY_LABEL = {method.label: method.key for method in compared_methods() if method.predicts}
_ASKED = "_data_methods_asked"
_MODELS = 5  # of an independent ensemble, unless the page trains one
_SUGGESTED = ("sglb", "macau_linear", "ibug", "vrf")
_MOST_SUGGESTED = 3
_IN_PICTURE = ("nll", "crps", "rmse", "error_rate")


class _Setting(NamedTuple):
    """What runs depend on besides their own plan, and how they are made."""

    name: tuple[Hashable, ...]
    prepared: Prepared
    plan: ScorePlan
    protocol: str
    task: str


class _Asked(NamedTuple):
    """A press of Compare: all that was wanted, and which methods were to be trained for it."""

    wanted: Hashable
    missing: tuple[str, ...]


def draw_methods(page: PageState, values: SimpleNamespace, answer: Answer, view: View) -> None:
    """Draw the section: the choice, what it costs, the table, the picture and the words."""
    setting = _setting(answer.result)
    reasons = _reasons(setting)
    st.markdown("**How do other methods do on the same rows?**", help=MEANING)
    knob = next(knob for knob in page.knobs if knob.key == COMPARE.key)
    able = [label for label, key in _BY_LABEL.items() if not reasons[key]]
    offered = tuple(label for label in _BY_LABEL if label in able or label in values.compare)
    chosen = draw_knob(replace(knob, choices=offered))
    keys, sentences = _chosen(chosen, reasons, setting, view.scored)
    for sentence in sentences:
        st.text(sentence, width="stretch")
    runs = _runs_of(keys, setting, view)
    missing = [key for key in keys if key not in runs]
    if missing:
        _draw_running(keys, missing, setting)
        runs = _runs_of(keys, setting, view)
    if runs:
        _draw_comparison(remember(_name(runs, setting, view), compare_runs, tuple(runs.values())))
        keep_scores(answer.result, view)
    _draw_reasons(reasons)


def comparison_downloads(
    values: SimpleNamespace, answer: Answer, view: View
) -> tuple[Download, ...]:
    """The table of all scores and differences, if methods were compared."""
    if values.section != METHODS_SECTION:
        return ()
    setting = _setting(answer.result)
    reasons = _reasons(setting)
    keys, _ = _chosen(values.compare, reasons, setting, view.scored)
    runs = _runs_of(keys, setting, view)
    if not any(not run.error for run in runs.values()):
        return ()
    result = remember(_name(runs, setting, view), compare_runs, tuple(runs.values()))
    make = partial(to_csv_bytes, result.frame())
    return (Download("Methods compared (CSV)", "methods.csv", "text/csv", make),)


def compared_runs(trained: Trained) -> dict[str, MethodRun]:
    """Other methods that were trained on this table; nothing is trained here."""
    setting, kept = _setting(trained), _kept()
    if not kept:
        return {}
    own = method_of_plan(trained.scored.plan, setting.task)
    runs = {
        key: kept.get((setting.name, plan_of_method(key, setting.task, setting.plan)))
        for key in _BY_LABEL.values()
        if key != own and setting.task in METHODS[key].tasks
    }
    return {key: run for key, run in runs.items() if run is not None and not run.error}


def keep_scores(trained: Trained, view: View) -> None:
    """Keep what was scored on this table for the Scoreboard, as long as the session lasts."""
    setting, scored = _setting(trained), view.scored
    own = method_of_plan(scored.plan, setting.task)
    runs = compared_runs(trained)
    if own is not None:
        runs = {own: remember((view.digest, own), run_of_scored, own, scored, most=8), **runs}
    n_rows, n_columns = scored.training.X.shape
    about = OwnTable(
        trained.opened.table.source.name,
        scored.training.target.name,
        setting.task,
        n_rows,
        n_columns,
        {name_of_run(key, run): run for key, run in runs.items()},
    )
    plan = scored.plan
    keep_runs((setting.name, plan.split, plan.split_column, plan.seed), about)


def methods_sections(runs: dict[str, MethodRun], scored: ScoredTable) -> list[Section]:
    """The comparison for the report; none if no other method was trained."""
    if not runs:
        return []
    own = method_of_plan(scored.plan, scored.training.target.task)
    first = () if own is None else (run_of_scored(own, scored),)
    result = compare_runs((*first, *runs.values()))
    done = [method for method in result.methods if method.scores]
    heads = [
        f"{score.label} ({score.unit})" if score.unit else score.label for score in result.scores
    ]
    lines = [("Method", *heads, "Time")]
    for method in done:
        cells = (write_cell(result, method, score) for score in result.scores)
        lines.append((method.label, *cells, seconds_text(method.seconds)))
    words = describe_comparison(result)
    heading = "How do other methods do on the same rows?"
    picture = _figure(result, " ".join(words)) if len(done) > 1 else None
    caption = "Differences to the best, with 95 % intervals." if picture else ""
    return [Section(heading=heading, text=words, table=lines, curves=picture, caption=caption)]


def _setting(trained: Trained) -> _Setting:
    wanted, scored = trained.wanted, trained.scored
    plan = wanted.plan if not wanted.plan.one_model else replace(wanted.plan, n_members=_MODELS)
    protocol = protocol_of(scored)
    name = (wanted.table, wanted.edits, wanted.target, wanted.task, protocol)
    return _Setting(name, scored.training, plan, protocol, scored.training.target.task)


def _chosen(
    labels: Sequence[str], reasons: dict[str, str], setting: _Setting, scored: ScoredTable
) -> tuple[list[str], list[str]]:
    """Which methods to compare, and what is said about the choice."""
    if labels:
        keys = [_BY_LABEL[label] for label in labels]
        return [key for key in keys if not reasons[key]], [reasons[k] for k in keys if reasons[k]]
    trained = method_of_plan(scored.plan, setting.task)
    quick = [key for key in _SUGGESTED if not reasons[key] and key != trained]
    keys = [*([trained] if trained else []), *quick][:_MOST_SUGGESTED]
    names = ", ".join(METHODS[key].label for key in keys)
    return keys, [f"Without a choice, these are compared: {names}."]


def _runs_of(keys: Sequence[str], setting: _Setting, view: View) -> dict[str, MethodRun]:
    """The runs that are there already, in the order of the keys."""
    trained = method_of_plan(view.scored.plan, setting.task)
    kept, runs = _kept(), {}
    for key in keys:
        if key == trained:
            runs[key] = remember((view.digest, key), run_of_scored, key, view.scored, most=8)
            continue
        run = kept.get((setting.name, plan_of_method(key, setting.task, setting.plan)))
        if run is not None:
            runs[key] = run
    return runs


def _draw_running(keys: Sequence[str], missing: Sequence[str], setting: _Setting) -> None:
    """What is still to be trained and the button, or how far it is."""
    plans = tuple(plan_of_method(key, setting.task, setting.plan) for key in keys)
    wanted = (setting.name, plans)
    asked: _Asked | None = st.session_state.get(_ASKED)
    if asked is None or asked.wanted != wanted:
        names = ", ".join(METHODS[method].label for method in missing)
        with st.container(horizontal=True, vertical_alignment="center", key="compare-methods"):
            new = _Asked(wanted, tuple(missing))
            st.button("Compare", key="_methods_compare", on_click=_ask, args=(new,), type="primary")
            st.text(f"{names} will be trained.")
        return
    kept, name = _kept(), setting.name

    def keep(run: MethodRun) -> None:
        kept[(name, plan_of_method(run.key, setting.task, setting.plan))] = run

    def work(job: Job) -> bool:
        # Those that were done before a Cancel stay done.
        left = [
            key
            for key in asked.missing
            if (name, plan_of_method(key, setting.task, setting.plan)) not in kept
        ]
        if left:
            run_methods(left, setting.prepared, setting.plan, setting.protocol, keep)
        return True

    # Its key does not change while methods get done one by one.
    request = Request(
        "methods",
        own_key(("your data", "methods", wanted, asked.missing)),
        work,
        "Training the methods one after the other",
        method="methods",
        cancelled="Methods that were done are kept.",
        failed="The methods could not be compared.",
    )
    show_answer_or_progress(only_fresh(ask_beside(request)))


def _ask(asked: _Asked) -> None:
    st.session_state[_ASKED] = asked


def _draw_comparison(result: MethodComparison) -> None:
    for method in result.methods:
        if method.error:
            st.text(method.error, width="stretch")
    if not result.scores:
        return
    done = [method for method in result.methods if method.scores]
    columns = {"c0": [method.label for method in done]}
    config = {"c0": st.column_config.TextColumn("Method")}
    for number, score in enumerate(result.scores, 1):
        columns[f"c{number}"] = [write_cell(result, method, score) for method in done]
        unit = f" ({score.unit})" if score.unit else ""
        config[f"c{number}"] = st.column_config.TextColumn(
            f"{score.label}{unit}", help=score.meaning
        )
    columns["seconds"] = [seconds_text(method.seconds) for method in done]
    config["seconds"] = st.column_config.TextColumn("Time")
    words = describe_comparison(result)
    with st.container(key="methods-table"):
        st.dataframe(
            pd.DataFrame(columns), hide_index=True, column_config=config, alt=" ".join(words)
        )
    st.caption(f"Measured on {result.n_rows:,} rows that no method learnt from, the same for all.")
    if len(done) < 2:
        return
    picture, side = st.columns([0.5, 0.5], gap="large")
    with picture:
        st.markdown("**Differences to the best, with 95 % intervals**")
        show_curves(_figure(result, " ".join(words)), key="methods-picture")
    with side:
        for sentence in words:
            st.text(sentence, width="stretch")


def _figure(result: MethodComparison, alt: str) -> Curves:
    done = [method for method in result.methods if method.scores]
    gaps = []
    for score in result.scores:
        if score.key not in _IN_PICTURE:
            continue
        parts = [method.differences.get(score.key) for method in done]
        value, low, high = (
            np.array([0.0 if part is None else getattr(part, end) for part in parts])
            for end in ("value", "low", "high")
        )
        gaps.append(ScoreGaps(score.label, value, low, high))
    return compared_figure([METHOD_STYLES[method.key] for method in done], gaps, alt)


def _draw_reasons(reasons: dict[str, str]) -> None:
    unable = [reason for key, reason in reasons.items() if reason and METHODS[key].predicts]
    if not unable:
        return
    with st.expander(f"Why {len(unable)} methods are not on the list"):
        for reason in unable:
            st.caption(reason)


def _name(
    runs: dict[str, MethodRun], setting: _Setting, view: View
) -> tuple[tuple[Hashable, ...], str, tuple[ScorePlan, ...], tuple[str, ...]]:
    """All that a comparison of runs depends on."""
    return setting.name, view.digest, tuple(run.plan for run in runs.values()), tuple(runs)


@st.cache_resource(scope="session", show_spinner=False)
def _kept() -> dict[Hashable, MethodRun]:
    """Runs of this session, by the table and their plan: none is trained twice."""
    return {}


def _reasons(setting: _Setting) -> dict[str, str]:
    name = setting.name, setting.plan
    return remember(name, why_not_compared, setting.prepared, setting.plan, most=8)
