"""Soft trees' scorecard and the paper's statements."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.soft_trees.claims import STUDY, check_claims
from gbuq_core.experiments.soft_trees.data import N_FRESH
from gbuq_core.experiments.soft_trees.fit import SoftTreesRun
from gbuq_core.experiments.soft_trees.scores import SoftTreesScore, score_soft_trees
from gbuq_core.presentation import digits, markdown_table, megabytes, percent
from pages._ui.claims import draw_claims
from pages._ui.kept import keep_only, kept

_SCORES = "soft-trees-score:"  # what is kept of each method
_HOW = (
    "Spreads and RMSE are in standard deviations of y. Agreement is the share of the functions' "
    f"variation that all functions have in common. RMSE (to the true mean), NLL (in nats) and "
    f"intervals are measured on {N_FRESH:,} new rows. A dash means that the score does not exist: "
    "own points have no known truth, and step and wavelet have no places without rows. Seconds are "
    "the training time."
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


def claims_of(run: SoftTreesRun) -> tuple[Claim, ...]:
    """The paper's statements about the methods that are trained."""
    found = scores_of(run)
    return check_claims(run, found) if found else ()


def draw_scores(run: SoftTreesRun, complete: bool = True) -> None:
    """The scorecard and the paper's statements."""
    scores, claims = st.columns([0.58, 0.42], gap="large")
    found = scores_of(run)
    with scores:
        st.header("Scorecard")
        if not found:
            st.text("Scores appear when the first method is trained.")
        else:
            with st.container(key="table-scores"):
                st.markdown(markdown_table(score_rows(found)))
            st.caption(_HOW)
    with claims:
        st.header("The paper and this picture")
        said = claims_of(run)

        draw_claims(said, STUDY if complete else None, run.settings, columns=1)
        if not said:
            st.text("The paper says nothing about these methods on these data.", width="stretch")


def score_rows(scores: Sequence[SoftTreesScore]) -> list[tuple[str, ...]]:
    """A line a score and a column a method, so that it fits a phone; first the headings."""
    lines: list[tuple[str, ...]] = [("Score", *(one.label for one in scores))]
    for title, name in (
        ("Spread where there are rows", "inside"),
        ("Spread where there are none", "outside"),
        ("Ratio of the two", "fan_out"),
        ("Agreement where there are rows", "agreement"),
        ("RMSE to the true mean", "rmse"),
        ("NLL (nats)", "nll"),
    ):
        lines.append((title, *(digits(getattr(one, name)) for one in scores)))
    lines.append(("In the 90 % interval", *(percent(one.coverage, 1) for one in scores)))
    lines.append(("Seconds", *(digits(one.seconds) for one in scores)))
    lines.append(("Megabytes", *(megabytes(one.memory_bytes) for one in scores)))
    return lines
