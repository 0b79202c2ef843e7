"""Soft trees' scorecard and the paper's statements."""

from __future__ import annotations

import streamlit as st

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.soft_trees.claims import STUDY, check_claims
from gbuq_core.experiments.soft_trees.export import score_section
from gbuq_core.experiments.soft_trees.fit import SoftTreesRun
from gbuq_core.experiments.soft_trees.scores import SoftTreesScore, score_soft_trees
from pages._ui.claims import draw_claims
from pages._ui.kept import keep_only, kept
from pages._ui.sections import draw_section

_SCORES = "soft-trees-score:"  # what is kept of each method


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


def draw_scores(run: SoftTreesRun) -> None:
    """The scorecard."""
    scores = scores_of(run)
    if scores:
        draw_section(score_section(scores), "scores")
    else:
        st.text("Scores appear when the first method is trained.")


def check_paper(run: SoftTreesRun, complete: bool) -> None:
    """The paper's statements, over seeds once all fits are done."""
    claims = claims_of(run)
    draw_claims(claims, STUDY if complete else None, run.settings)
    if not claims:
        st.text("The paper says nothing about these methods on these data.", width="stretch")
