"""Fitted `UnfamiliarityScore` to a file and back: the training rows, and each fold's models.

Ranges, distances and shared leaves are worked out again from the rows that a fold learnt from, so
the file holds the training rows, without targets. MACAU's forest and the independent models are
held as their own ``save`` writes them, the boosted trees of the affinity as LightGBM's text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.macau import MacauClassifier, MacauRegressor
from gbuq_core.model_files.archive import write_archive
from gbuq_core.model_files.contents import (
    PLAIN_TYPES,
    describe_fit,
    is_text,
    pack,
    plain,
    read_fit,
    read_parameters,
    require,
    take,
    unpack,
    whole,
    write_bytes,
)
from gbuq_core.trees.importers import load_leaf_source
from gbuq_core.unfamiliarity.parts import (
    PARTS,
    AffinityPart,
    DistancePart,
    KnowledgePart,
    NoveltyPart,
    Part,
    RangePart,
)
from gbuq_core.unfamiliarity.ranks import Reference
from gbuq_core.unfamiliarity.rows import (
    Columns,
    EncodedRows,
    RawRows,
    Space,
    encode_rows,
    learn_space,
)
from gbuq_core.unfamiliarity.score import Fold, Unfamiliarity, UnfamiliarityScore

KINDS: dict[str, Any] = {"UnfamiliarityScore": UnfamiliarityScore}
_MACAU = (MacauRegressor, MacauClassifier)
_ENSEMBLES = (BoostedEnsembleRegressor, BoostedEnsembleClassifier)


def save_unfamiliarity(model: UnfamiliarityScore, target: Any) -> None:
    """Write a fitted score; what `UnfamiliarityScore.save` does.

    Raises
    ------
    InvalidParameter
        If a category is of a type that no JSON holds.
    """
    if type(model) is not UnfamiliarityScore:
        raise InvalidParameter(f"A {type(model).__name__} is of another class than gbuq's own.")
    columns, held = model._columns, model.held_out_
    header = {
        **describe_fit(model),
        "used": list(model.parts_),
        "columns": list(columns.names),
        "categories": plain("categories", columns.categories),
        "levels": plain("a category", columns.levels),
        "n_folds": len(model._folds),
    }
    arrays = {
        "numbers": model._raw.numbers,
        "codes": model._raw.codes,
        "fold_of": model._fold_of,
        "score": held.score,
        "times_beyond": held.times_beyond,
        "ranks": held.ranks,
        "values": held.values,
    }
    for number, fold in enumerate(model._folds):
        arrays |= {
            f"learnt_{number}": fold.learnt,
            f"sorted_{number}": fold.reference.sorted,
            f"joint_{number}": fold.reference.joint,
        }
        for name, part in fold.parts.items():
            arrays |= _part_arrays(f"{name}_{number}", part)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_bytes(write_archive(header, arrays), target)


def build_unfamiliarity(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], read: Callable[[bytes], Any]
) -> UnfamiliarityScore:
    """The score that a file describes.

    Parameters
    ----------
    header, arrays
        What the file holds.
    read : callable
        Makes an estimator of the bytes that its ``save`` has written.

    Raises
    ------
    ModelFileError
        If it holds what no fit makes.
    """
    model = UnfamiliarityScore(**read_parameters(header, UnfamiliarityScore().get_params()))
    _check_parameters(model)
    read_fit(model, header)
    used = header["used"]
    known = is_text(used) and len(used) > 0 and used == [part for part in PARTS if part in used]
    require(known, "its parts are odd")
    model.parts_ = tuple(used)
    model._columns = columns = _read_columns(header)
    named = list(getattr(model, "feature_names_in_", columns.names)) == list(columns.names)
    require(named and len(columns.names) == model.n_features_in_, "its columns do not match")
    model._raw = raw = _read_raw(arrays, columns)
    n_rows, n_folds = len(raw), whole(header["n_folds"])
    model._fold_of = take(arrays, "fold_of", np.int64, (n_rows,))
    inside = (model._fold_of >= 0).all() and (model._fold_of < n_folds).all()
    require(inside, "a fold does not exist")
    threads = max(1, effective_n_jobs(model.n_jobs) // n_folds)
    model._folds = [_read_fold(arrays, number, model, threads, read) for number in range(n_folds)]
    shape = (n_rows, len(used))
    model.held_out_ = Unfamiliarity(
        score=_shares(take(arrays, "score", np.float64, (n_rows,))),
        times_beyond=_finite(take(arrays, "times_beyond", np.float64, (n_rows,))),
        parts=model.parts_,
        ranks=_shares(take(arrays, "ranks", np.float64, shape)),
        values=_finite(take(arrays, "values", np.float64, shape)),
    )
    model._space = learn_space(columns, raw)
    model.held_out_outside_ = model.find_outside_held_out().sum(axis=1)
    return model


def _part_arrays(name: str, part: Part) -> dict[str, np.ndarray]:
    """What of a measure cannot be worked out from the rows."""
    if isinstance(part, RangePart):
        return {name: part._surprise}
    if isinstance(part, NoveltyPart | KnowledgePart):
        file = io.BytesIO()
        part._model.save(file)
        return pack(name, file.getvalue())
    if isinstance(part, AffinityPart):
        return pack(name, part._booster.model_to_string().encode())
    return {}  # distances


def _read_fold(
    arrays: Mapping[str, np.ndarray],
    number: int,
    model: UnfamiliarityScore,
    threads: int,
    read: Callable[[bytes], Any],
) -> Fold:
    columns, raw = model._columns, model._raw
    learnt = take(arrays, f"learnt_{number}", np.int64, (None,))
    inside = len(learnt) >= 1 and (learnt >= 0).all() and (learnt < len(raw)).all()
    require(inside, "a row does not exist")
    rows = raw.take(learnt)
    space = learn_space(columns, rows)
    encoded = encode_rows(space, rows)
    parts: dict[str, Part] = {}
    for name in model.parts_:
        key = f"{name}_{number}"
        if name == "range":
            surprise = take(arrays, key, np.float64, (len(columns.names),))
            require((_finite(surprise) >= 0.0).all(), "its ranges are impossible")
            parts[name] = RangePart.restore(columns, space, surprise)
        elif name == "distance":
            parts[name] = DistancePart.of_rows(columns, space, encoded)
        elif name == "affinity":
            booster = _read_booster(unpack(arrays, key), encoded)
            parts[name] = AffinityPart.restore(booster, encoded, threads)
        else:
            parts[name] = _read_model(name, read(unpack(arrays, key)), columns, space, encoded)
    joint = take(arrays, f"joint_{number}", np.float64, (None,))
    ordered = take(arrays, f"sorted_{number}", np.float64, (len(model.parts_), len(joint)))
    rising = (np.diff(_finite(joint)) >= 0.0).all() and (np.diff(_finite(ordered)) >= 0.0).all()
    require(len(joint) >= 1 and rising, "its ranks are not in order")
    return Fold(space, parts, Reference(ordered, joint), learnt)


def _read_booster(text: bytes, rows: EncodedRows) -> Any:
    """LightGBM's booster of the affinity, checked by its importer."""
    task = "regression" if b"\nobjective=regression" in text else "classification"
    source = load_leaf_source(text, "lightgbm", task)
    require(source.n_features == rows.matrix.shape[1], "its trees have other columns")
    return getattr(source.model, "booster_", source.model)


def _read_model(name: str, found: Any, columns: Columns, space: Space, rows: EncodedRows) -> Part:
    kinds = _MACAU if name == "novelty" else _ENSEMBLES
    fits = isinstance(found, kinds) and found.n_features_in_ == rows.matrix.shape[1]
    require(fits, "one of its models is odd")
    if name == "novelty":
        return NoveltyPart.restore(found, columns, space)
    return KnowledgePart.restore(found)


def _check_parameters(model: UnfamiliarityScore) -> None:
    parts, jobs = model.parts, model.n_jobs
    known = parts is None or (is_text(parts) and set(parts) <= set(PARTS) and len(parts) > 0)
    require(known, "a parameter is impossible")
    require(model.task in (None, "regression", "classification"), "a parameter is impossible")
    require(jobs is None or type(jobs) is int, "a parameter is impossible")
    state = model.random_state
    require(state is None or (type(state) is int and state >= 0), "a parameter is impossible")


def _read_columns(header: Mapping[str, Any]) -> Columns:
    names, levels = header["columns"], header["levels"]
    require(is_text(names) and isinstance(levels, list), "its columns do not match")
    places = [whole(place, low=0) for place in header["categories"]]
    fits = places == sorted(set(places)) and all(place < len(names) for place in places)
    require(fits and len(places) == len(levels), "its columns do not match")
    for one in levels:
        is_plain = isinstance(one, list) and all(type(level) in PLAIN_TYPES for level in one)
        require(is_plain and len(set(one)) == len(one), "a category is odd")
    numbers = np.setdiff1d(np.arange(len(names)), places).astype(np.int64)
    return Columns(
        tuple(names), numbers, np.array(places, np.int64), tuple(tuple(one) for one in levels)
    )


def _read_raw(arrays: Mapping[str, np.ndarray], columns: Columns) -> RawRows:
    """The training rows; infinite numbers and unknown codes are none."""
    numbers = take(arrays, "numbers", np.float64, (None, len(columns.numbers)))
    codes = take(arrays, "codes", np.int64, (len(numbers), len(columns.categories)))
    sizes = np.array([len(levels) for levels in columns.levels], np.int64)
    known = (codes >= -1).all() and (codes < sizes).all() and not np.isinf(numbers).any()
    require(len(numbers) >= 1 and known, "a row is impossible")
    return RawRows(numbers, codes)


def _finite(values: np.ndarray) -> np.ndarray:
    require(np.isfinite(values).all(), "a number is not finite")
    return values


def _shares(values: np.ndarray) -> np.ndarray:
    require((_finite(values) >= 0.0).all() and (values <= 1.0).all(), "a rank is no share")
    return values
