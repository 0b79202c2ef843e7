"""One row of a scored table in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gbuq_core.figures.table.features import FeatureValue
from gbuq_core.figures.table.members import describe_members
from gbuq_core.figures.table.unfamiliar import PartRank, describe_parts
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.lenses.pictures import RowUncertainties
from gbuq_core.presentation import digits, short
from gbuq_core.tables import (
    ColumnEffect,
    RowExplanation,
    ScoredTable,
    reason_of,
    say_reason,
    unfamiliarity_parts,
)
from gbuq_core.tables.checking import say_prediction
from gbuq_core.tables.unfamiliar import UNFAMILIAR

MOST_COLUMNS = 10  # whose effects are told
PARTS_MEANING = (
    "How many of the ordinary rows each measure puts below this row, from 0 to 1. The column is "
    "named where it alone adds more than half. K of five independent models and affinity name none."
)


def describe_row(
    scored: ScoredTable,
    shown: RowUncertainties,
    explained: RowExplanation | None,
    row: int,
    unfamiliarity: str = "",
) -> str:
    """The row in words, as far as they are known. Plain text that holds the user's words."""
    parts = [say_prediction(scored, row)]
    truth = scored.scored.y[row]
    if not np.isnan(truth):
        classes = scored.training.target.classes
        parts[0] += f", true value {classes[int(truth)] if classes else short(truth, 4)}"
    ranks = []
    for kind in ("data", "knowledge"):
        values = getattr(shown, kind)
        if np.isnan(values[row]):
            ranks.append(f"{kind} not known")
            continue
        share = int(100 * np.mean(values < values[row]))  # down, so that none is above all rows
        ranks.append(f"{kind} {digits(values[row])} (higher than {share} % of the rows)")
    parts.append(f"Uncertainty ({shown.unit.split(',')[0]}): {', '.join(ranks)}")
    if unfamiliarity:
        parts.append(unfamiliarity)
    effects = () if explained is None else explained.effects
    strange = [value for effect in effects if (value := feature_value(effect)).note]
    if strange:
        listed = ", ".join(f"{value.name} ({value.note})" for value in strange[:3])
        parts.append(f"Unusual values: {listed}")
    return ". ".join(parts) + "."


def feature_value(effect: ColumnEffect) -> FeatureValue:
    """A column's value with what is strange about it."""
    note = ""
    if effect.is_missing:
        note = "missing" if effect.share > 0 else "missing, but never in training"
    elif np.isfinite(effect.percentile):
        if effect.percentile in (0.0, 100.0):
            note = "outside the training range"
    elif effect.share == 0:
        note = "never seen in training"
    share = 0.0 if np.isnan(effect.share) else effect.share
    return FeatureValue(effect.column, effect.value, effect.percentile, share, note)


def by_size(effects: Iterable[ColumnEffect], kind: str) -> list[ColumnEffect]:
    """The columns by how much they change an uncertainty of the row, the largest first."""
    return sorted(effects, key=lambda effect: -abs(np.nan_to_num(getattr(effect, kind))))


def say_effects(effects: Iterable[ColumnEffect]) -> str:
    """What columns add to each uncertainty, for a text alternative."""
    return "; ".join(
        f"{effect.column}: "
        + ", ".join(
            f"{kind} {short(getattr(effect, kind), sign='+')}" for kind in UNCERTAINTY_KINDS
        )
        for effect in effects
    )


def say_width(explained: RowExplanation) -> str:
    """How wide the row's interval is beside usual ones, and what columns add; empty for classes."""
    if explained.classes:
        return ""
    effects = by_size(explained.effects, "width")[:3]
    adds = ", ".join(f"{effect.column} {short(effect.width, sign='+')}" for effect in effects)
    return (
        f"Its interval of 90 % is {short(explained.width)} wide, those of usual training rows "
        f"{short(explained.usual_width)}; of the difference {adds}."
    )


def say_unfamiliarity(scored: ScoredTable, row: int) -> str:
    """How unfamiliar a row is, with what says so where it is; empty where nothing was measured."""
    if scored.unfamiliarity is None:
        return ""
    score = float(scored.unfamiliarity.rows.score[row])
    words = f"Unfamiliarity {score:.2f}"
    reason = reason_of(scored, row) if score > UNFAMILIAR else None
    return words if reason is None else f"{words}: {say_reason(reason)}"


def parts_of(scored: ScoredTable, row: int) -> tuple[PartRank, ...]:
    """What every measure of unfamiliarity says about a row; empty where nothing was measured."""
    parts = unfamiliarity_parts(scored, row)
    return tuple(PartRank(part.part, part.rank, part.column) for part in parts)


def say_parts(scored: ScoredTable, row: int) -> str:
    """The same in words."""
    parts = parts_of(scored, row)
    return f"How unfamiliar it is, by measure: {describe_parts(parts)}." if parts else ""


def say_members(explained: RowExplanation) -> str:
    """What the members predict for the row, in words; empty for a method without members."""
    each = explained.member_probabilities
    if not len(each) and not len(explained.member_loc):
        return ""
    if not explained.classes:
        return describe_members(explained.member_loc, explained.member_scale)
    spans = zip(explained.classes, each.min(axis=0), each.max(axis=0), strict=True)
    chances = ", ".join(f"{name} {short(low)} to {short(high)}" for name, low, high in spans)
    return f"{len(each)} members give these probabilities: {chances}."
