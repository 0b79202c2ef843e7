"""Is it any good? Warnings, PIT, coverage by level and group, classes, and thresholds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidParameter
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.judged import (
    describe_groups,
    describe_pit,
    groups_figure,
    pit_figure,
)
from gbuq_core.knobs import Knob
from gbuq_core.lenses.choices import GROUP
from gbuq_core.lenses.lens import GOOD, GROUPING_COLUMNS, Lens, Seen
from gbuq_core.lenses.pictures import kinds_of, promises_of, ranking_kind, style_of
from gbuq_core.metrics import (
    auroc,
    average_precision,
    pit_histogram,
    recall_threshold,
)
from gbuq_core.presentation import digits, listed, percent, short
from gbuq_core.tables import (
    ClassScore,
    HeldOut,
    OwnGroups,
    ScoredTable,
    Table,
    class_scores,
    coverage_by_group,
    group_column,
    held_out,
    held_out_inside,
    held_out_unfamiliarity,
    own_groups,
    pit_values,
    split_warnings,
    why_no_coverage,
    why_not_conformal,
)
from gbuq_core.tables.splitting import split_names

MEANING = "All numbers are from rows that their model did not learn from."
GROUP_MEANING = (
    "Dots are measured, ticks are what they should be. The bars of the groups are bands that hold "
    "together with 95 % confidence; the colour changes where a band excludes its tick."
)
_CLASS_MEANING = (
    "Rarest first. Recall is the share of its rows that are predicted so, with a 95 % Wilson band. "
    "PR-AUC by chance is the class's share of the rows."
)
_THRESHOLD_MEANING = (
    "Of the rows above a threshold, a person may look at each. It is the largest one that finds "
    "enough rows, with confidence. Large errors are the largest fifth. A condition such as "
    'total >= 50 in "Find rows" lists them. It holds for new rows like those held out; where '
    "folds have models of their own, that is no theorem."
)
_HEIGHT = 240

WITHIN = Knob(
    "within",
    "Intervals that should hold",
    "ladder",
    90,
    choices=(50, 80, 90, 95),
    unit="% of the rows",
    group="page",
)
CONFORMAL = Knob(
    "conformal",
    "Conformal intervals",
    "switch",
    False,
    group="page",
    help="On: each end is as far away as held-out rows need, whatever the law. Also in the "
    "downloads. Trains nothing.",
)
EACH = Knob(
    "each",
    "Each group its own width",
    "switch",
    False,
    group="page",
    help="On: held-out rows of a group say how wide its conformal intervals are. Small groups "
    "share. Also in the downloads. Trains nothing.",
)
ALONE = "(no other column)"
ALSO = Knob(
    "also",
    "And by",
    "choice",
    ALONE,
    choices=(ALONE, GROUPING_COLUMNS),
    group="page",
    plain=True,
    needs=("each", (True,)),
    help="Groups of two columns overlap: the intervals of all of them are made to hold.",
)
CAUGHT = Knob(
    "caught",
    "Find at least",
    "ladder",
    80,
    choices=(80, 90, 95, 98, 99),
    unit="% of the rows to find",
    group="page",
)
_CONFIDENCE = 0.95
_LARGE = 0.2  # of the errors of a regression


def held_rows(seen: Seen) -> HeldOut:
    """The rows that all lenses of this file judge."""
    return held_out(seen.scored)


def _is_class(seen: Seen) -> bool:
    return bool(seen.scored.training.target.classes)


def _is_whole(seen: Seen) -> bool:
    """Whether the file's rows are those that were trained on."""
    return seen.table.n_rows == len(seen.scored.training.X)


def _warning_sections(seen: Seen, nothing: None) -> list[Section]:
    if not _is_whole(seen):
        return []
    none = "No repeated identifiers, copied rows, leaking or duplicate columns were found."
    return [Section(text=split_warnings(seen.table, seen.scored.training) or none)]


def _pit_sections(seen: Seen, held: HeldOut) -> list[Section]:
    pit = pit_values(held)
    words = describe_pit(pit)
    figure = pit_figure(pit_histogram(pit), style_of(seen.scored), words, _HEIGHT)
    return [Section(curves=figure, caption=words)]


def _level_sections(seen: Seen, held: None) -> list[Section]:
    if why_no_coverage(seen.scored):
        return []
    figure = promises_of(seen.scored, seen.values.conformal)
    return [Section(curves=figure, caption=str(figure.spec["alt"]))]


def _group_sections(seen: Seen, held: HeldOut) -> list[Section]:
    """The groups of the chosen columns, each as a picture and a table."""
    names = [each.name for each in seen.scored.training.schema.columns]
    columns = split_names(_columns(seen.values), names)
    if not {*columns} <= {*names} - {seen.scored.training.target.name}:
        return []  # of another table than the one that was scored
    return [_groups_of(seen, held, column) for column in columns]


def _groups_of(seen: Seen, held: HeldOut, column: str) -> Section:
    scored = seen.scored
    level = 0.0 if held.classes else seen.values.within / 100.0
    by, refused = _own(scored, seen.table, seen.values)
    by_distance = (seen.values.conformal or by is not None) and not held.classes
    inside = held_out_inside(scored, level, True, held, by) if by_distance else None
    groups = group_column(seen.table, scored.training.schema.column(column), held.rows)
    coverage = coverage_by_group(held, groups, level, inside)
    lines = [("Group", "Rows", "Should be", "Is", "Band")]
    for name, n_rows, promised, observed, low, high, _ in zip(*coverage, strict=True):
        band = f"{percent(low, 0).removesuffix(' %')} to {percent(high, 0)}"
        lines.append((name, f"{n_rows:,}", percent(promised, 0), percent(observed, 0), band))
    words = describe_groups(coverage, bool(held.classes))
    if by is not None:
        shared = f"{listed(by.shared)} share one width, since they have few rows. "
        words = (
            f"{shared if by.shared else ''}One part of the held-out rows says the widths, and "
            f"another part judges them. {words}"
        )
    elif seen.values.each:
        words = f"{refused} {words}".lstrip()
    elif bool(coverage.is_off[1:].any()) and not held.classes:
        words = f'{words} "{EACH.label}" repairs that.'
    axis = "rows predicted right (%)" if held.classes else "rows inside their interval (%)"
    figure = groups_figure(coverage, style_of(scored), axis, words)
    heading = f'{_group_title(seen)[:-1]} of "{column}"?'
    return Section(heading=heading, text=words, curves=figure, caption=GROUP_MEANING, table=lines)


def _columns(values: Any) -> str:
    """The columns that rows are grouped by, with commas between."""
    also = getattr(values, "also", ALONE)
    is_one = not values.each or also in (ALONE, values.group)
    return str(values.group if is_one else f"{values.group}, {also}")


def repaired_by(scored: ScoredTable, table: Table, values: Any) -> OwnGroups | None:
    """The groups that have intervals of their own, as the reader chose."""
    return _own(scored, table, values)[0]


def _own(scored: ScoredTable, table: Table, values: Any) -> tuple[OwnGroups | None, str]:
    if not values.each or getattr(values, "group", None) is None:
        return None, ""
    try:
        return own_groups(scored, _columns(values), table), ""
    except InvalidParameter as error:
        return None, str(error)


def _group_title(seen: Seen) -> str:
    asked = "Is it right as often as it says" if _is_class(seen) else "Do intervals hold"
    return f"{asked} in every group?"


def _class_sections(seen: Seen, held: HeldOut) -> list[Section]:
    lines = [("Class", "Rows", "Recall", "Precision", "PR-AUC (by chance)", "AUROC")]
    lines += [
        (
            score.name,
            f"{score.n_rows:,}",
            _recall_cell(score),
            _share_cell(score.precision),
            _pr_cell(score, len(held.y)),
            digits(score.auroc) if np.isfinite(score.auroc) else "",
        )
        for score in class_scores(held)
    ]
    wrong, caption = held.errors, ""
    if 0.0 < wrong.mean() < 1.0:
        kind = ranking_kind(seen.scored, seen.values.rank)
        order = getattr(held.predictions.uncertainty, kind)
        caption = (
            f"By {kind} uncertainty, wrong rows are found with an AUROC of "
            f"{digits(auroc(wrong, order))} (0.5 by chance) and a PR-AUC of "
            f"{digits(average_precision(wrong, order))} ({digits(wrong.mean())} by chance)."
        )
    return [Section(table=lines, caption=caption)]


def _recall_cell(score: ClassScore) -> str:
    """A class's recall with its band; empty where no row has the class."""
    if not score.n_rows:
        return ""
    low = percent(score.low, 0).removesuffix(" %")
    return f"{percent(score.recall, 0)} ({low} to {percent(score.high, 0)})"


def _share_cell(value: float) -> str:
    """A share in percent; empty where there is none."""
    return percent(value, 0) if np.isfinite(value) else ""


def _pr_cell(score: ClassScore, n_rows: int) -> str:
    """A class's PR-AUC, and what chance gives among so many rows."""
    if not score.n_rows:
        return ""
    return f"{digits(score.average_precision)} ({digits(score.n_rows / n_rows)})"


def _threshold_sections(seen: Seen, held: HeldOut) -> list[Section]:
    """A threshold on each uncertainty, and on the probability of each of two classes."""
    recall, lines, words = seen.values.caught / 100.0, list[tuple[str, ...]](), list[str]()
    fewest = int(np.ceil(np.log1p(-_CONFIDENCE) / np.log(recall)))
    for target in _targets(seen, held):
        n_rows = int(target.rows.sum())
        if n_rows < fewest:
            words.append(
                f"To be sure of {target.name} takes {fewest} such rows held out, and there "
                f"{'is' if n_rows == 1 else 'are'} {n_rows}."
            )
            continue
        for name, (scores, write) in target.scores.items():
            rule = recall_threshold(target.rows, scores, recall, _CONFIDENCE)
            shares = (percent(share, 1) for share in rule[1:])
            lines.append((target.name, name, write(rule.threshold), *shares))
    heads = ("To find", "By", "From", "Found", "Rows flagged", "Flagged rightly")
    if lines:
        sure = f"With {100 * _CONFIDENCE:g} % confidence, at least {seen.values.caught:g} %"
        words.insert(0, f"{sure} of such new rows are at or above the threshold.")
    return [Section(text=words, table=(heads, *lines) if lines else ())]


class _Target(NamedTuple):
    """Rows to find, and the scores that may find them, each with a way to write it."""

    name: str
    rows: NDArray[np.bool_]
    scores: dict[str, tuple[NDArray[np.float64], Callable[[float], str]]]


def _targets(seen: Seen, held: HeldOut) -> list[_Target]:
    """Wrong rows, or those with the largest errors; and each of two classes."""
    errors, parts = held.errors, held.predictions.uncertainty
    is_std = seen.values.unit == "std" and not held.classes
    write = (lambda variance: digits(np.sqrt(variance))) if is_std else digits
    kinds = kinds_of(seen.scored)
    scores = {f"{kind} uncertainty": (getattr(parts, kind), write) for kind in kinds}
    unfamiliarity = held_out_unfamiliarity(seen.scored, held.rows)
    if unfamiliarity is not None:
        scores["unfamiliarity"] = (unfamiliarity, digits)
    if not held.classes:
        limit = np.quantile(errors, 1.0 - _LARGE)
        return [_Target(f"errors above {short(limit)}", errors > limit, scores)]
    targets = [_Target("wrong rows", errors > 0.0, scores)]
    if len(held.classes) == 2:
        for code, name in enumerate(held.classes):
            by = held.predictions.probabilities[:, code], partial(percent, decimals=1)
            targets.append(_Target(name, held.y == code, {"its probability": by}))
    return targets


LENSES = (
    Lens(
        key="split-warnings",
        place=GOOD,
        title="Is it any good?",
        meaning=MEANING,
        depends="fit",
        compute=lambda seen: None,
        sections=_warning_sections,
    ),
    Lens(
        key="pit",
        place=GOOD,
        title="Are the predicted distributions right?",
        half=True,
        concerns=lambda seen: not _is_class(seen) and not why_no_coverage(seen.scored),
        compute=held_rows,
        sections=_pit_sections,
    ),
    Lens(
        key="classes",
        place=GOOD,
        title="How well is each class found?",
        meaning=_CLASS_MEANING,
        shows=("rank",),
        concerns=_is_class,
        compute=held_rows,
        sections=_class_sections,
    ),
    Lens(
        key="levels",
        place=GOOD,
        title="Do intervals hold at every level?",
        half=True,
        report="no",  # it has this picture anyhow
        knobs=(WITHIN, CONFORMAL),
        refuse=lambda seen: why_not_conformal(seen.scored.training.target.classes),
        compute=lambda seen: None,
        sections=_level_sections,
    ),
    Lens(
        key="groups",
        place=GOOD,
        title=_group_title,
        meaning=GROUP_MEANING,
        knobs=(GROUP, EACH, ALSO),
        shows=("within", "conformal"),
        without=lambda seen: ("each", "also") if _is_class(seen) else (),
        concerns=lambda seen: (
            getattr(seen.values, "group", None) is not None
            and _is_whole(seen)
            and not why_no_coverage(seen.scored)
        ),
        compute=held_rows,
        sections=_group_sections,
    ),
    Lens(
        key="threshold",
        place=GOOD,
        title="Which threshold finds enough of the large errors?",
        meaning=_THRESHOLD_MEANING,
        knobs=(CAUGHT,),
        shows=("unit",),
        compute=held_rows,
        sections=_threshold_sections,
    ),
)
