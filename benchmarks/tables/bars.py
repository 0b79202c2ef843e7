"""The figures to reach: each bar, whether the board meets it, and what counts towards it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from benchmarks.tables.board import Board, Place, Table
from benchmarks.tables.comparing import WORSE
from benchmarks.tables.pairing import gain_over, word_of_gain

MET, NOT_MET, OPEN = "met", "not met", "not computed yet"
MARKS = {MET: "\u25cf", NOT_MET: "\u25cb", OPEN: "\u25d0"}
MOST_MINUTES = 90.0
CORES = 2
_REGRESSION = ("boston", "concrete", "energy", "power", "protein", "wine")
_SOFT = ("vst", "vst:constant", "vsgbm", "vsgbm:constant")
_CALIBRATED = ("two_clocks", "scaled")
_NO_TREES = ("conformal_linear",)
_OUR_MACAU, _PAPERS_MACAU = "macau_linear:auto", "macau_linear"


class Item(NamedTuple):
    """One thing that counts: a set, or a method on all sets.

    good : None while it is not computed; detail : the numbers, in words.
    """

    name: str
    good: bool | None
    detail: str


class Bar(NamedTuple):
    """A figure to reach.

    Attributes
    ----------
    what, bar : str
        What is measured, and what it has to reach.
    verdict : str
        "met", "not met" or "not computed yet".
    needed, possible : int
        How many items must be good, of how many.
    items : tuple of Item
    explained : tuple of str
        Titles of findings that explain what is not met, or is not met in the paper's form.
    """

    what: str
    bar: str
    verdict: str
    needed: int
    possible: int
    items: tuple[Item, ...]
    explained: tuple[str, ...] = ()

    @property
    def good(self) -> int:
        """How many items are good."""
        return sum(item.good is True for item in self.items)

    @property
    def words(self) -> str:
        """The verdict with its count.

        Examples
        --------
        >>> Bar("", "", MET, 1, 2, (Item("a", True, ""), Item("b", None, ""))).words
        'met: 1 of 2, 1 not computed yet'
        """
        unknown = sum(item.good is None for item in self.items)
        rest = f", {unknown} {OPEN}" if unknown else ""
        return f"{self.verdict}: {self.good} of {self.possible}{rest}"


def bar_rows(bars: Sequence[Bar]) -> list[tuple[str, ...]]:
    """What is measured, the bar, and the verdict with its count; headings first."""
    return [
        ("What", "Bar", "Verdict"),
        *((bar.what, bar.bar, f"{MARKS[bar.verdict]} {bar.words}") for bar in bars),
    ]


def check_bars(board: Board) -> tuple[Bar, ...]:
    """All bars, computed from the board.

    Examples
    --------
    >>> from benchmarks.tables.board import read_board
    >>> {bar.verdict for bar in check_bars(read_board())} <= {"met", "not met", "not computed yet"}
    True
    """
    return tuple(check(board) for check in _CHECKS)


def _bar(
    what: str, bar: str, needed: int, items: Sequence[Item], explained: Sequence[str] = ()
) -> Bar:
    """A bar whose verdict is known as soon as the open items cannot change it."""
    good = sum(item.good is True for item in items)
    unknown = sum(item.good is None for item in items)
    verdict = MET if good >= needed else NOT_MET if good + unknown < needed else OPEN
    return Bar(what, bar, verdict, needed, len(items), tuple(items), tuple(explained))


def _per_set(sets: Sequence[str], judge: Callable[[str], tuple[bool | None, str]]) -> list[Item]:
    return [Item(name, *judge(name)) for name in sets]


def _not_computed(*methods: str) -> tuple[None, str]:
    return None, f"{OPEN}: {', '.join(methods)}"


def _none_worse(
    table: Table, pairs: Sequence[tuple[str, str]], name: str
) -> tuple[bool | None, str]:
    """Whether no method is worse than the published number by its score, on one set."""
    good, parts = True, []
    for method, score in pairs:
        beside = table.beside(name, method, score)
        if beside is None or not beside.word:
            return _not_computed(f"{method} {score}")
        good = good and beside.word != WORSE
        parts.append(f"{score.upper()} {beside}")
    return (good, "; ".join(parts)) if parts else _not_computed("a published number")


def _sglb_as_published(board: Board) -> Bar:
    judge = partial(_none_worse, board.table("sglb"), (("sglb", "nll"), ("sglb", "rmse")))
    return _bar(
        "SGLB ensemble: NLL and RMSE within two standard errors of paper 1, or better",
        "at least 5 of 6 sets", 5, _per_set(_REGRESSION, judge),
    )  # fmt: skip


def _independent_above_virtual(board: Board) -> Bar:
    table = board.table("sglb")

    def judge(name: str) -> tuple[bool | None, str]:
        independent = table.ours(name, "sglb", "auroc_knowledge")
        virtual = table.ours(name, "virtual_sglb", "auroc_knowledge")
        if independent is None or virtual is None:
            return _not_computed("sglb", "virtual_sglb")
        return independent.mean > virtual.mean, f"{independent} against {virtual}"

    return _bar(
        "AUROC of foreign rows by knowledge uncertainty: independent SGLB above virtual",
        "at least 5 of 6 sets", 5, _per_set(_REGRESSION, judge),
    )  # fmt: skip


def _first_or_tied(table: Table, score: str, name: str, method: str, rivals: Sequence[str]) -> Item:
    """Whether no rival is better by more than two standard errors of the paired difference.

    A single split has no standard error, and then the lower number is first.
    """
    wanted = table.find_score(score)
    ours = table.values(name, method, score)
    others = {rival: table.values(name, rival, score) for rival in rivals}
    others = {rival: values for rival, values in others.items() if values}
    if not ours or not others:
        return Item(name, *_not_computed(method if not ours else "rivals"))
    beaten_by, unknown = [], []
    for rival, values in others.items():
        gain = gain_over(ours, values, bool(wanted.higher))
        if gain is None:
            unknown.append(rival)
        elif word_of_gain(gain) == WORSE or (not word_of_gain(gain) and gain.mean < 0.0):
            beaten_by.append(table.find_method(rival).label)
    if beaten_by:
        return Item(name, False, f"behind {', '.join(beaten_by)}")
    if unknown:
        return Item(name, *_not_computed(*unknown))
    return Item(name, True, f"first or tied among {len(others) + 1} methods")


def _ibug_cbu_first(board: Board) -> Bar:
    table = board.table("ibug")
    rivals = ("ngboost", "pgbm", "virtual_sglb", "ibug")
    sets = [each.key for each in table.sets]
    items = [_first_or_tied(table, "crps", name, "ibug_cbu", rivals) for name in sets]
    return _bar(
        "IBUG+CBU: CRPS first or tied among paper 3's methods",
        f"at least 4 of 6 sets ({len(sets)} are measured)", 4, items,
    )  # fmt: skip


def _soft_trees_above_sglb(board: Board) -> Bar:
    table = board.table("soft_trees")
    score = "log_likelihood"

    def judge(name: str) -> tuple[bool | None, str]:
        sglb = table.ours(name, "sglb", score)
        soft = {key: table.ours(name, key, score) for key in _SOFT}
        computed = {key: value for key, value in soft.items() if value is not None}
        if sglb is None or not computed:
            return _not_computed("sglb" if sglb is None else "vst")
        best = max(computed, key=lambda key: computed[key].mean)
        good = computed[best].mean > sglb.mean
        if not good and len(computed) < len(_SOFT):
            return _not_computed(*(key for key in _SOFT if key not in computed))
        return good, f"{table.find_method(best).label} {computed[best]}, SGLB {sglb}"

    items = _per_set(_REGRESSION, judge)
    explained = {
        finding.title
        for item in items
        if item.good is False
        for method in (*_SOFT, "sglb")
        for finding in board.findings_on(Place(table.key, item.name, method, score))
    }
    return _bar(
        "VST or VSGBM: log likelihood above SGLB's, as paper 4 claims",
        "at least 3 of 6 sets, or shown why not", 3, items, sorted(explained),
    )  # fmt: skip


def _calibration_never_worse(board: Board) -> Bar:
    """Each pair of a method and its calibrated form, on all sets of a table."""
    ours, ibug = board.table("ours"), board.table("ibug")
    items = []
    for method in ours.methods:
        plain, _, variant = method.key.partition(":")
        if variant in _CALIBRATED:
            pairs = {
                entry.key: (
                    ours.values(entry.key, method.key, "crps"),
                    ours.values(entry.key, plain, "crps"),
                )
                for entry in ours.sets
                if entry.task == "regression" and (entry.key, method.key) in ours.wanted
            }
            items.append(_calibrated(method.label, pairs))
    judged = {method for _, method, score in ibug.published if score == "crps_raw"}
    for method in ibug.methods:
        pairs = {
            entry.key: (
                ibug.values(entry.key, method.key, "crps"),
                ibug.values(entry.key, method.key, "crps_raw"),
            )
            for entry in ibug.sets
            if (entry.key, method.key) in ibug.wanted
        }
        if method.key in judged and pairs:
            items.append(_calibrated(f"{method.label} (paper 3's calibration)", pairs))
    return _bar(
        "Calibration never makes CRPS worse, ties allowed, each method",
        "every method on all its sets", len(items), items,
    )  # fmt: skip


def _calibrated(label: str, pairs: dict[str, tuple[dict[int, float], dict[int, float]]]) -> Item:
    """Whether one method's calibrated form is worse on no set."""
    worse, unknown = [], []
    for name, (calibrated, plain) in pairs.items():
        gain = gain_over(calibrated, plain, higher=False)
        if gain is None or not word_of_gain(gain):
            unknown.append(name)
        elif word_of_gain(gain) == WORSE:
            worse.append(name)
    detail = f"{len(pairs) - len(worse) - len(unknown)} of {len(pairs)} sets"
    if worse:
        return Item(label, False, f"{detail}, worse on {', '.join(worse)}")
    if unknown:
        return Item(label, None, f"{detail}, {OPEN}: {', '.join(unknown)}")
    return Item(label, True, detail)


def _macau_first(board: Board) -> Bar:
    """Our default counts; the paper's form is told beside it. Forms of MACAU are no rivals."""
    table, name, score = board.table("macau"), "linear", "crps"
    ours = table.ours(name, _OUR_MACAU, score)
    papers = table.ours(name, _PAPERS_MACAU, score)
    rivals = {
        method.label: score_here
        for method in table.methods
        if not method.key.startswith("macau") and method.key not in _NO_TREES
        and (score_here := table.ours(name, method.key, score)) is not None
    }  # fmt: skip
    item, explained = Item(name, *_not_computed(_OUR_MACAU)), []
    if ours is not None and rivals:
        best = min(rivals, key=lambda label: rivals[label].mean)
        detail = f"our default {ours}; the best rival is {best} with {rivals[best]}"
        if papers is None:
            detail += f"; the paper's form is {OPEN}"
        else:
            first = papers.mean < rivals[best].mean
            detail += f"; the paper's form {papers} is {'first too' if first else 'not first'}"
            if not first:
                place = Place(table.key, name, _PAPERS_MACAU, score)
                explained = [finding.title for finding in board.findings_on(place)]
        item = Item(name, ours.mean < rivals[best].mean, detail)
    return _bar(
        "MACAU (linear), our default: first among tree methods in CRPS on the synthetic linear set",
        "yes", 1, [item], explained,
    )  # fmt: skip


def _default_against_the_best(board: Board) -> Bar:
    table = board.table("ours")
    # The default that was named in advance, not the law, which came later.
    named = {method for _, method, _ in table.published if method.startswith("sglb:")}

    def judge(name: str) -> tuple[bool | None, str]:
        pairs = [(m, s) for m in sorted(named) for s in ("crps", "nll")]
        return _none_worse(table, [p for p in pairs if (name, *p) in table.published], name)

    return _bar(
        "The default that was named in advance: CRPS and NLL against the best published ones",
        "better or tied on at least 4 of 6 sets", 4, _per_set(_REGRESSION, judge),
    )  # fmt: skip


def _small_setting(board: Board) -> Bar:
    wanted = sum(splits for table in board.tables for splits in table.wanted.values())
    cells = [
        result.seconds
        for table in board.tables
        for cell, splits in table.wanted.items()
        for result in table.results_of(*cell)
        if result.split < splits  # more than the setting has may be there
    ]
    done, seconds = len(cells), sum(cells)
    minutes = seconds / 60.0 / CORES
    detail = f"{minutes:.0f} min for {done:,} of {wanted:,} cells, were both cores always busy"
    small = all(table.effort in ("small", "") for table in board.tables)
    good = None if done < wanted or not small else minutes <= MOST_MINUTES
    return _bar(
        "The small setting, resumable after a kill",
        f"at most {MOST_MINUTES:.0f} min on two cores", 1, [Item("all tables", good, detail)],
    )  # fmt: skip


_CHECKS: tuple[Callable[[Board], Bar], ...] = (
    _sglb_as_published,
    _independent_above_virtual,
    _ibug_cbu_first,
    _soft_trees_above_sglb,
    _calibration_never_worse,
    _macau_first,
    _default_against_the_best,
    _small_setting,
)
