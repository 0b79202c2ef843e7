"""What a table can be scored by, and with what settings: plain data, checked without the table.

The command line reads its choices and defaults here before it loads a library, so this file imports
the records of methods and nothing of NumPy, scikit-learn or numba.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gbuq_core.errors import InvalidParameter
from gbuq_core.methods import METHODS, Builder, Method, find_methods
from gbuq_core.validation import check_number

BOOSTED = ("sglb", "sgb", "csglb", "cbsglb")  # as `ScorePlan.method` and the ensembles call them
CYCLICAL_METHODS = ("csglb", "cbsglb")
AUTOMATIC, ENSEMBLES = "automatic", ("automatic", "independent", "virtual")
STOPPINGS = ("two_clocks", None)
SPLITS = ("random", "group", "time")
SCALES = ("plain", "log")
N_FOLDS, MOST_FOLDS = 5, 20
CYCLES, MEMBERS, TREES = 10, 10, 500  # unless a plan says otherwise
MOST_BINS = 128
USUAL_LEVEL = 0.9
MOST_METHODS = 4
MOST_NEXT = 1000
_ENSEMBLES = ("gbuq_core:BoostedEnsembleRegressor", "gbuq_core:BoostedEnsembleClassifier")
_TREES_OF_A_BOOSTER = 1000
_MANY_FEATURES = 200
_MOST_BINS_IN_ALL = _MANY_FEATURES * MOST_BINS
_DEPTH, _DEPTH_IF_WIDE = 6, 4
_FEWEST_BINS = 16


@dataclass(frozen=True, kw_only=True)
class ScorePlan:
    """How to train; see `gbuq_core.BoostedEnsembleRegressor` for the knobs.

    Attributes
    ----------
    method : str
        "sglb", "sgb", "csglb" or "cbsglb". The last two are cyclical: one model, whose members
        are the ends of its cycles, and ``ensemble`` and ``truncation_step`` do not matter. Or
        another of `table_methods`, which takes its settings from ``knobs``, and of the others
        ``seed`` and ``n_jobs`` only.
    ensemble : {"automatic", "independent", "virtual"}
        "automatic": five independent models of 300 trees where all folds are estimated at less than
        15 s, with fewer folds if that is what it takes, else truncations of one model; see
        `gbuq_core.tables.estimating.settle_plan`. A scored table's plan holds what was settled.
    engine : {"numba", "catboost"}
    n_members : int or None
        Of an independent ensemble; a virtual one has one member every ``truncation_step`` trees.
        None means 5 if the ensemble is automatic, else 10.
    n_trees : int or None
        None means 300 for independent models of an automatic ensemble, else 500.
    n_folds : int
        Into how many folds the rows are dealt, where each is scored by the model without it.
    depth : int or None
        None means 6, and 4 with more than 200 features.
    truncation_step : int or None
        None means a twentieth of the trees, which gives ten members. Given, an automatic ensemble
        is a virtual one.
    cycle_length : int or None
        Trees of a cycle. None means a tenth of all, which gives ten members.
    max_bins : int or None
        Of a numeric feature. None means 128, and fewer with more than 200 features: the time of a
        tree grows with the number of bins of all features.
    learning_rate : float or None
        None means the method's own: 0.1, and 0.05 for the cyclical ones.
    stopping : {"two_clocks"} or None
        "two_clocks": the rows that a model did not learn from choose how many trees its mean uses
        and how many its spread, a factor of the stds and the tails; of classes, the trees and a
        temperature. It costs no further fit. None: all trees, as in the papers; intervals are then
        far too narrow on most tables. Tables of fewer than 40 rows use all trees.
    seed : int
        Splits and fits with the same seed are the same.
    n_jobs : int or None
    knobs : tuple of (name, value)
        Of a method that is not one of the first four; its class's defaults hold otherwise.
    split : {"random", "group", "time"}
        How rows are held out: one by one, by groups that stay together, or in the order of time.
    split_column : str or None
        What names the groups or the time.
    scale : {"plain", "log"}
        On which scale the target of a regression is learnt. All that is predicted and all scores
        are in units of the target either way.
    """

    method: str = "sglb"
    ensemble: str = "automatic"
    engine: str = "numba"
    n_members: int | None = None
    n_trees: int | None = None
    depth: int | None = None
    truncation_step: int | None = None
    cycle_length: int | None = None
    max_bins: int | None = None
    learning_rate: float | None = None
    stopping: str | None = "two_clocks"
    n_folds: int = N_FOLDS
    seed: int = 0
    n_jobs: int | None = None
    knobs: tuple[tuple[str, Any], ...] = ()
    split: str = "random"
    split_column: str | None = None
    scale: str = "plain"

    @property
    def listed(self) -> bool:
        """Whether the method is one that this project does not boost."""
        return self.method in METHODS and self.method not in BOOSTED

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
        return self.ensemble == AUTOMATIC and not self.cyclical and not self.listed

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


def bins_for(plan: ScorePlan, n_features: int) -> int:
    """How many bins a numeric feature gets.

    Examples
    --------
    >>> bins_for(ScorePlan(), 20), bins_for(ScorePlan(), 1000)
    (128, 25)
    """
    if plan.max_bins is not None:
        return int(check_number("max_bins", plan.max_bins, 2, 255, integer=True))
    return max(_FEWEST_BINS, min(_MOST_BINS_IN_ALL // max(1, n_features), MOST_BINS))


def depth_for(plan: ScorePlan, n_features: int) -> int:
    """How deep trees are; the work of a split grows with the leaves times the features."""
    if plan.depth is not None:
        return plan.depth
    return _DEPTH if n_features <= _MANY_FEATURES else _DEPTH_IF_WIDE


def table_methods(task: str | None = None) -> tuple[str, ...]:
    """Keys of the methods that can score a table: of one task, or of either.

    A regression takes a total variance, a classification members that predict probabilities.

    Examples
    --------
    >>> table_methods("classification")
    ('sglb', 'sgb', 'csglb', 'cbsglb', 'vrf', 'forests')
    >>> "gp" in table_methods("regression")
    True
    """
    found: dict[str, None] = dict.fromkeys(BOOSTED)
    for each, yields in (("regression", "total"), ("classification", "members")):
        if task in (None, each):
            for method in find_methods(each, yields=(yields,)):
                if not is_boosted(method.builder(each)):
                    found[method.key] = None
    return tuple(found)


def compared_methods() -> tuple[Method, ...]:
    """All methods of the library that may be asked for, in the order that pages list them.

    Examples
    --------
    >>> [method.key for method in compared_methods()][:4]
    ['sgb', 'sglb', 'virtual_sglb', 'csglb']
    """
    return tuple(method for method in METHODS.values() if not method.forms)


def is_boosted(builder: Builder) -> bool:
    """Whether this makes a boosted ensemble of ours, which a `ScorePlan` sets up itself."""
    return builder.of in _ENSEMBLES


def tells_total(key: str, task: str) -> bool:
    """Whether a method predicts a task's targets with all of their uncertainty.

    Examples
    --------
    >>> tells_total("vrf", "regression"), tells_total("vrf", "classification")
    (False, True)
    """
    method = METHODS[key]
    return task in method.builders and "total" in method.yields_for(task)


def counted_trees(method: Method, given: Mapping[str, Any]) -> int:
    """How many trees a method's cost model counts, by the values of its class's arguments.

    A method without such an argument trains another library's booster of 1,000 trees, or is one
    soft tree.
    """
    if "n_groups" in given:
        return int(given["n_groups"] * given["trees_per_group"])
    if "n_trees" in given:
        return int(given["n_trees"])
    return 1 if "functions" in method.yields else _TREES_OF_A_BOOSTER


def check_table_method(key: str, task: str) -> None:
    """Refuse a method whose columns a scored table cannot have."""
    if key not in table_methods(task):
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
    """The keys, if they name one to four methods that can do the task, if there is one yet.

    Examples
    --------
    >>> check_methods(["ibug", "sglb"], "regression")
    ('ibug', 'sglb')
    """
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
