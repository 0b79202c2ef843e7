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
from gbuq_core.model_files.contents import take
from gbuq_core.model_files.fields import load
from gbuq_core.projects.container import MAX_MODELS, damaged, require
from gbuq_core.projects.listed_models import read_listed, why_method_not_kept, write_listed
from gbuq_core.projects.project import Project, ProjectModels
from gbuq_core.projects.settings import (
    choice,
    known_part,
    number,
    read_plan,
    text,
    whole,
    write_plan,
)
from gbuq_core.tables import FittedModel, ScorePlan
from gbuq_core.tables.cleaning import Feature
from gbuq_core.tables.columns import DATE_PARTS
from gbuq_core.tables.estimating import PROTOCOLS
from gbuq_core.tables.predicting import ListedModel
from gbuq_core.tables.scoring import Fits, Measured

STATE = "state.npz"
_KIND = "project models"
_ENSEMBLES = (BoostedEnsembleRegressor, BoostedEnsembleClassifier)
_MOST_MEMBERS = 2000  # their predictions are held together
_MOST_CLOCKS = 2 * MAX_MODELS
_MOST_STAGES = 10_000
_PARTS = ("", *DATE_PARTS)
_SCORES = {
    "regression": ("n_rows", "nll", "rmse", "crps"),
    "classification": ("n_rows", "nll", "error_rate", "calibration_error"),
}
NEWER = "A newer gbuq has trained the models, and this one cannot read them: update gbuq."
OLDER = (
    "gbuq 0.2 has trained the models, and this version does not read them: train again, with the "
    "same table and settings, to get the same numbers."
)
CATBOOST = (
    "The models hold trees of CatBoost, which are only read from files that you trust: open the "
    "project with trust=True (on the command line --trust), or train again."
)


def score_names(task: str) -> tuple[str, ...]:
    """The scores that a project keeps."""
    return _SCORES[task]


def why_not_kept(models: ProjectModels, task: str) -> str:
    """Why these models cannot be in a file, in one sentence; empty if they can."""
    if why := why_method_not_kept(models.plan, task):
        return why
    if len(_rows_of_fits(models.fits)) > MAX_MODELS:
        return f"There are more than {MAX_MODELS} models, which a project does not hold."
    return ""


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
    arrays |= {
        "model_of_row": np.asarray(fits.model_of_row, np.int64),
        "held": np.asarray(fits.held, np.bool_),
        "distances": np.asarray(models.distances, np.float64),
    }
    if fits.fold is not None:
        arrays["fold"] = np.asarray(fits.fold, np.int64)
    if fits.in_training is not None:
        arrays["in_training"] = np.asarray(fits.in_training, np.bool_)
    for number_, part in enumerate(fits.measured):
        arrays[f"measured_{number_}"] = np.asarray(part.rows, np.int64)
    clocks = [getattr(model.estimator, "clocks_", None) for model in every]
    for number_, one in enumerate([fits.clocks, *clocks]):
        for name, value in {} if one is None else vars(one).items():
            arrays[f"clocks_{number_}_{name}"] = np.asarray(value)
    header = {
        "kind": _KIND,
        "protocol": models.protocol,
        "plan": write_plan(models.plan),
        "why_ensemble": models.why_ensemble,
        "features": [list(feature) for feature in models.features],
        "fits": [next(k for k, r in enumerate(rows) if r is model.rows) for model in every],
        "n_measured": len(fits.measured),
        "clocks": [one is not None for one in [fits.clocks, *clocks]],
        "spread": float(models.spread),
        "smallest_std": float(models.smallest_std),
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
    names = [column.name for column in project.schema.columns]
    require(header.get("kind") == _KIND, "its models are odd")
    own = {name: value for name, value in header.items() if name not in _OF_ARCHIVE}
    head = known_part(own, dict.fromkeys(_HEADER, ...), newer)
    protocol = choice(head["protocol"], PROTOCOLS)
    plan = read_plan(head["plan"], task, names, newer)
    features = tuple(_read_feature(one, names) for one in _listed(head["features"], 100_000))
    require(len({feature.name for feature in features}) == len(features) >= 1, "a feature is odd")
    if not plan.listed and plan.engine == "catboost" and not trust:
        return CATBOOST
    if plan.listed and (missing := METHODS[plan.method].missing()):
        return missing
    every, of_table = _read_every_model(
        head, arrays, members, _Wanted(project, plan, features, trust)
    )
    fits = _read_fits(head, arrays, every, of_table, protocol, n_rows)
    distances = take(arrays, "distances", np.float64, (None,))
    rising = not np.isnan(distances).any() and (np.diff(distances) >= 0.0).all()
    of_held = len(distances) == (int(fits.held.sum()) if task == "regression" else 0)
    require(rising and of_held, "its calibration is odd")
    scores = head["scores"]
    require(isinstance(scores, dict) and set(scores) == set(_SCORES[task]), "its scores are odd")
    spread, least = _positive(head["spread"]), _positive(head["smallest_std"])
    return ProjectModels(
        protocol, plan, text(head["why_ensemble"]), features, fits, spread, least, distances,
        {name: _score(scores[name]) for name in _SCORES[task]},
    )  # fmt: skip


class _Wanted(NamedTuple):
    """What a model in a file must go with, and whether CatBoost may read a part of it."""

    project: Project
    plan: ScorePlan
    features: tuple[Feature, ...]
    trust: bool


def _read_every_model(
    head: Mapping[str, Any],
    arrays: Mapping[str, Any],
    members: Mapping[str, bytes],
    wanted: _Wanted,
) -> tuple[list[FittedModel], Any]:
    """All models, stopped where their clocks say, and the clocks of the table."""
    project, plan = wanted.project, wanted.plan
    numbers = _listed(head["fits"], _MOST_CLOCKS)
    n_fits = sum(name.startswith("models/") for name in members)
    require(all(type(k) is int for k in numbers), "its models are odd")
    require(sorted({*numbers}) == list(range(n_fits)) and n_fits >= 1, "a model is missing")
    estimators = [_read_estimator(members[_name(k)], wanted) for k in range(n_fits)]
    rows = [_rows(arrays, f"rows_{k}", project.n_rows) for k in range(n_fits)]
    has_clocks = _listed(head["clocks"], _MOST_CLOCKS + 1)
    require(len(has_clocks) == len(numbers) + 1, "its clocks are odd")
    require(not (plan.listed and any(has_clocks)), "its clocks are odd")
    task = project.target.task
    of_table, *clocks = (_read_clocks(arrays, k, task, has) for k, has in enumerate(has_clocks))
    every = [
        FittedModel(_stopped(estimators[k], one), rows[k])
        for k, one in zip(numbers, clocks, strict=True)
    ]
    return every, of_table


def _read_fits(
    head: Mapping[str, Any],
    arrays: Mapping[str, Any],
    every: list[FittedModel],
    clocks: Any,
    protocol: str,
    n_rows: int,
) -> Fits:
    """Which rows each of the models judges."""
    n_measured = whole(head["n_measured"], 0, len(every) - 1)
    n_models = len(every) - n_measured
    is_new = protocol == "new_file"
    require(is_new == (n_measured > 0) and (n_models == 1 or not is_new), "its models are odd")
    held = take(arrays, "held", np.bool_, (n_rows,))
    measured = tuple(
        Measured(model, _rows(arrays, f"measured_{k}", n_rows))
        for k, model in enumerate(every[n_models:])
    )
    if is_new:
        judged = np.sort(np.concatenate([part.rows for part in measured]))
        require(np.array_equal(judged, np.flatnonzero(held)), "its held-out rows are odd")
    fold = take(arrays, "fold", np.int64, (n_rows,)) if "fold" in arrays else None
    require(fold is None or ((fold >= 0) & (fold <= _MOST_CLOCKS)).all(), "its folds are odd")
    learnt = take(arrays, "in_training", np.bool_, (n_rows,)) if "in_training" in arrays else None
    model_of_row = take(arrays, "model_of_row", np.int64, (0 if is_new else n_rows,))
    inside = (model_of_row >= 0).all() and (model_of_row < n_models).all()
    require(inside and bool(held.any()), "a row has no model")
    return Fits(tuple(every[:n_models]), model_of_row, fold, learnt, measured, clocks, held)


_OF_ARCHIVE = ("format", "version", "arrays", "kind")
_HEADER = (
    *("protocol", "plan", "why_ensemble", "features", "fits", "n_measured", "clocks", "spread"),
    *("smallest_std", "scores"),
)


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


def _read_clocks(arrays: Mapping[str, Any], place: int, task: str, has: Any) -> Any:
    require(type(has) is bool, "its clocks are odd")
    if not has:
        return None
    kind: Any = ClassClocks if task == "classification" else Clocks
    found: dict[str, Any] = {}
    for field in fields(kind):
        array = arrays[f"clocks_{place}_{field.name}"]
        plain = array.ndim <= 1 and array.dtype in (np.int64, np.float64)
        require(plain and array.size <= _MOST_STAGES, "its clocks are odd")
        found[field.name] = array if array.ndim else array.item()
    clocks = kind(**found)
    is_classes = kind is ClassClocks
    trees = (clocks.n_trees_used,) if is_classes else (clocks.mean_trees, clocks.scale_trees)
    require(all(type(n) is int for n in (*trees, clocks.n_rows)), "its clocks are odd")
    clocks.check_file()
    return clocks


def _read_feature(stored: Any, names: list[str]) -> Feature:
    require(isinstance(stored, list) and len(stored) == 3, "a feature is odd")
    name, column, part = map(text, stored)
    require(column in names and part in _PARTS, "a feature is odd")
    return Feature(name, column, part)


def _rows(arrays: Mapping[str, Any], name: str, n_rows: int) -> NDArray[np.int64]:
    rows = take(arrays, name, np.int64, (None,))
    rising = (np.diff(rows) > 0).all() and len(rows) >= 1
    require(rising and rows[0] >= 0 and rows[-1] < n_rows, "a row does not exist")
    return rows


def _listed(stored: Any, most: int) -> list[Any]:
    require(isinstance(stored, list) and len(stored) <= most, "a list is too long or none")
    return list(stored)


def _positive(value: Any) -> float:
    found = number(value)
    require(found >= 0.0, "a number is out of range")
    return found


def _score(value: Any) -> float:
    require(type(value) in (int, float), "its scores are odd")  # NaN where it does not apply
    return float(value)


def _every_model(fits: Fits) -> list[FittedModel]:
    """The models that score rows, and then those that gave the scores beside a second file."""
    return [*fits.models, *(part.model for part in fits.measured)]


def _rows_of_fits(fits: Fits) -> list[NDArray[np.int64]]:
    """The rows that each fit learnt from: models with the same array share their trees."""
    found: list[NDArray[np.int64]] = []
    for model in _every_model(fits):
        if not any(model.rows is rows for rows in found):
            found.append(model.rows)
    return found


def _name(number_: int) -> str:
    return f"models/{number_:03d}.npz"
