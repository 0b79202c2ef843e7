"""The options of a fit, which all commands that train one model share, and the plan they make."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gbuq_core import tables
from gbuq_core.errors import InvalidParameter
from gbuq_core.knobs import check_knob
from gbuq_core.methods import METHODS
from gbuq_core.tables.plan import (
    BOOSTED,
    CYCLICAL_METHODS,
    ENSEMBLES,
    MOST_FOLDS,
    USUAL_LEVEL,
    ScorePlan,
    table_methods,
)
from gbuq_core.validation import check_number

# Options that other methods than boosted ensembles may have, by the argument of their class, and
# those that they never have.
_KNOBS = {
    "members": "n_members",
    "trees": "n_trees",
    "depth": "depth",
    "learning_rate": "learning_rate",
    "cycle_length": "cycle_length",
}
_OF_BOOSTED = ("ensemble", "engine", "stopping")
# Which members count is chosen when rows are looked at, not when a model is trained.
MEMBER_OPTIONS = ("truncation_step", "truncation_start", "burn_in", "most_members")


def add_model(add: Callable[..., Any], deals_folds: bool = True) -> None:
    """Options of the model, and of the folds where rows are dealt into some."""
    plan = ScorePlan()
    add("--method", choices=table_methods(), default=plan.method, metavar="METHOD",
        help=f"for a regression: {', '.join(table_methods('regression'))}; for classes: "
        f"{', '.join(table_methods('classification'))}. csglb and cbsglb are cyclical: one model, "
        "whose cycles are the members; default: %(default)s")  # fmt: skip
    add("--ensemble", choices=list(ENSEMBLES), help="several models, or truncations of one model; "
        "default: automatic, five independent models of 300 trees where that is estimated at less "
        "than 15 s, else virtual")  # fmt: skip
    add("--members", type=int, metavar="N", help="of an independent ensemble; default: 5 if the "
        f"ensemble is automatic, else {plan.members}")  # fmt: skip
    add("--trees", type=int, metavar="N", help="a model; default: 300 for independent models of an "
        f"automatic ensemble, {plan.trees} for other boosted ensembles, else the method's "
        "own")  # fmt: skip
    if deals_folds:
        add("--folds", type=int, metavar="N", help="into how many folds the rows are dealt; "
            f"default: {plan.n_folds}, or fewer where that makes independent models quick "
            "enough")  # fmt: skip
    add("--depth", type=int, metavar="N",
        help="of a tree; default: 6, or 4 with more than 200 features")  # fmt: skip
    add(
        "--learning-rate",
        type=float,
        metavar="X",
        help="default: 0.1, or 0.05 for cyclical methods",
    )
    add("--stopping", choices=["two_clocks", "none"], help="two_clocks: rows that a model has not "
        "seen choose how many trees its mean and its spread use; none: all trees, as in the "
        "papers; default: two_clocks")  # fmt: skip
    add("--engine", choices=["numba", "catboost"], default=plan.engine, help="default: %(default)s")
    add("--cycle-length", type=int, metavar="N",
        help="trees of a cycle of a cyclical method; a tenth of the trees by default")  # fmt: skip


def add_members(add: Callable[..., Any]) -> None:
    """Options of the members that count, which train nothing."""
    add("--truncation-step", type=int, metavar="K", help="trees between two members of a virtual "
        "ensemble; a twentieth of the trees by default")  # fmt: skip
    add("--truncation-start", type=float, metavar="X",
        help="share of the trees before its first member; default: 0.5")  # fmt: skip
    add("--burn-in", type=int, metavar="N",
        help="cycles of a cyclical method that give no member; default: 0")  # fmt: skip
    add("--most-members", type=int, metavar="N", help="members that count: the last truncations "
        "or cycles, or the first models; all by default")  # fmt: skip


def add_intervals(add: Callable[..., Any]) -> None:
    """Options of the intervals."""
    add("--level", type=float, default=USUAL_LEVEL, metavar="X", help="the share of rows that the "
        "intervals should hold; the columns are named after it; default: %(default)s")  # fmt: skip
    add("--conformal", action="store_true", help="intervals as wide as the held-out rows need; "
        "-inf and inf where there are too few rows; for a regression")  # fmt: skip


def cut_of(options: argparse.Namespace) -> tables.Cut:
    """Which members count."""
    return tables.Cut(
        options.truncation_step, options.truncation_start, options.most_members, options.burn_in
    )


def plan_of(options: argparse.Namespace) -> ScorePlan:
    """How to train, by the options."""
    shared = {
        "method": options.method, "seed": options.seed, "n_jobs": options.jobs,
        "split": options.split, "split_column": options.split_column,
        "scale": options.scale,
        "n_folds": ScorePlan.n_folds if options.folds is None else options.folds,
    }  # fmt: skip
    if options.method not in BOOSTED:
        given = {name: getattr(options, option) for option, name in _KNOBS.items()}
        return ScorePlan(
            **shared, knobs=tuple((name, v) for name, v in given.items() if v is not None)
        )
    usual = ScorePlan()
    # Where truncations are chosen, they are the members.
    truncated = (options.truncation_step, options.truncation_start) != (None, None)
    is_open = options.method in CYCLICAL_METHODS or not truncated
    return ScorePlan(
        **shared,
        ensemble=options.ensemble or ("automatic" if is_open else "virtual"),
        cycle_length=options.cycle_length,
        engine=options.engine,
        n_members=options.members,
        n_trees=options.trees,
        depth=options.depth,
        learning_rate=options.learning_rate,
        stopping=None if options.stopping == "none" else usual.stopping,
    )


def check_method(options: argparse.Namespace) -> None:
    """Refuse options that say nothing about the method, before any work."""
    method = METHODS[options.method]
    check_members(options, method.key)
    check_knobs(options, method.key)
    if method.key not in BOOSTED:
        has = {knob.key for knob in method.knobs}
        _refuse(options, [name for name, knob in _KNOBS.items() if knob not in has], method.key)
        _refuse(options, _OF_BOOSTED, method.key)
        if method.missing():
            raise InvalidParameter(method.missing())
    elif method.key not in CYCLICAL_METHODS:
        _refuse(options, ["cycle_length"], method.key)
    else:
        _refuse(options, ["ensemble"], method.key)
        if options.engine == "catboost":
            raise InvalidParameter(
                "--engine catboost has no cyclical gradients: leave it out, or use another method "
                f"than {method.key}."
            )


def check_knobs(options: argparse.Namespace, method: str) -> None:
    """Refuse values that a method's record rules out, before any work."""
    knobs = {knob.key: knob for knob in METHODS[method].knobs}
    for option, name in _KNOBS.items():
        value = getattr(options, option, None)
        if value is not None and name in knobs:
            check_knob(replace(knobs[name], key="--" + option.replace("_", "-")), value)
    check_number("--seed", options.seed, 0, 2**31 - 1, integer=True)
    if getattr(options, "folds", None) is not None:
        check_number("--folds", options.folds, 2, MOST_FOLDS, integer=True)


def check_members(options: argparse.Namespace, method: str) -> None:
    """Refuse options of members that the method does not have."""
    if method not in BOOSTED:
        _refuse(options, MEMBER_OPTIONS, method)
    elif method in CYCLICAL_METHODS:
        _refuse(options, ["truncation_step", "truncation_start"], method)
    else:
        _refuse(options, ["burn_in"], method)


def _refuse(options: argparse.Namespace, names: Sequence[str], method: str) -> None:
    """Refuse options that a method does not have."""
    reason = "which has no such setting"
    if method in BOOSTED:
        reason = "without cycles"
    if method in CYCLICAL_METHODS:
        reason = "whose members are the cycles of one model"
    for option in names:
        if getattr(options, option) not in (None, "numba"):
            name = "--" + option.replace("_", "-")
            raise InvalidParameter(
                f"{name} does not go with --method {method}, {reason}: leave it out."
            )
