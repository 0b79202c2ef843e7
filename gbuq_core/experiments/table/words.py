"""A scored table in words: how good it is, which rows not to trust and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.experiments.table.fit import Cut, CutModel, held_out_rows
from gbuq_core.presentation import short
from gbuq_core.tables.scoring import RegressionScores, ScoredTable, Scores

_NAMED_ROWS = 3
_ROUNDING = 1e-12  # of total uncertainty: so little knowledge uncertainty orders no rows


def describe_table(scored: ScoredTable) -> list[str]:
    """The result in words: how good it is, whom not to trust and why.

    Plain sentences that hold the user's words.
    """
    known = scored.new_scores if scored.protocol == "new_file" else scored.scores
    good = _how_good(scored.scores, scored.training.target.name)
    sentences = [f"{_how_scored(scored)} {good}", _whom_not_to_trust(scored)]
    if known is not None:
        curve = known.rejection.total
        start = float(curve.remaining[0])
        if start > 0.0:
            left = float(np.interp(0.1, curve.rejected, curve.remaining))
            what = "squared error" if isinstance(known, RegressionScores) else "wrong classes"
            sentences.append(
                "Handing over the most uncertain tenth takes away "
                f"{100 * (1 - left / start):.0f} % of the {what}; a random tenth takes away 10 %."
            )
    return sentences


def why_no_knowledge(scored: ScoredTable) -> str:
    """Why no row has knowledge uncertainty, in a sentence; empty if some have.

    It is what members disagree by: one member alone has none, and neither have equal ones.

    Examples
    --------
    >>> from gbuq_core.experiments.table.fit import cut_table
    >>> from gbuq_core.tables import ScorePlan, load_builtin, score_table
    >>> wine = load_builtin("wine")
    >>> plan = ScorePlan(method="csglb", n_trees=50, depth=2)
    >>> scored = score_table(wine.table, wine.about.target, schema=wine.schema, plan=plan)
    >>> why_no_knowledge(scored)
    ''
    >>> why_no_knowledge(cut_table(scored, Cut(burn_in=9)))
    'One member is left: no knowledge uncertainty; lower the burn-in.'
    """
    part, plan = scored.predictions.uncertainty, scored.plan
    if float(part.knowledge.max()) > _ROUNDING * float(part.total.max()):
        return ""
    if _n_members(scored.models[0].estimator) > 1:
        return "All members say the same of every row: no knowledge uncertainty."
    remedy = "let more members count"
    if plan.cyclical:
        remedy = "lower the burn-in"
    elif plan.ensemble == "virtual":
        remedy = "choose a smaller truncation step or an earlier start"
    return f"One member is left: no knowledge uncertainty; {remedy}."


def _n_members(estimator: Any) -> int:
    model = estimator if isinstance(estimator, CutModel) else CutModel(estimator, Cut())
    return model.n_members


def _how_scored(scored: ScoredTable) -> str:
    n_rows = len(scored.scored.X)
    if scored.protocol == "out_of_fold":
        return f"{n_rows:,} rows, each judged by a model that did not learn from it."
    if scored.protocol == "held_out":
        n_held = int(held_out_rows(scored).sum())
        return (
            f"{n_rows:,} rows; scores are those of {n_held:,} held-out ones, the others were "
            "learnt from and look better than they are."
        )
    return (
        f"{n_rows:,} rows of the second file, judged by a model of the whole first file; scores "
        "are those of a held-out fifth of the first."
    )


def _how_good(scores: Scores, target: str) -> str:
    if isinstance(scores, RegressionScores):
        at = int(np.argmax(scores.coverage.levels))
        name = " ".join(target.split())[:40]
        return (
            f'RMSE {short(scores.rmse)} in units of "{name}" ({short(scores.baseline_rmse)} for '
            f"always the mean); {100 * scores.coverage.levels[at]:.0f} % intervals hold "
            f"{100 * scores.coverage.observed[at]:.0f} % of the rows."
        )
    return (
        f"{short(100 * scores.error_rate)} % of the classes are wrong "
        f"({short(100 * scores.baseline_error_rate)} % for always the most frequent one)."
    )


def _whom_not_to_trust(scored: ScoredTable) -> str:
    """Names the rows at the top of knowledge and of data uncertainty, with the reason."""
    part = scored.predictions.uncertainty
    missing = why_no_knowledge(scored)
    if missing:
        noisy = np.argsort(-part.data, kind="stable")
        return (
            f"Trust least rows {_listed(noisy)} (rows like them differ among themselves: data). "
            f"{missing}"
        )
    strange = np.argsort(-part.knowledge, kind="stable")
    noisy = np.argsort(-part.data, kind="stable")
    return (
        f"Trust least rows {_listed(strange)} (few training rows are like them: knowledge) and "
        f"rows {_listed(noisy)} (rows like them differ among themselves: data)."
    )


def _listed(order: np.ndarray) -> str:
    names = [f"{row + 1:d}" for row in order[:_NAMED_ROWS]]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
