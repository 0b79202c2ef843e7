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
from gbuq_core.model_files.contents import PLAIN_TYPES, errors_as_damage, require, take
from gbuq_core.model_files.fields import load
from gbuq_core.presentation import shown
from gbuq_core.projects.forms import TEXT, JsonPlace, list_of, or_null, parts, row_of
from gbuq_core.tables import ScorePlan, Target
from gbuq_core.tables.number_columns import MOST_LEVELS, Levels, NumberColumns, OwnColumns
from gbuq_core.tables.predicting import ListedModel

_KIND = "table model"
_MOST_JOBS = 1024
_MOST_COLUMNS = 100_000
_LEVELS = list_of(or_null(TEXT), 2**24)


def why_method_not_kept(plan: ScorePlan, task: str) -> str:
    """Why a project cannot hold models of a plan's method, in one sentence; empty if it can.

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
    return write_archive(header, {"estimator": np.frombuffer(file.getvalue(), np.uint8)})


def read_listed(
    content: bytes, plan: ScorePlan, target: Target, features: Sequence[str], trust: bool
) -> ListedModel:
    """The model that `write_listed` wrote."""
    header, arrays = read_archive(content)
    with errors_as_damage():
        require(header["kind"] == _KIND, "it holds something else")
        model = _unfitted(plan, target.task)
        kind = OwnColumns if plan.stacks else NumberColumns
        model.columns_ = kind(*_read_columns(header, features))
        wanted = model.estimator
        model.estimator = load(take(arrays, "estimator", np.uint8, (None,)).tobytes(), trust=trust)
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


def _check_same(model: Any, planned: Any) -> None:
    """Refuse an estimator of another class, or with other parameters, than the plan makes."""
    require(type(model) is type(planned), "it is of another class")
    own, parameters = (each.get_params(deep=True) for each in (model, planned))
    require(set(own) == set(parameters), "it has other parameters")
    for name, value in parameters.items():
        if name.rpartition("__")[2] == "n_jobs":  # threads change no number
            jobs = own[name]
            possible = jobs is None or (type(jobs) is int and abs(jobs) <= _MOST_JOBS)
            require(possible, "a parameter is impossible")
        elif name.endswith("__random_state"):  # which the estimator has drawn by its own
            require(own[name] is None or type(own[name]) is int, "a parameter is impossible")
        else:
            require(_is_same(own[name], value), "it has other parameters")


def _is_same(value: Any, planned: Any) -> bool:
    if isinstance(planned, list | tuple):
        listed = isinstance(value, list | tuple) and len(value) == len(planned)
        return listed and all(map(_is_same, value, planned))
    plain = planned is None or type(planned) in PLAIN_TYPES
    # The parameters of an estimator within are compared under names of their own.
    return type(value) is type(planned) and (not plain or bool(value == planned))


_COLUMNS = parts(
    kind=TEXT,
    columns=list_of(TEXT, _MOST_COLUMNS),
    levels=list_of(row_of(TEXT, _LEVELS, _LEVELS), _MOST_COLUMNS),
    complete=list_of(TEXT, _MOST_COLUMNS),
)


def _read_columns(header: Mapping[str, Any], features: Sequence[str]) -> NumberColumns:
    place = JsonPlace("columns of a model")
    known = {name: header[name] for name in ("kind", "columns", "levels", "complete")}
    stored = _COLUMNS(known, place)
    place.require(stored["columns"] == tuple(features), "be the features of the table")
    names = set(features)
    place.inner(".complete").require(names.issuperset(stored["complete"]), "name features only")
    levels = {name: Levels(own, rare) for name, own, rare in stored["levels"]}
    once = len(levels) == len(stored["levels"]) and names.issuperset(levels)
    place.inner(".levels").require(once, "name features only, each once")
    for name, column in levels.items():
        every = (*column.own, *column.rare)
        fits = 1 <= len(column.own) <= MOST_LEVELS and len(set(every)) == len(every)
        must = f"hold 1 to {MOST_LEVELS} different levels with a column of their own"
        place.inner(f".levels[{shown(name)}]").require(fits, must)
    return NumberColumns(tuple(features), levels, stored["complete"])
