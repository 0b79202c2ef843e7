"""A scored table in words: how good it is, and what was chosen."""

from __future__ import annotations

import numpy as np

from gbuq_core.methods import METHODS
from gbuq_core.presentation import number_word, short
from gbuq_core.tables.cutting import CutModel
from gbuq_core.tables.drifting import why_no_coverage
from gbuq_core.tables.evaluating import RegressionScores
from gbuq_core.tables.evidence import find_evidence
from gbuq_core.tables.intervals import table_ends, written_scores
from gbuq_core.tables.judging import heavy_rows
from gbuq_core.tables.plan import Cut
from gbuq_core.tables.predicting import trees_of
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.unfamiliar import Evidence, foreign_notice

_ROUNDING = 1e-12  # of total uncertainty: so little knowledge uncertainty orders no rows


def describe_table(scored: ScoredTable) -> list[str]:
    """How good the result is, and which uncertainties find large errors, in plain sentences.

    The sentences may hold the user's words, such as the name of the target.
    """
    evidence = find_evidence(scored)
    known = scored.new_scores if scored.protocol == "new_file" else scored.scores
    sentences = [f"{_how_scored(scored)} {_how_good(scored)}", *table_ends(scored)]
    sentences.append(_what_finds_errors(scored, evidence))
    sentences[:0] = [*scored.new_units, *map(str, scored.questions), *heavy_rows(scored)]
    unfamiliarity = scored.unfamiliarity
    if unfamiliarity is not None and unfamiliarity.is_foreign:  # before anything else
        sentences.insert(0, foreign_notice(unfamiliarity))
    if known is not None and evidence["total"].excludes_chance:
        curve = known.rejection.total
        start = float(curve.remaining[0])
        if start > 0.0:
            left = float(np.interp(0.1, curve.rejected, curve.remaining))
            regression = isinstance(known, RegressionScores)
            what, goes = ("squared error", "goes") if regression else ("wrong classes", "go")
            sentences.append(
                "If a person handles the most uncertain 10 % of rows, "
                f"{100 * (1 - left / start):.0f} % of the {what} {goes} away (10 % would by "
                "chance)."
            )
    return sentences


def say_trust(scored: ScoredTable) -> str:
    """Whether the model knows where it errs, in one sentence of no numbers."""
    what = "rows that the model is unsure of have larger errors."
    if scored.training.target.classes:
        what = "rows that the model is unsure of are wrong more often."
    if not find_evidence(scored)["total"].excludes_chance:
        what = "nothing here shows that the model knows where it errs."
    return f"In the first file, {what}" if scored.protocol == "new_file" else what.capitalize()


def why_no_knowledge(scored: ScoredTable) -> str:
    """Say why no row has knowledge uncertainty; empty if some rows have it.

    It is how much the members disagree: NaN where nothing can, and 0 where they are all equal.
    """
    part, plan = scored.predictions.uncertainty, scored.plan
    if float(part.knowledge.max()) > _ROUNDING * float(part.total.max()):
        return ""
    if plan.listed:
        return f"{METHODS[plan.method].label} tells no knowledge uncertainty."
    if count_members(scored) > 1:
        return "All members predict the same for every row, so there is no knowledge uncertainty."
    remedy = "use more members"
    if plan.cyclical:
        remedy = "lower the burn-in"
    elif plan.ensemble == "virtual":
        remedy = "choose a smaller truncation step or an earlier start"
    return f"With one member there is no knowledge uncertainty: {remedy}."


def count_members(scored: ScoredTable) -> int:
    """How many members the trees of each model have; 0 of a method that has no trees of ours."""
    trees = trees_of(scored.models[0].estimator)
    if trees is None:
        return 0
    return (trees if isinstance(trees, CutModel) else CutModel(trees, Cut())).n_members


def _how_scored(scored: ScoredTable) -> str:
    n_rows = len(scored.scored.X)
    split, n_held = scored.plan.split, int(scored.held.sum())
    if scored.protocol == "out_of_fold" and split == "time":
        return (
            f"{n_held:,} of the {n_rows:,} rows were each judged by a model of earlier rows. The "
            "earliest rows were only learnt from, so they look better than they are."
        )
    if scored.protocol == "out_of_fold" and split == "group":
        return (
            f"Each of the {n_rows:,} rows was judged by a model that did not learn from its group."
        )
    if scored.protocol == "out_of_fold":
        return f"Each of the {n_rows:,} rows was judged by a model that did not learn from it."
    if scored.protocol == "held_out":
        rows = {"group": "rows of held-out groups", "time": "latest rows"}
        return (
            f"The scores are measured on {'the ' if split == 'time' else ''}{n_held:,} "
            f"{rows.get(split, 'held-out rows')} out of {n_rows:,}. The model "
            "learnt from the other rows, so they look better than they are."
        )
    judged = (
        f"The {n_rows:,} rows of the second file were judged by a model of the whole first file."
    )
    if n_held == int(scored.training.known.sum()):
        return f"{judged} The scores are measured on folds of the first file that were held out."
    part = {"group": "some groups", "time": "the latest fifth"}.get(split, "a fifth")
    return f"{judged} The scores are measured on {part} of the first file that was held out."


def _how_good(scored: ScoredTable) -> str:
    scores = written_scores(scored)
    if isinstance(scores, RegressionScores):
        coverage = scores.coverage
        at = int(np.argmax(coverage.levels))
        name = " ".join(scored.training.target.name.split())[:40]
        covered = why_no_coverage(scored) or (
            f"Intervals of {100 * coverage.levels[at]:.0f} % "
            f"hold {100 * coverage.observed[at]:.0f} % of the rows."
        )
        return (
            f'The RMSE is {short(scores.rmse)} in units of "{name}" (always predicting the mean '
            f"gives {short(scores.baseline_rmse)}). {covered}"
        )
    return (
        f"{short(100 * scores.error_rate)} % of the predicted classes are wrong (always predicting "
        f"the most frequent class gives {short(100 * scores.baseline_error_rate)} %)."
    )


def _what_finds_errors(scored: ScoredTable, evidence: dict[str, Evidence]) -> str:
    """Which of the uncertainties point to large errors on this table."""
    kinds = {
        "knowledge": f"rows that {name_members(scored)} disagree about",
        "data": "noisy rows",
        "unfamiliarity": "unfamiliar rows",
    }
    missing = why_no_knowledge(scored)
    parts = []
    for kind, rows in kinds.items():
        if kind not in evidence or (missing and kind == "knowledge"):
            continue
        of_kind = evidence[kind]
        if of_kind.excludes_chance:
            parts.append(f"Here, {rows} have larger errors ({_prr(of_kind)}).")
        else:
            what = kind if kind == "unfamiliarity" else f"{kind} uncertainty"
            interval = f" ({_prr(of_kind)})" if np.isfinite(of_kind.prr) else ""
            parts.append(f"This table gives no evidence that {what} finds large errors{interval}.")
    return " ".join([*parts, missing] if missing else parts)


def _prr(evidence: Evidence) -> str:
    """The 95 % interval of the PRR; chance gives 0."""
    return f"PRR {evidence.low:.0f} to {evidence.high:.0f} %"


def explain_choices(scored: ScoredTable) -> list[str]:
    """Why this task, this ensemble and this split, one sentence each; they may hold user words."""
    split = scored.training.split
    reasons = [scored.training.target.reason, scored.why_ensemble]
    reasons += split.notices() if split is not None else []
    return [sentence for sentence in reasons if sentence]


def name_members(scored: ScoredTable) -> str:
    """Whose disagreement the knowledge uncertainty of a table is."""
    plan = scored.plan
    if plan.stacks:
        return "trees, similar rows and smooth trend"
    if plan.listed:
        return f"members of {METHODS[plan.method].label}"
    if plan.cyclical:
        return "cycles of one model"
    if plan.one_model:
        return "truncations of one model"
    n_members = count_members(scored)
    return "one model" if n_members == 1 else f"{number_word(n_members)} independent models"
