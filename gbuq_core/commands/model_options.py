"""The options of a fit, which all commands that train one model share, and the plan they make."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from gbuq_core import tables
from gbuq_core.errors import InvalidParameter
from gbuq_core.methods import METHODS
from gbuq_core.settings import (
    AUTOMATIC,
    add_options,
    changed,
    check_options,
    given_options,
    needed,
    option_names,
    unused,
)
from gbuq_core.tables.plan import BOOSTED, USUAL_LEVEL, Cut, ScorePlan

_OF_ALL = ("seed", "n_jobs", "split", "split_column", "scale")  # among other groups of options


def add_model(add: Callable[..., Any], deals_folds: bool = True) -> None:
    """Options of the model, and of the folds where rows are dealt into some."""
    others = _OF_ALL if deals_folds else (*_OF_ALL, "n_folds")
    names = option_names(ScorePlan).values()
    add_options(add, ScorePlan, *(name for name in names if name not in others))


def add_intervals(add: Callable[..., Any], by_group: bool = True) -> None:
    """Options of the intervals; those of groups are kept in no project."""
    add(
        "--level",
        type=float,
        default=USUAL_LEVEL,
        metavar="X",
        help="the share of rows that the "
        "intervals should hold; the columns are named after it; default: %(default)s",
    )
    add(
        "--conformal",
        action="store_true",
        help="each end of an interval as far away as the held-out rows need; "
        "-inf and inf where there are too few rows; for a regression",
    )
    if by_group:
        add(
            "--conformal-by",
            metavar="COLUMN",
            help="conformal intervals, as wide as the held-out "
            "rows of each group of this column need; small groups share; several names with commas "
            "between are columns whose groups overlap",
        )
        add(
            "--conformal-shift",
            action="store_true",
            help="conformal intervals; where the rows of "
            "NEW differ from the others, weighted for that, if enough held-out rows are like "
            "them",
        )


def cut_of(options: argparse.Namespace) -> tables.Cut:
    """Which members count."""
    return Cut(**given_options(Cut, vars(options)))


def plan_of(options: argparse.Namespace) -> ScorePlan:
    """How to train, by the options."""
    plan = _trees_if_asked(options, ScorePlan(**given_options(ScorePlan, vars(options))))
    if plan.listed and not plan.stacks:
        own = {knob.key for knob in METHODS[plan.method].knobs} & unused(ScorePlan, plan)
        pairs = (pair for pair in changed(plan).items() if pair[0] in own)
        plan = replace(plan, knobs=tuple(pairs))
    # Where truncations are chosen, they are the members.
    elif plan.is_open and {"step", "start"} & {*given_options(Cut, vars(options))}:
        plan = replace(plan, ensemble="virtual")
    return needed(plan)


def why_alone(options: argparse.Namespace) -> list[str]:
    """That trees alone are trained, where nobody chose them and the command does."""
    plan = ScorePlan(**given_options(ScorePlan, vars(options)))
    if plan.method != AUTOMATIC or plan.asks_for_trees:
        return []
    if getattr(options, "scheduler", None) is None and getattr(options, "cluster", None) is None:
        return []
    law = "--method stacked puts the law around them"
    return [f"Trees alone are trained, as usual on a cluster; {law}."]


def check_method(options: argparse.Namespace) -> None:
    """Refuse options that say nothing about the method, before any work."""
    plan = _trees_if_asked(options, ScorePlan(**given_options(ScorePlan, vars(options))))
    if plan.method == AUTOMATIC and plan.asks_for_trees:
        plan = replace(plan, method=BOOSTED[0])
    check_members(options, plan.method)
    method = METHODS.get(plan.method)
    knobs = () if method is None else method.knobs
    _refuse_unused(options, plan, {knob.key for knob in knobs} if plan.listed else ())
    check_options(ScorePlan, vars(options), knobs)
    if plan.listed and method is not None and method.missing():
        raise InvalidParameter(method.missing())


def _trees_if_asked(options: argparse.Namespace, plan: ScorePlan) -> ScorePlan:
    """A plan whose automatic method is trees alone where an option besides the plan's asks it."""
    asks = given_options(Cut, vars(options)) and not plan.asks_for_trees
    alone = plan.method == AUTOMATIC and (asks or why_alone(options))
    return replace(plan, method=BOOSTED[0]) if alone else plan


def check_members(options: argparse.Namespace, method: str) -> None:
    """Refuse options of members that the method does not have."""
    check_options(Cut, vars(options))
    _refuse_unused(options, ScorePlan(method=method, ensemble="virtual"), kind=Cut)


def _refuse_unused(
    options: argparse.Namespace, plan: ScorePlan, has: Collection[str] = (), kind: type = ScorePlan
) -> None:
    """Refuse options that a plan has no use for, but for those that its method ``has``."""
    reason = "which has no such setting"
    if plan.method in BOOSTED:
        reason = "without cycles"
    if plan.cyclical:
        reason = "whose members are the cycles of one model"
    idle = unused(kind, plan).difference(has)
    for option, name in option_names(kind).items():
        # The usual engine trains every method, so it may be named.
        if option in options.typed and name in idle and getattr(options, option) != "numba":
            if name == "engine" and plan.cyclical:
                reason = "because CatBoost has no cyclical gradients"
            word = option.replace("_", "-")
            raise InvalidParameter(
                f"--{word} does not go with --method {plan.method}, {reason}: leave it out."
            )
