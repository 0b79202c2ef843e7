"""Which rows of a scored table to check first, each with reasons that a person acts on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.distribution import Interval
from gbuq_core.presentation import one_line, percent, short
from gbuq_core.tables.editing import cell_text, prepared_cell
from gbuq_core.tables.evidence import find_evidence
from gbuq_core.tables.intervals import row_intervals
from gbuq_core.tables.output import interval_names
from gbuq_core.tables.plan import USUAL_LEVEL
from gbuq_core.tables.predicting import law_variance, row_errors
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.unfamiliar import reason_of
from gbuq_core.tables.words import name_members, why_no_knowledge

MOST_CHECKED = 10
_NEVER = "which the model has never seen: check this value."
_LEVEL = percent(USUAL_LEVEL, 0)
_EXTREME = 0.1  # a second reason is told where so few rows are as extreme
_WIDER = 1.05  # times as wide as usual, and above, a range is told as wide


class Check(NamedTuple):
    """A row to check: its position, and why, in sentences that may hold the user's words."""

    row: int
    why: str
    also: str = ""  # a second reason


def rows_to_check(scored: ScoredTable, n: int = MOST_CHECKED) -> list[Check]:
    r"""The rows to check first, and why each of them.

    Up to five things speak against a row: it is unfamiliar, it has a category or a gap that the
    model has not seen, its target is at odds with what is predicted, the members disagree about it,
    and rows like it have very different values. For each, a row has the share of rows that are at
    least as extreme. Rows are ordered by the smallest of their shares, and by the product of all
    where it is the same. Disagreement and noise count where the bootstrap says that they find large
    errors on this table; where nothing else speaks, the total uncertainty does.
    """
    shares = {name: _share_above(values) for name, values in _concerns(scored).items()}
    every = np.stack(list(shares.values()))
    checks = []
    for row in np.lexsort((every.prod(axis=0), every.min(axis=0)))[:n].tolist():
        first, *others = sorted(shares, key=lambda name: shares[name][row])
        others = [name for name in others if {first, name} != {"disputed", "noisy"}]
        concerns = [first, *(name for name in others[:1] if shares[name][row] <= _EXTREME)]
        checks.append(Check(row, *(_say(scored, row, name) for name in concerns)))
    return checks


def say_prediction(scored: ScoredTable, row: int) -> str:
    """What is predicted for a row, and the range of 90 % of such rows, or how sure it is."""
    predicted = name_prediction(scored, row)
    if scored.training.target.classes:
        code = int(scored.predictions.loc[row])
        sure = _chance(scored.predictions.probabilities[row, code])
        return f"Predicted {predicted}, {sure} sure"
    lower, upper = (float(end[row]) for end in _usual_intervals(scored))
    ends = f"{short(lower)} to {short(upper)}"
    return f"Predicted {predicted}, {_LEVEL} range {ends}"


def _usual_intervals(scored: ScoredTable) -> Interval:
    """By the law of each row, which the table holds already unless it was asked for others."""
    if scored.level == USUAL_LEVEL and not scored.conformal:
        lower, upper = (scored.frame[name].to_numpy() for name in interval_names(USUAL_LEVEL))
        return Interval(lower, upper)
    return row_intervals(scored, USUAL_LEVEL)


def name_prediction(scored: ScoredTable, row: int) -> str:
    """The number or the class that is predicted for a row."""
    loc = float(scored.predictions.loc[row])
    classes = scored.training.target.classes
    return one_line(classes[int(loc)]) if classes else short(loc)


def _concerns(scored: ScoredTable) -> dict[str, NDArray[np.float64]]:
    """What speaks against each row, by name: the larger, the more. NaN speaks neither way."""
    part, evidence = scored.predictions.uncertainty, find_evidence(scored)
    concerns: dict[str, NDArray[np.float64]] = {}
    if scored.unfamiliarity is not None:
        order = scored.unfamiliarity.rows.order()
        concerns["unfamiliar"] = np.empty(len(order))
        concerns["unfamiliar"][order] = np.arange(len(order), 0.0, -1.0)
    unseen = scored.predictions.unseen_level | scored.predictions.new_missing
    if unseen.any():
        concerns["unseen"] = unseen.astype(np.float64)
    if np.isfinite(odd := _oddness(scored)).any():
        concerns["odd"] = odd
    if evidence["knowledge"].excludes_chance and not why_no_knowledge(scored):
        concerns["disputed"] = part.knowledge
    if evidence["data"].excludes_chance:
        concerns["noisy"] = part.data
    return concerns or {"noisy": law_variance(part)}


def _oddness(scored: ScoredTable) -> NDArray[np.float64]:
    """Stds from target to prediction, or how improbable its class is; NaN where it says nothing."""
    errors = row_errors(scored.scored, scored.predictions)
    if scored.training.target.classes:
        own = np.nan_to_num(scored.scored.y).astype(np.int64)[:, None]
        chance = np.take_along_axis(scored.predictions.probabilities, own, axis=1)[:, 0]
        odd = np.where(errors > 0.0, 1.0 - chance, np.where(np.isnan(errors), np.nan, 0.0))
    else:
        std = np.sqrt(law_variance(scored.predictions.uncertainty))
        odd = errors / np.maximum(std, np.finfo(np.float64).tiny)
    if scored.protocol != "new_file":
        odd[~scored.held] = np.nan
    return odd


def _share_above(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of rows whose value is at least a row's own; 1 where it is not known."""
    known = np.sort(values[~np.isnan(values)])
    n_above = len(known) - np.searchsorted(known, np.nan_to_num(values), side="left")
    return np.where(np.isnan(values), 1.0, n_above / max(len(known), 1))


def _say(scored: ScoredTable, row: int, concern: str) -> str:
    say = {
        "unfamiliar": _say_unfamiliar,
        "unseen": _say_unseen,
        "odd": _say_odd,
        "noisy": _say_noisy,
    }
    if concern in say:
        return say[concern](scored, row)
    plan = scored.plan
    who = f"The {name_members(scored)}" if plan.listed else "The models"
    if plan.one_model:
        who = "Versions of the model"
    return f"{who} disagree: more rows like it would help."


def _say_unfamiliar(scored: ScoredTable, row: int) -> str:
    reason = reason_of(scored, row)
    if reason is None or not reason.column:
        return "Few rows are like it."
    cell = _cell(scored, row, reason.column)
    if not reason.what:
        return f"{cell}: few rows are like it."
    if reason.what in ("above", "below"):
        return f"{cell}, {reason.what} all that the model has seen: check this value."
    return f"{cell}, {_NEVER}"


def _say_unseen(scored: ScoredTable, row: int) -> str:
    unfamiliarity, flagged = scored.unfamiliarity, scored.predictions.flagged_columns
    outside = flagged if unfamiliarity is None else unfamiliarity.outside_columns[row]
    columns = [name for name in outside if name in flagged] or list(flagged)
    if len(columns) == 1:
        return f"{_cell(scored, row, columns[0])}, {_NEVER}"
    return "It has a category or a gap that the model has never seen: check its values."


def _cell(scored: ScoredTable, row: int, column: str) -> str:
    cell = cell_text(prepared_cell(scored.scored, row, column))
    return f'"{one_line(column)}" is {one_line(cell) or "missing"}'


def _say_odd(scored: ScoredTable, row: int) -> str:
    truth = scored.scored.y[row]
    if classes := scored.training.target.classes:
        chance = _chance(scored.predictions.probabilities[row, int(truth)])
        label = one_line(classes[int(truth)])
        return f"Recorded as {label}, but the model gives that {chance}: check the record."
    predicted = name_prediction(scored, row)
    return f"Recorded as {short(truth)}, but predicted {predicted}: check the record."


def _say_noisy(scored: ScoredTable, row: int) -> str:
    if classes := scored.training.target.classes:
        chances = scored.predictions.probabilities[row]
        first, second = np.argsort(-chances, kind="stable")[:2].tolist()
        either, other = (
            f"{one_line(classes[code])} ({_chance(chances[code])})" for code in (first, second)
        )
        return f"It may be {either} or {other}: let a person decide."
    lower, upper = _usual_intervals(scored)
    times = float((upper - lower)[row] / np.median(upper - lower))
    if not times > _WIDER:
        return "Its range is about as wide as usual: nothing else speaks against it."
    return "Rows like it vary a lot: more rows will not help."


def _chance(share: float) -> str:
    """A probability in whole percent; none is told as 0 or 100."""
    if 0.01 <= share <= 0.99:
        return percent(share, 0)
    return "over 99 %" if share > 0.5 else "under 1 %"
