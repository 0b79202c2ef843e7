"""The models of a project: each estimator's own safe archive, and one for what they share.

The estimators of a scored table may share their trees and differ in where they stop: each fit is
held once, and the clocks of each model beside it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.calibration import ClassClocks, Clocks
from gbuq_core.errors import (
    MissingPackage,
    ModelFileError,
    OldModelFile,
    ProjectError,
    UntrustedModel,
)
from gbuq_core.methods import METHODS
from gbuq_core.model_files.archive import read_archive, write_archive
from gbuq_core.model_files.contents import Arrays, take
from gbuq_core.model_files.fields import load
from gbuq_core.projects.container import MAX_MODELS, damaged, require
from gbuq_core.projects.forms import (
    FLAG,
    TEXT,
    JsonPlace,
    is_number,
    list_of,
    one_of,
    parts,
    plain,
    row_of,
    whole,
)
from gbuq_core.projects.listed_models import read_listed, write_listed
from gbuq_core.projects.project import Project, ProjectModels
from gbuq_core.projects.settings import PLAN, check_plan
from gbuq_core.tables import FittedModel, ScorePlan
from gbuq_core.tables.cleaning import Feature
from gbuq_core.tables.intervals import Yardstick
from gbuq_core.tables.predicting import ListedModel
from gbuq_core.tables.scoring import Fits, Measured
from gbuq_core.tables.written_dates import DATE_PARTS

STATE = "state.npz"
_KIND = "project models"
_ENSEMBLES = (BoostedEnsembleRegressor, BoostedEnsembleClassifier)
_MOST_MEMBERS = 2000  # their predictions are held together
_MOST_CLOCKS = 2 * MAX_MODELS
_MOST_STAGES = 10_000
_SCORES = {
    "regression": ("n_rows", "nll", "rmse", "crps"),
    "classification": ("n_rows", "nll", "error_rate", "calibration_error"),
}
_SPREAD = plain("a number from 0", lambda value: is_number(value) and value >= 0, float)
# NaN where it does not apply.
_SCORE = plain("a number", lambda value: type(value) in (int, float), float)
_HEADER = {
    "plan": PLAN,
    "why_ensemble": TEXT,
    "features": list_of(row_of(TEXT, TEXT, one_of(("", *DATE_PARTS))), 100_000),
    "fits": list_of(whole(0, MAX_MODELS - 1), _MOST_CLOCKS),
    "clocks": list_of(FLAG, _MOST_CLOCKS + 1),
    "spread": _SPREAD,
    "yardstick": row_of(_SPREAD, _SPREAD),
}
NEWER = "A newer gbuq has trained the models, and this one cannot read them: update gbuq."
OLDER = (
    "An earlier gbuq has trained the models, and this version does not read them: train again, "
    "with the same table and settings, to get the same numbers."
)
CATBOOST = (
    "The models hold trees of CatBoost, which are only read from files that you trust: open the "
    "project with trust=True (on the command line --trust), or train again."
)


def score_names(task: str) -> tuple[str, ...]:
    """The scores that a project keeps."""
    return _SCORES[task]


def write_models(models: ProjectModels) -> dict[str, bytes]:
    """The members of a project that hold its models."""
    fits = models.fits
    rows = _rows_of_fits(fits)
    every = _every_model(fits)
    members: dict[str, bytes] = {}
    for number_, learnt in enumerate(rows):
        model = next(model for model in every if model.rows is learnt)
        members[_name(number_)] = estimator_bytes(model.estimator)
    arrays: dict[str, NDArray[Any]] = {
        f"rows_{number_}": np.asarray(learnt, np.int64) for number_, learnt in enumerate(rows)
    }
    arrays["residuals"] = np.asarray(models.residuals, np.float64)
    for number_, part in enumerate(fits.measured):
        arrays[f"measured_{number_}"] = np.asarray(part.rows, np.int64)
    clocks = [getattr(model.estimator, "clocks_", None) for model in every]
    for number_, own_clocks in enumerate([fits.clocks, *clocks]):
        for name, value in {} if own_clocks is None else vars(own_clocks).items():
            arrays[f"clocks_{number_}_{name}"] = np.asarray(value)
    header = {
        "kind": _KIND,
        "plan": models.plan.as_json(),
        "why_ensemble": models.why_ensemble,
        "features": [list(feature) for feature in models.features],
        "fits": [next(k for k, r in enumerate(rows) if r is model.rows) for model in every],
        "clocks": [own_clocks is not None for own_clocks in [fits.clocks, *clocks]],
        "spread": float(models.spread),
        "yardstick": list(models.yardstick),
        "scores": {name: float(value) for name, value in models.scores.items()},
    }
    members[STATE] = write_archive(header, arrays)
    return members


def estimator_bytes(model: Any) -> bytes:
    """The archive of a table's fitted model, whatever its clocks are."""
    if isinstance(model, ListedModel):
        return write_listed(model)
    file = io.BytesIO()
    model.with_clocks(None).save(file)
    return file.getvalue()


def read_models(
    members: Mapping[str, bytes], project: Project, newer: bool, trust: bool
) -> ProjectModels | str:
    """The models of a project, or why they are not read."""
    try:
        return _read(members, project, newer, trust)
    except UntrustedModel:
        return CATBOOST
    except OldModelFile:
        return OLDER
    except MissingPackage as error:
        return str(error)
    except (ModelFileError, ProjectError) as error:
        if newer:
            return NEWER
        if isinstance(error, ProjectError):
            raise
        raise damaged("one of its models cannot be read") from error


def _read(
    members: Mapping[str, bytes], project: Project, newer: bool, trust: bool
) -> ProjectModels | str:
    header, arrays = read_archive(members[STATE])
    task, n_rows = project.target.task, project.n_rows
    names = {column.name for column in project.schema.columns}
    require(header.get("kind") == _KIND, f"{STATE} does not hold the models of a project")
    place = JsonPlace("models", newer)
    own = {name: value for name, value in header.items() if name not in _OF_ARCHIVE}
    scores = parts(**dict.fromkeys(_SCORES[task], _SCORE))
    head = parts(**_HEADER, scores=scores)(own, place)
    plan = head["plan"]
    check_plan(plan, task, names, place.inner(".plan"))
    features = tuple(Feature(*feature) for feature in head["features"])
    once = len({feature.name for feature in features}) == len(features) >= 1
    known = names.issuperset(feature.column for feature in features)
    place.inner(".features").require(once and known, "name features of the table, each once")
    if not plan.listed and plan.engine == "catboost" and not trust:
        return CATBOOST
    if plan.listed and (missing := METHODS[plan.method].missing()):
        return missing
    every, of_table = _read_every_model(
        head, arrays, members, _Wanted(project, plan, features, trust)
    )
    fits = _read_fits(arrays, every, of_table, n_rows)
    residuals = take(arrays, "residuals", np.float64, (None,))
    rising = not np.isnan(residuals).any() and (np.diff(residuals) >= 0.0).all()
    n_held = int(fits.held.sum()) if task == "regression" else 0
    must = f"hold {n_held:,} rising numbers, one for each held-out row of a regression"
    place.inner(".residuals").require(rising and len(residuals) == n_held, must)
    return ProjectModels(
        plan,
        head["why_ensemble"],
        features,
        fits,
        head["spread"],
        Yardstick(*head["yardstick"]),
        residuals,
        head["scores"],
    )


class _Wanted(NamedTuple):
    """What a model in a file must go with, and whether CatBoost may read a part of it."""

    project: Project
    plan: ScorePlan
    features: tuple[Feature, ...]
    trust: bool


def _read_every_model(
    head: Mapping[str, Any],
    arrays: Arrays,
    members: Mapping[str, bytes],
    wanted: _Wanted,
) -> tuple[list[FittedModel], Any]:
    """All models, stopped where their clocks say, and the clocks of the table."""
    project, plan = wanted.project, wanted.plan
    numbers = head["fits"]
    n_fits = sum(name.startswith("models/") for name in members)
    require(sorted({*numbers}) == list(range(n_fits)) and n_fits >= 1, "a model is missing")
    estimators = [_read_estimator(members[_name(k)], wanted) for k in range(n_fits)]
    rows = [_rows(arrays, f"rows_{k}", project.n_rows) for k in range(n_fits)]
    has_clocks = head["clocks"]
    counts = len(has_clocks) == len(numbers) + 1
    require(counts, "models.clocks must have a value for the table and one for each model")
    without = not (plan.listed and any(has_clocks[1:] if plan.stacks else has_clocks))
    require(without, f"models.clocks must all be false: {plan.method} stops at no clock")
    task = project.target.task
    of_table, *clocks = (_read_clocks(arrays, k, task, has) for k, has in enumerate(has_clocks))
    every = [
        FittedModel(_stopped(estimators[k], own_clocks), rows[k])
        for k, own_clocks in zip(numbers, clocks, strict=True)
    ]
    return every, of_table


def _read_fits(arrays: Arrays, every: list[FittedModel], clocks: Any, n_rows: int) -> Fits:
    """The model that scores new rows, and which rows each of the others judges."""
    whole_model, *others = every
    require(others, "a model is missing")
    measured = tuple(
        Measured(model, _rows(arrays, f"measured_{k}", n_rows)) for k, model in enumerate(others)
    )
    held = np.zeros(n_rows, np.bool_)
    for _, rows in measured:
        require(not held[rows].any(), "two of its models judge the same row")
        held[rows] = True
    none = np.zeros(0, np.int64)
    return Fits((whole_model,), none, None, None, measured, clocks, held)


_OF_ARCHIVE = ("format", "version", "arrays", "kind")


def _read_estimator(content: bytes, wanted: _Wanted) -> Any:
    """An estimator that goes with the settings; CatBoost's reader sees none that is not trusted."""
    project, plan, features, trust = wanted
    names = [feature.name for feature in features]
    if plan.listed:
        return read_listed(content, plan, project.target, names, trust)
    model = load(content, trust=trust)
    n_classes = len(project.target.classes)
    require(isinstance(model, _ENSEMBLES[bool(n_classes)]), "a model has another task")
    require(model.plan_.engine == plan.engine, "a model has another engine")
    own = list(getattr(model, "feature_names_in_", []))
    require(own == names, "a model has other columns")
    require(
        len(model.member_trees()) * model.plan_.n_models <= _MOST_MEMBERS, "it has too many members"
    )
    if n_classes:
        codes = model.classes_
        inside = codes.dtype == np.int64 and (codes >= 0).all() and (codes < n_classes).all()
        require(inside, "a model has other classes")
    else:
        require((model.target_ == "log") == (plan.scale == "log"), "a model has another scale")
    return model


def _stopped(model: Any, clocks: Any) -> Any:
    if clocks is None:
        return model
    require(clocks.last <= model.n_trees_, "a clock stops at a tree that does not exist")
    return model.with_clocks(clocks)


def _read_clocks(arrays: Arrays, number_: int, task: str, has: bool) -> Any:
    if not has:
        return None
    kind: Any = ClassClocks if task == "classification" else Clocks
    values: dict[str, Any] = {}
    for field in fields(kind):
        array = arrays[f"clocks_{number_}_{field.name}"]
        numbers = array.ndim <= 1 and array.dtype in (np.int64, np.float64)
        must = f"{field.name} of a clock must be a number, or at most {_MOST_STAGES:,} of them"
        require(numbers and array.size <= _MOST_STAGES, must)
        values[field.name] = array if array.ndim else array.item()
        is_whole = field.type != "int" or type(values[field.name]) is int
        require(is_whole, f"{field.name} of a clock must be a whole number")
    clocks = kind(**values)
    clocks.check_file()
    return clocks


def _rows(arrays: Arrays, name: str, n_rows: int) -> NDArray[np.int64]:
    rows = take(arrays, name, np.int64, (None,))
    rising = (np.diff(rows) > 0).all() and len(rows) >= 1
    require(rising and rows[0] >= 0 and rows[-1] < n_rows, "a row does not exist")
    return rows


def _every_model(fits: Fits) -> list[FittedModel]:
    """The models that score rows, and then those that gave the scores beside a second file."""
    return [*fits.models, *(part.model for part in fits.measured)]


def _rows_of_fits(fits: Fits) -> list[NDArray[np.int64]]:
    """The rows that each fit learnt from: models with the same array share their trees."""
    different: list[NDArray[np.int64]] = []
    for model in _every_model(fits):
        if not any(model.rows is rows for rows in different):
            different.append(model.rows)
    return different


def _name(number_: int) -> str:
    return f"models/{number_:03d}.npz"
