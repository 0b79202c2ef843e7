"""How a table is read, and what it can be scored by: plain data, checked without the table.

The command line reads its choices and defaults here before it loads a library, so this file imports
the records of methods and nothing of NumPy, scikit-learn or numba.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gbuq_core.errors import InvalidParameter
from gbuq_core.methods import METHODS, Builder, Method, find_methods
from gbuq_core.methods.boosted import KNOBS
from gbuq_core.settings import AUTOMATIC, documented, setting

BOOSTED = ("sglb", "sgb", "csglb", "cbsglb")  # as `ScorePlan.method` and the ensembles call them
STACKED = "stacked"  # the law around SGLB's trees
CYCLICAL_METHODS = ("csglb", "cbsglb")
ENSEMBLES = (AUTOMATIC, "independent", "virtual")
SPLITS = ("random", "group", "time")
SCALES = ("plain", "log")
N_FOLDS, MOST_FOLDS = 5, 20
CYCLES, MEMBERS, TREES = 10, 10, 500  # unless a plan says otherwise
MOST_BINS = 128
USUAL_LEVEL = 0.9
MOST_METHODS = 4
MOST_NEXT = 1000
_ENSEMBLES = ("gbuq_core:BoostedEnsembleRegressor", "gbuq_core:BoostedEnsembleClassifier")
_MANY_FEATURES = 200
_BINS_IN_ALL = _MANY_FEATURES * MOST_BINS
_DEPTH, _DEPTH_IF_WIDE = 6, 4
_FEWEST_BINS = 16


def table_methods(task: str | None = None) -> tuple[str, ...]:
    """Keys of methods that can score a table: with a total variance, or the parts of entropy."""
    keys: dict[str, None] = dict.fromkeys(BOOSTED)
    for each, yields in (("regression", "total"), ("classification", "knowledge")):
        if task in (None, each):
            for method in find_methods(each, yields=(yields,)):
                if not is_boosted(method.builder(each)):
                    keys[method.key] = None
    return tuple(keys)


def is_boosted(builder: Builder) -> bool:
    """Whether this makes a boosted ensemble of ours, which a `ScorePlan` sets up itself."""
    return builder.of in _ENSEMBLES


def _is_boosted(plan: ScorePlan) -> bool:
    return plan.stacks or not plan.listed


def _is_plain(plan: ScorePlan) -> bool:
    return _is_boosted(plan) and not plan.cyclical


def _is_cut(plan: ScorePlan) -> bool:
    return not plan.listed and (plan.method != AUTOMATIC or plan.asks_for_trees)


def _is_virtual(plan: ScorePlan) -> bool:
    return _is_cut(plan) and not plan.cyclical and plan.ensemble == "virtual"


@documented
@dataclass(frozen=True, kw_only=True)
class ScorePlan:
    """How to train; a field says what it may be, and whom it concerns.

    A method that this project does not boost takes its settings from ``knobs``. A scored table's
    plan holds the ensemble that was settled, see `gbuq_core.tables.settling.settle_plan`.
    """

    method: str = setting(
        AUTOMATIC, "Method",
        named={AUTOMATIC: AUTOMATIC, **{METHODS[key].label: key for key in (STACKED, *BOOSTED)}},
        limits=(AUTOMATIC, *table_methods()), group="method", arg="method",
        help="Automatic: the stacked law, in which SGLB's trees, rows like each row and a smooth "
        "process are weighed; or the trees alone, above 200,000 rows, below 40, on a log "
        "scale, in a split by time, and where a setting asks for an ensemble of trees. Stacked: "
        "the law in any case. The others are trees alone: boosting with Langevin noise (SGLB: on "
        "the gradients, all rows), plain stochastic boosting (SGB), or cyclical Langevin boosting: "
        "one model trained in ten cycles of large and then small steps, a member at the end of "
        "each; cbSGLB learns from other rows in each cycle.",
        more=f"for a regression: {', '.join(table_methods('regression'))}. For classes: "
        f"{', '.join(table_methods('classification'))}",
    )  # fmt: skip
    ensemble: str = setting(
        AUTOMATIC, "Ensemble", choices=ENSEMBLES, uses=_is_plain, group="method", arg="ensemble",
        help="Several models trained from different seeds, or truncations of one model. "
        "Automatic: five independent models of 300 trees where the table is small enough, such "
        "as 20,000 rows of 10 columns, or with three folds a little larger, else truncations of "
        "one model (virtual).",
    )  # fmt: skip
    n_members: int | None = setting(
        None, "Models trained", of="sglb.n_members", key="models", word="members",
        shown=5, low=2, high=20, help="Of an independent ensemble.", arg="n_members",
        fills=lambda plan, n_features: plan.members,
        automatic=f"5 if the ensemble is automatic, else {MEMBERS}",
        uses=lambda plan: _is_plain(plan) and plan.ensemble != "virtual",
    )  # fmt: skip
    n_trees: int | None = setting(
        None, of="sglb.n_trees", key="trees", word="trees", uses=_is_boosted,
        arg="n_trees", fills=lambda plan, n_features: plan.trees,
        choices=(50, 100, 200, 300, 500, 1000, 2000), help="Of a model.",
        automatic="300 for independent models of an automatic ensemble, "
        f"{TREES} for other boosted ensembles, else the method's own",
    )  # fmt: skip
    # Into how many folds the rows are dealt, where each is scored by the model without it.
    n_folds: int = setting(
        N_FOLDS, "Folds", word="folds", limits=(2, MOST_FOLDS), offered=False,
        uses=lambda plan: plan.split != "time", help="Into how many folds the rows are dealt.",
        more="fewer where that makes independent models quick enough",
    )  # fmt: skip
    depth: int | None = setting(
        None, of="sglb.depth", uses=_is_boosted, choices=tuple(range(1, 11)), help="Of a tree.",
        # The work of a split grows with the leaves times the features.
        arg="depth", fills=lambda plan, n: _DEPTH if n <= _MANY_FEATURES else _DEPTH_IF_WIDE,
        automatic=f"{_DEPTH}, or {_DEPTH_IF_WIDE} with more than {_MANY_FEATURES} features",
    )  # fmt: skip
    learning_rate: float | None = setting(
        None, of="sglb.learning_rate", key="rate", uses=_is_boosted, kind="choice",
        choices=(0.01, 0.02, 0.05, 0.1, 0.2, 0.3), arg="learning_rate",
        automatic="0.1, or 0.05 for cyclical methods",
    )  # fmt: skip
    stopping: str | None = setting(
        "two_clocks", "Two clocks", key="clocks", kind="switch", uses=_is_boosted,
        named={True: "two_clocks", False: None},
        help="On (two_clocks): rows that a model has not seen choose how many trees its mean uses "
        "and how many its spread. Off (none): both use all trees, as in the papers; intervals are "
        "then too narrow on most tables. Tables of fewer than 40 rows use all trees.",
    )  # fmt: skip
    engine: str = setting(
        "numba", "Engine", named={"numba": "numba", "CatBoost": "catboost"}, group="method",
        uses=lambda plan: _is_plain(plan) and not plan.stacks,
    )  # fmt: skip
    cycle_length: int | None = setting(
        None, of="csglb.cycle_length", offered=False, uses=lambda plan: plan.cyclical,
        help="Trees of a cycle of a cyclical method.", automatic="a tenth of the trees",
        arg="cycle_length", fills=lambda plan, n_features: plan.cycle,
    )  # fmt: skip
    # Given, an automatic ensemble is a virtual one.
    truncation_step: int | None = setting(
        None, of="virtual_sglb.truncation_step", word=None, offered=False, uses=_is_plain,
        automatic="a twentieth of the trees",
        arg="truncation_step", fills=lambda plan, n_features: max(1, plan.trees // 20),
    )  # fmt: skip
    # The time of a tree grows with the number of bins of all features.
    max_bins: int | None = setting(
        None, of=KNOBS["max_bins"], word=None, offered=False, uses=_is_boosted,
        automatic=f"{MOST_BINS}, and fewer with more than {_MANY_FEATURES} features",
        arg="max_bins", fills=lambda plan, n: min(MOST_BINS, max(_FEWEST_BINS, _BINS_IN_ALL // n)),
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", low=0, high=1_000_000, box=True, limits=(0, 2**31 - 1), arg="random_state",
        help="Of all random choices: one seed gives the same numbers on any number of threads.",
    )  # fmt: skip
    n_jobs: int | None = setting(
        None, "Threads", word="jobs", limits=(-1024, 1024), offered=False,
        automatic="all cores", arg="n_jobs",
    )  # fmt: skip
    knobs: tuple[tuple[str, Any], ...] = ()  # of a listed method: names and values
    split: str = setting(
        "random", "Split", group="data",
        named=dict(zip(("at random", "by group", "by time"), SPLITS, strict=True)),
        help="How rows are held out for the scores. At random: one by one. By group: rows with "
        "the same value, such as those of one patient, stay together, and the scores are those of "
        "a new one. By time: each row is judged by a model of earlier rows.",
    )  # fmt: skip
    split_column: str | None = setting(
        None, "Split by the column", key="by_column", kind="choice", plain=True, group="data",
        uses=lambda plan: plan.split != "random",
        help="What names the groups or the time.",
        more="a column of groups is no feature unless --use names it",
    )  # fmt: skip
    scale: str = setting(
        "plain", "Target on a", group="method",
        named=dict(zip(("plain scale", "log scale"), SCALES, strict=True)),
        help="On which scale a regression learns its target. Log is for positive targets with a "
        "long tail, such as prices: errors count in proportion. Predictions and scores are in "
        "units of the target either way.",
    )  # fmt: skip

    @property
    def asks_for_trees(self) -> bool:
        """Whether a setting has a meaning for trees alone."""
        of_law = (AUTOMATIC, "two_clocks", "numba", None, None)
        return of_law != (
            self.ensemble,
            self.stopping,
            self.engine,
            self.truncation_step,
            self.cycle_length,
        )

    def as_json(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return {**vars(self), "knobs": [list(knob) for knob in self.knobs]}

    @property
    def listed(self) -> bool:
        """Whether the method is one that this project does not boost."""
        return self.method in METHODS and self.method not in BOOSTED

    @property
    def stacks(self) -> bool:
        """Whether a law of several voices stands around the trees."""
        return self.method == STACKED

    def of_trees(self) -> ScorePlan:
        """The plan of the trees alone."""
        alone = self.stacks or self.method == AUTOMATIC
        return replace(self, method=BOOSTED[0]) if alone else self

    @property
    def cyclical(self) -> bool:
        """Whether the members are the cycles of one model."""
        return self.method in CYCLICAL_METHODS

    @property
    def one_model(self) -> bool:
        """Whether all members come from one model."""
        return self.cyclical or self.ensemble == "virtual"

    @property
    def is_open(self) -> bool:
        """Whether the ensemble is still to be settled."""
        return self.method == AUTOMATIC or (self.ensemble == AUTOMATIC and _is_plain(self))

    @property
    def members(self) -> int:
        """Models of an independent ensemble."""
        return MEMBERS if self.n_members is None else self.n_members

    @property
    def trees(self) -> int:
        """Trees of a model."""
        return TREES if self.n_trees is None else self.n_trees

    @property
    def cycle(self) -> int:
        """Trees of a cycle, of those that are trained in whole cycles."""
        return max(2, self.trees // CYCLES) if self.cycle_length is None else self.cycle_length


@documented
@dataclass(frozen=True)
class Cut:
    """Which members of the trained models count; None leaves the choice to the model.

    ``step`` and ``start`` are K and the start of a virtual ensemble, ``burn_in`` the cycles that
    are left out of a cyclical one, ``members`` the most that count. A field concerns some plans.
    """

    step: int | None = setting(
        None, of="virtual_sglb.truncation_step", word="truncation-step", group="view",
        shown=10, choices=(1, 2, 5, 10, 20, 25, 50, 100, 200), uses=_is_virtual,
        help="How many trees apart two members of a virtual ensemble are. Trains nothing.",
        automatic="a twentieth of the trees",
    )  # fmt: skip
    start: float | None = setting(
        None, of="virtual_sglb.truncation_start", word="truncation-start", group="view",
        shown=0.5, high=0.9, step=0.05, uses=_is_virtual, automatic="0.5",
        help="The share of the trees before the first member. Trains nothing.",
    )  # fmt: skip
    members: int | None = setting(
        None, "Members used, at most", word="most-members", group="view", shown=20, kind="integer",
        low=2, high=20, limits=(1, 100_000), uses=_is_cut, automatic="all",
        help="The first models, or the last truncations or cycles. Trains nothing.",
    )  # fmt: skip
    burn_in: int | None = setting(
        None, "Burn-in", of="csglb.burn_in_cycles", high=CYCLES - 1, unit="cycles", group="view",
        shown=0, uses=lambda plan: plan.cyclical, automatic="0",
        help="Cycles at the start of a cyclical method that give no member. Trains nothing.",
    )  # fmt: skip


class ReadOptions(NamedTuple):
    """How to read a text or Excel file; None means that the reader finds out.

    Attributes
    ----------
    delimiter : str or None
        One of comma, semicolon, tab, vertical bar and space; several spaces count as one.
    encoding : str or None
        As Python names it: "utf-8", "utf-16", "cp1252", "latin-1".
    decimal : {".", ","} or None
        The decimal mark of all columns; each column shows its own if None.
    header : bool or None
        Whether the first row names the columns.
    sheet : str or None
        The sheet of an Excel file; the first one that holds a table by default.
    skip_rows : int or None
        How many lines or rows above the names of the columns are left out.
    keep_rows : bool or None
        Whether rows that are no data stay: repeated headers, totals and footers.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    sheet: str | None = None
    skip_rows: int | None = None
    keep_rows: bool | None = None


class Edits(NamedTuple):
    """The user's corrections of columns by name, as `edit_schema` takes them, but hashable.

    Examples
    --------
    >>> Edits.of(used={"day": False}).arguments()
    {'used': {'day': False}}
    """

    kinds: tuple[tuple[str, str], ...] = ()
    used: tuple[tuple[str, bool], ...] = ()
    missing_values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    keep_words: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        kinds: Mapping[str, str] | None = None,
        used: Mapping[str, bool] | None = None,
        missing_values: Mapping[str, tuple[str, ...]] | None = None,
        keep_words: Collection[str] = (),
    ) -> Edits:
        """Corrections from mappings."""
        return cls(
            tuple((kinds or {}).items()),
            tuple((used or {}).items()),
            tuple((missing_values or {}).items()),
            tuple(keep_words),
        )

    def arguments(self) -> dict[str, Any]:
        """What `edit_schema` is given, less what changes nothing."""
        given = {name: value for name, value in self._asdict().items() if value}
        return {n: value if n == "keep_words" else dict(value) for n, value in given.items()}

    @property
    def names(self) -> frozenset[str]:
        """The columns that are corrected."""
        return frozenset(
            (*dict(self.kinds), *dict(self.used), *dict(self.missing_values), *self.keep_words)
        )


def compared_methods() -> tuple[Method, ...]:
    """All methods of the library that may be asked for, in the order that pages list them."""
    return tuple(method for method in METHODS.values() if not method.forms)


def tells_total(key: str, task: str) -> bool:
    """Whether a method predicts a task's targets with all of their uncertainty."""
    method = METHODS[key]
    return task in method.builders and "total" in method.yields_for(task)


def check_table_method(key: str, task: str) -> None:
    """Refuse a method whose columns a scored table cannot have."""
    if key not in (AUTOMATIC, *table_methods(task)):
        raise InvalidParameter(
            f"{METHODS[key].label} cannot score a table for {task}: choose one of "
            f"{', '.join(table_methods(task))}."
        )


def check_level(level: float) -> None:
    """Refuse a level that is not above 0 and below 1."""
    if not 0.0 < level < 1.0:
        raise InvalidParameter(
            f"The level of intervals must lie between 0 and 1, such as 0.9; got {level!r}."
        )


def why_unfit(method: Method, task: str) -> str:
    """Why a method does not fit a task, whatever the table."""
    if not method.predicts:
        return f"{method.label} cannot predict a target: it tells how new a row is."
    if task not in method.builders:
        does = "numbers" if "regression" in method.builders else "classes"
        return f"{method.label} can predict {does} only."
    if not tells_total(method.key, task):
        return f"{method.label} cannot give the likelihood of a number: it predicts no noise."
    return ""


def check_methods(keys: Sequence[str], task: str | None = None) -> tuple[str, ...]:
    """The keys, if they name one to four methods that can do the task, if there is one yet."""
    known = [method.key for method in compared_methods()]
    for key in keys:
        if key not in known:
            raise InvalidParameter(
                f"There is no method {key!r} to compare: choose among {', '.join(known)}."
            )
        unfit = "" if task is None else why_unfit(METHODS[key], task)
        if unfit:
            raise InvalidParameter(unfit)
    if not 1 <= len(keys) <= MOST_METHODS:
        raise InvalidParameter(
            f"One to {MOST_METHODS} methods can be compared; got {len(keys)}: leave some out."
        )
    if len(set(keys)) < len(keys):
        raise InvalidParameter("A method is named twice: name each one once.")
    return tuple(keys)
