"""Soft trees' scorecard, and the paper's statements beside it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from gbuq_core.experiments.soft_trees.claims import check_claims
from gbuq_core.experiments.soft_trees.data import N_FRESH
from gbuq_core.experiments.soft_trees.fit import SoftTreesRun
from gbuq_core.experiments.soft_trees.scores import SoftTreesScore, score_soft_trees
from gbuq_core.presentation import digits, markdown_table, megabytes, percent
from pages._ui.claims import draw_claim
from pages._ui.kept import keep_only, kept

_SCORES = "soft-trees-score:"  # what is kept of each method
_HOW = (
    "Stds of the functions and errors in units of the target's std. Agreement: the share of the "
    "functions' variation, where rows are, that all of them have in common. RMSE to the true mean, "
    f"intervals and NLL (in nats): {N_FRESH:,} fresh rows. A dash where the data do not tell: "
    "own points have no truth, step and wavelet no empty places. Seconds: the training alone."
)


def scores_of(run: SoftTreesRun) -> tuple[SoftTreesScore, ...]:
    """The methods' scores, each worked out once for its functions."""
    keep_only(_SCORES, {_SCORES + fit.method for fit in run.fits})
    return tuple(
        kept(
            _SCORES + fit.method, [fit, view], None,
            lambda fit=fit, view=view: score_soft_trees(fit, view, run.settings),
        )
        for fit, view in zip(run.fits, run.views, strict=True)
    )  # fmt: skip


def draw_scores(run: SoftTreesRun) -> None:
    """The scorecard beside the paper's statements."""
    scores, claims = st.columns([0.58, 0.42], gap="large")
    found = scores_of(run)
    with scores:
        st.header("Scorecard")
        if not found:
            st.text("Scores appear with the first fit.")
        else:
            with st.container(key="table-scores"):
                st.markdown(markdown_table(score_rows(found)))
            st.caption(_HOW)
    with claims:
        st.header("The paper and this picture")
        said = check_claims(run, found) if found else ()
        for claim in said:
            draw_claim(claim)
        if not said:
            st.text("The paper says nothing about these methods on these data.", width="stretch")


def score_rows(scores: Sequence[SoftTreesScore]) -> list[tuple[str, ...]]:
    """A line a score and a column a method, so that it fits a phone; first the headings."""
    lines: list[tuple[str, ...]] = [("Score", *(one.label for one in scores))]
    for title, name in (
        ("Functions differ, where rows are", "inside"),
        ("Functions differ, elsewhere", "outside"),
        ("Fan-out, times", "fan_out"),
        ("Agreement where rows are", "agreement"),
        ("RMSE to the true mean", "rmse"),
        ("NLL (nats)", "nll"),
    ):
        lines.append((title, *(digits(getattr(one, name)) for one in scores)))
    lines.append(("In the 90 % interval", *(percent(one.coverage, 1) for one in scores)))
    lines.append(("Seconds", *(digits(one.seconds) for one in scores)))
    lines.append(("Megabytes", *(megabytes(one.memory_bytes) for one in scores)))
    return lines
