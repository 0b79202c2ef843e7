"""Models of the methods that are no boosted ensembles, in one archive each.

The archive holds the estimator as its own ``save`` writes it, and how the table's columns become
its numbers. A file may not choose what it is: method, knobs, seed and scale are the plan's, and the
estimator must be the one that the plan makes.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gbuq_core.methods import METHODS
from gbuq_core.model_files.archive import read_archive, write_archive
from gbuq_core.model_files.contents import PLAIN_TYPES, errors_as_damage, pack, require, unpack
from gbuq_core.model_files.fields import load
from gbuq_core.tables import ScorePlan, Target
from gbuq_core.tables.number_columns import MOST_LEVELS, Levels, NumberColumns
from gbuq_core.tables.predicting import ListedModel

_KIND = "table model"
_MOST_JOBS = 1024


def why_method_not_kept(plan: ScorePlan, task: str) -> str:
    """Why a project cannot hold models of a plan's method, in one sentence; empty if it can.

    Examples
    --------
    >>> why_method_not_kept(ScorePlan(method="ibug"), "regression")
    ''
    """
    if not plan.listed:
        return ""
    record = METHODS[plan.method]
    if hasattr(record.builder(task).load(), "save"):
        return ""
    return (
        f"Models of {record.label} cannot be kept in a project, because their class has no save: "
        "choose another method."
    )


def write_listed(model: ListedModel) -> bytes:
    """The bytes of a fitted model."""
    file = io.BytesIO()
    model.estimator.save(file)
    columns = model.columns_
    header = {
        "kind": _KIND,
        "columns": list(columns.names),
        "levels": [[name, *map(list, levels)] for name, levels in columns.levels.items()],
        "complete": list(columns.complete),
    }
    return write_archive(header, pack("estimator", file.getvalue()))


def read_listed(
    content: bytes, plan: ScorePlan, target: Target, features: Sequence[str], trust: bool
) -> ListedModel:
    """The model that `write_listed` wrote."""
    header, arrays = read_archive(content)
    with errors_as_damage():
        require(header["kind"] == _KIND, "it holds something else")
        model = _unfitted(plan, target.task)
        model.columns_ = _read_columns(header, features)
        wanted = model.estimator
        model.estimator = load(unpack(arrays, "estimator"), trust=trust)
        _check_same(model.estimator, wanted)
        n_columns = model.estimator.n_features_in_
        require(n_columns == model.columns_.width, "it has other columns")
        if target.classes:
            codes = np.asarray(model.classes_)
            known = codes.dtype == np.int64 and np.isin(codes, np.arange(len(target.classes))).all()
            require(known, "it has other classes")
    return model


def _unfitted(plan: ScorePlan, task: str) -> ListedModel:
    """The model before its fit; an `InvalidParameter` if a knob is out of its range."""
    model = ListedModel(plan.method, task, dict(plan.knobs), plan.n_jobs, plan.seed)
    model.target_ = "log" if plan.scale == "log" else None
    return model


def _check_same(found: Any, wanted: Any) -> None:
    """Refuse an estimator of another class, or with other parameters, than the plan makes."""
    require(type(found) is type(wanted), "it is of another class")
    own, asked = (each.get_params(deep=True) for each in (found, wanted))
    require(set(own) == set(asked), "it has other parameters")
    for name, value in asked.items():
        if name.rpartition("__")[2] == "n_jobs":  # threads change no number
            jobs = own[name]
            possible = jobs is None or (type(jobs) is int and abs(jobs) <= _MOST_JOBS)
            require(possible, "a parameter is impossible")
        elif name.endswith("__random_state"):  # which the estimator has drawn by its own
            require(own[name] is None or type(own[name]) is int, "a parameter is impossible")
        else:
            require(_is_same(own[name], value), "it has other parameters")


def _is_same(found: Any, asked: Any) -> bool:
    if isinstance(asked, list | tuple):
        listed = isinstance(found, list | tuple) and len(found) == len(asked)
        return listed and all(map(_is_same, found, asked))
    plain = asked is None or type(asked) in PLAIN_TYPES
    # The parameters of an estimator within are compared under names of their own.
    return type(found) is type(asked) and (not plain or bool(found == asked))


def _read_columns(header: Mapping[str, Any], features: Sequence[str]) -> NumberColumns:
    names, levels, complete = (header[part] for part in ("columns", "levels", "complete"))
    require(names == list(features), "it has other columns")
    inside = isinstance(complete, list) and set(complete) <= set(names)
    require(inside and isinstance(levels, list), "its columns are odd")
    found = {name: Levels(_read_levels(own), _read_levels(rare)) for name, own, rare in levels}
    require(len(found) == len(levels) and set(found) <= set(names), "its categories are odd")
    for one in found.values():
        every = (*one.own, *one.rare)
        require(1 <= len(one.own) <= MOST_LEVELS, "its categories are odd")
        require(len(set(every)) == len(every), "its categories are odd")
    return NumberColumns(tuple(names), found, tuple(complete))


def _read_levels(stored: Any) -> tuple[Any, ...]:
    require(isinstance(stored, list), "its categories are odd")
    require(all(level is None or isinstance(level, str) for level in stored), "a level is odd")
    return tuple(stored)
