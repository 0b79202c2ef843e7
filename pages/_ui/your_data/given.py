"""A model that the reader has: read apart, held against the table, and what its trees say."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError, UnknownLoss
from gbuq_core.given_models import LOSSES, read_model
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.jobs import Job
from gbuq_core.lenses.pictures import in_unit
from gbuq_core.lenses.register import LENSES, reader_choices
from gbuq_core.lenses.report import row_answers
from gbuq_core.presentation import percent
from gbuq_core.tables import (
    GivenTable,
    Schema,
    Table,
    describe_given,
    explain_with_model,
    score_with_model,
    to_csv_bytes,
)
from gbuq_core.tables.finding import list_rows
from pages._ui.jobs_glue import Request, ask_beside
from pages._ui.notices import show_notice
from pages._ui.your_data.lens import only_fresh, show_answer_or_progress
from pages._ui.your_data.results import draw_row_map
from pages._ui.your_data.rows import RowList, draw_list, measures_of
from pages._ui.your_data.source import Opened
from pages._ui.your_data.training import Wanted, own_key

_SECONDS = 8.0  # that reading a model and judging a table usually take
_MOST_COLUMNS = 6  # of a neighbour
_WITHOUT_LOSS = "_given_without_loss"  # digests of model files that do not name their loss
_RANKS = {"novelty": "Novelty", "total": "Total", "data": "Data", "knowledge": "Knowledge"}


class _Refused(NamedTuple):
    """A model that is not used, why in one sentence, and whether its loss is to be chosen."""

    why: str
    needs_loss: bool


def draw_given(
    given: tuple[str, Any],
    wanted: Wanted,
    opened: Opened,
    schema: Schema,
    second: Table | None,
    unit: str,
) -> None:
    """What the reader's own model says about the rows, or why it is not used."""
    digest, upload = given
    without_loss: set[str] = st.session_state.setdefault(_WITHOUT_LOSS, set())
    with st.container(key="given-model"):
        st.subheader("Your model")
        loss = _choose_loss(digest) if digest in without_loss else None
        asked = (digest, wanted.table, wanted.edits, wanted.target, wanted.task, wanted.second)
        request = Request(
            "given",
            own_key(("your data", "given", *asked, loss)),
            partial(_judge, upload, wanted, opened, schema, second, loss),
            "Reading your model and asking its trees about each row",
            _SECONDS,
            method="given",
            cancelled="Your model was not used.",
            failed="Your model could not be used.",
        )
        answer = only_fresh(ask_beside(request))
        judged = answer.result
        if isinstance(judged, _Refused) and judged.needs_loss and digest not in without_loss:
            without_loss.add(digest)
            st.rerun()
        if isinstance(judged, _Refused):
            kept = "Your table is still open, and the results below do not depend on this file."
            show_notice([judged.why, kept], "given", tone="error")
        elif isinstance(judged, GivenTable):
            _draw(judged, opened.table, unit, "given" + digest + wanted.target)
        else:
            show_answer_or_progress(answer)


def _choose_loss(digest: str) -> str | None:
    """By which loss the model was trained, of a file that does not say it."""
    return st.selectbox(
        "Loss of your model",
        LOSSES,
        index=None,
        placeholder="Choose the loss",
        key="_given_loss" + digest,
        width=320,
        help="The file does not say by which loss the model was trained. The loss tells how the "
        "sums of its trees become predictions.",
    )


def _judge(
    upload: Any,
    wanted: Wanted,
    opened: Opened,
    schema: Schema,
    second: Table | None,
    loss: str | None,
    job: Job,
) -> GivenTable | _Refused:
    try:
        model = read_model(bytes(upload.getvalue()), upload.name, loss=loss)
        return score_with_model(
            opened.table, wanted.target, model, task=wanted.task, schema=schema, new=second
        )
    except GbuqError as error:
        return _Refused(str(error), isinstance(error, UnknownLoss))


@st.fragment
def _draw(given: GivenTable, table: Table, unit: str, digest: str) -> None:
    """The rows by the given model: the map, the list, and the open row."""
    scored = given.scored
    n_rows = len(given.frame)
    st.text(f"{given.matched.model.summary} {_how_good(given)}", width="stretch")
    if given.warnings:
        show_notice(list(given.warnings), "given-warning", tone="error")
    shown = in_unit(scored, unit)
    row = int(st.session_state.get("row", 1)) - 1
    row = row if 0 <= row < n_rows else 0
    picture, beside = st.columns([0.54, 0.46], gap="large")
    with picture:
        if float(shown.knowledge.max()) > 0.0:
            draw_row_map(scored, shown, row, key="given-map")
        else:
            st.text("This model gives no knowledge uncertainty, so there is no map.")
    with beside:
        for sentence in given.notices:
            st.text(sentence, width="stretch")
    measures = dict(measures_of(scored, shown))
    if given.rows.novelty is not None:
        measures["novelty"] = given.rows.novelty
    ranks = [name for name in _RANKS if name in measures and not np.isnan(measures[name]).all()]
    usual = UNCERTAINTY_KINDS[0] if UNCERTAINTY_KINDS[0] in ranks else "data"
    with st.container(horizontal=True, vertical_alignment="bottom", key="given-controls"):
        rank = st.selectbox(
            "Highest first",
            ranks,
            index=ranks.index(usual),
            key="_given_rank",
            width=220,
            format_func=_RANKS.__getitem__,
        )
        st.download_button(
            "Rows (CSV)",
            data=partial(to_csv_bytes, given.frame),
            file_name="your-model.csv",
            mime="text/csv",
            key="_given_download",
        )
    ranked = list_rows(np.ones(n_rows, bool), measures[rank], False)
    listed = RowList(ranked.positions, ranked.n_found, n_rows)
    draw_list(scored, shown, listed, row, digest)
    _draw_row(given, row)
    lens = LENSES["change"]
    change = st.expander(str(lens.title), key="given-change", on_change="rerun")
    if change.open:
        choices = reader_choices(unit=unit, rank=rank)
        answers = row_answers(scored, table, choices, row, [lens.key])
        change.text("\n".join(answers[0][1].words), width="stretch")


def _draw_row(given: GivenTable, row: int) -> None:
    """The open row: where its prediction comes from."""
    explained = explain_with_model(given, row)
    numbers = given.scored.training.row_numbers
    st.markdown(f"**Row {given.scored.scored.row_numbers[row]:,} by your model**")
    for sentence in explained.sentences:
        st.text(sentence, width="stretch")
    if not explained.neighbours:
        return
    columns = [name for name, _ in explained.neighbours[0].cells][:_MOST_COLUMNS]
    cells: dict[str, list[str]] = {
        "c0": [str(numbers[near.row]) for near in explained.neighbours],
        "c1": [near.target for near in explained.neighbours],
    }
    config: dict[str, Any] = {
        "c0": st.column_config.TextColumn("Training row"),
        "c1": st.column_config.TextColumn(given.scored.training.target.name[:40]),
    }
    for place, name in enumerate(columns, 2):
        cells[f"c{place}"] = [dict(near.cells)[name] for near in explained.neighbours]
        config[f"c{place}"] = st.column_config.TextColumn(name[:40])
    st.dataframe(
        cells,
        hide_index=True,
        column_config=config,
        key="given-neighbours",
        alt="The training rows that share most leaves with the open row.",
    )
    shares = [f"{name} {percent(share)}" for name, share in explained.novelty_shares[:5]]
    if shares:
        st.text(f"Its distance to the training rows comes from: {', '.join(shares)}.")


def _how_good(given: GivenTable) -> str:
    scored = given.scored
    judged = scored.new_scores if scored.protocol == "new_file" else scored.scores
    return "" if judged is None else describe_given(given)
