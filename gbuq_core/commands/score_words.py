"""What the commands say about scores: as fields of JSON, and on one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gbuq_core import tables
from gbuq_core.presentation import short

_OF_NUMBERS = ("rmse", "baseline_rmse", "crps")
_OF_CLASSES = ("error_rate", "baseline_error_rate", "calibration_error", "auroc")


def model_record(scored: tables.ScoredTable) -> dict[str, Any]:
    """What was learnt, how well it does on rows held out, and what to ask of that."""
    law = tables.law_found(scored.models)
    return {
        "questions": question_records(scored.questions),
        "target": scored.training.target.name,
        "task": scored.training.target.task,
        "protocol": scored.protocol,
        "plan": vars(scored.plan),
        "law": None if law is None else law._asdict(),
        "scores": scores_record(tables.written_scores(scored)),
    }


def question_records(questions: Sequence[tables.SplitQuestion]) -> list[dict[str, Any]]:
    """What to ask before the scores are believed."""
    return [{"text": str(question), **question._asdict()} for question in questions]


def model_lines(scored: tables.ScoredTable, no_coverage: str) -> list[str]:
    """`model_record` in sentences; ``no_coverage`` says why none is quoted."""
    target = scored.training.target
    scores = tables.written_scores(scored)
    withheld = no_coverage and isinstance(scores, tables.RegressionScores)
    reason = target.reason
    if reason.endswith(tables.AS_CLASSES):
        reason = f"{reason.removesuffix('.')} (--task regression)."
    return [
        *map(str, scored.questions),
        f"{target.task.capitalize()} of {target.name}. {reason}",
        f"On rows held out: {scores_line(scores, quotes_coverage=not no_coverage)}",
        *([no_coverage] if withheld else []),
    ]


def scores_record(scores: tables.Scores | None) -> dict[str, Any] | None:
    """The numbers of some scores, without the curves behind them; shares are 0 to 1."""
    if scores is None:
        return None
    record: dict[str, Any] = {"rows": scores.n_rows, "nll": scores.nll}
    if isinstance(scores, tables.RegressionScores):
        levels = zip(scores.coverage.levels, scores.coverage.observed, strict=True)
        coverage = [{"level": level, "observed": share} for level, share in levels]
        record |= {name: getattr(scores, name) for name in _OF_NUMBERS} | {"coverage": coverage}
    else:
        record |= {name: getattr(scores, name) for name in _OF_CLASSES}
    return {**record, "prr_percent": scores.prr}


def drift_record(drift: tables.TableDrift) -> dict[str, Any]:
    """How the second file differs from the first; shares are 0 to 1."""
    measured = drift.unfamiliarity is not None
    return {
        "share_outside": drift.outside,
        "usual_outside": drift.usual_outside,
        "share_foreign": drift.foreign if measured else None,
        "usual_foreign": drift.usual_foreign if measured else None,
        "columns": [
            {
                "name": column.name,
                "psi": column.psi,
                "chance_up_to": column.chance,
                "shift": column.size,
                "share_outside_range": column.outside,
                "rows_new_category": column.n_new_level,
                "missing_first": column.missing[0],
                "missing_second": column.missing[1],
            }
            for column in drift.columns
        ],
    }


def scores_line(scores: tables.Scores, quotes_coverage: bool = True) -> str:
    """The scores of some rows on one line."""
    if isinstance(scores, tables.RegressionScores):
        pairs = zip(scores.coverage.levels, scores.coverage.observed, strict=True)
        covered = ", ".join(f"{level:.0%}: {share:.0%}" for level, share in pairs)
        parts = [
            f"NLL {short(scores.nll, 4)} nats",
            f"RMSE {short(scores.rmse, 4)} (mean only: {short(scores.baseline_rmse, 4)})",
            f"CRPS {short(scores.crps, 4)}",
            *([f"coverage {covered}"] if quotes_coverage else []),
        ]
    else:
        parts = [
            f"NLL {short(scores.nll, 4)} nats",
            f"error rate {scores.error_rate:.2%} (most frequent class: "
            f"{scores.baseline_error_rate:.2%})",
        ]
    ranks = [
        f"{kind} {value:.0f}"
        for kind, value in scores.prr._asdict().items()
        if math.isfinite(value)
    ]
    if ranks:  # without an error, there is nothing to rank
        parts.append(f"PRR {', '.join(ranks)} %")
    return f"{', '.join(parts)}; {scores.n_rows:,} rows."
