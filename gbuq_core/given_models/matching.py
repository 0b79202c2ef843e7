"""A model held against the table that it was trained on, before anything is computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData, MissingPackage, ModelFileError
from gbuq_core.given_models.reading import GivenModel, HashedSource, library_sums
from gbuq_core.presentation import counted, listed, short, shown
from gbuq_core.trees.importers.plain_source import PlainSource
from gbuq_core.trees.importers.source import plain_name

FIRST_ROWS = 200  # whose sums are compared with the library's own
_TRUTHS = {"true": "1", "false": "0"}
_TOLERANCE = 1e-5  # of the largest sum: XGBoost adds float32 numbers


class MatchedModel(NamedTuple):
    """A model and the columns of a table that it reads."""

    model: GivenModel
    columns: tuple[str, ...]  # in the model's order
    # of the columns that the model reads as categories, its levels in their order
    levels: dict[str, tuple[str, ...]]
    # of each class of the table, its place among the model's classes; empty for a regression
    order: tuple[int, ...]
    notices: tuple[str, ...]  # what was decided, one sentence each
    warnings: tuple[str, ...]  # what makes it unlikely that this is the model's table

    @property
    def source(self) -> PlainSource:
        """The model's trees."""
        return self.model.source

    def rows(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Rows as the model reads them: codes of levels; NaN for missing and unknown ones."""
        matrix = np.empty((len(X), len(self.columns)))
        for place, name in enumerate(self.columns):
            column = X[name]
            if name in self.levels:
                codes = {level: code for code, level in enumerate(self.levels[name])}
                column = column.astype(object).map(codes, na_action="ignore")
            matrix[:, place] = column.to_numpy(np.float64, na_value=np.nan)
        return matrix


def match_table(
    model: GivenModel,
    X: pd.DataFrame,
    y: NDArray[np.float64],
    classes: Sequence[str] = (),
) -> MatchedModel:
    """Check that a model reads this table: its features, their order, categories, predictions.

    The first 200 rows are predicted by the model's own library, in a process of its own, and by
    the trees that were read; a difference refuses the model.
    """
    if model.source.plain.link == "share" and not classes:
        model = model._replace(source=model.source.for_numbers())
    source = model.source
    _check_task(source, classes)
    columns, notices = _find_columns(source, list(map(str, X.columns)))
    levels = _find_levels(source, X, columns)
    order, notes = _find_classes(source, classes)
    if len(source.plain.hashed):
        rows = MatchedModel(model, columns, levels, order, (), ()).rows(X[:FIRST_ROWS])
        source, respelt = _spell_words(
            model, [levels[columns[k]] for k in source.category_features], rows
        )
        model = model._replace(source=source)
        notes += [
            f"True and False of the column {shown(columns[place])} are 1 and 0 to the model."
            for place in respelt
        ]
        notes.append(
            "The model's file keeps its categories as hashes, so CatBoost itself finds the leaves "
            "of rows."
        )
    matched = MatchedModel(model, columns, levels, order, (), ())
    rows = matched.rows(X)
    if np.isinf(rows).any():
        raise InvalidData("The table holds infinity in a column of the model: replace it.")
    notices += [*notes, *_compare(model, rows[:FIRST_ROWS])]
    warnings = [*_ask_for_gaps(matched, X), *_judge_fit(matched, rows, y)]
    return matched._replace(notices=tuple(notices), warnings=tuple(warnings))


def _check_task(source: PlainSource, classes: Sequence[str]) -> None:
    if source.task == "classification" and not classes:
        raise InvalidData(
            "The model is a classifier, but the target is a number: choose another target, or "
            "classification as the task."
        )
    if source.task == "regression" and classes:
        raise InvalidData(
            "The model predicts a number, as far as its file tells its loss, but the target is a "
            "class: choose another target, or regression as the task."
        )


def _find_columns(source: PlainSource, own: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The table's columns in the model's order."""
    n, names = source.n_features, source.feature_names
    if names is None:
        if len(own) != n:
            raise InvalidData(
                f"The model has {counted(n, 'feature')} without names, but the table has "
                f"{counted(len(own), 'column')} besides the target: leave out the columns that "
                "it was not trained on."
            )
        return tuple(own), [
            "The model does not name its features, so the columns are taken in the table's order."
        ]
    picked = pick_columns(source, own)
    lacking = [name for name in names if name not in picked]
    if lacking:
        several = len(lacking) > 1
        raise InvalidData(
            f"The model needs the column{'s' if several else ''} {listed(lacking)}, which the "
            f"table does not have: add {'them' if several else 'it'}, or open the table that the "
            "model was trained on."
        )
    columns = tuple(picked[name] for name in names)
    notices = []
    extra = [name for name in own if name not in set(columns)]
    if extra:
        notices.append(f"The model does not read {listed(extra)}.")
    if list(columns) != [name for name in own if name in set(columns)]:
        notices.append("The columns of the table are put in the model's order.")
    return columns, notices


def pick_columns(source: PlainSource, columns: Sequence[str]) -> dict[str, str]:
    """The table's column of each of the model's names that the table has.

    A column of exactly that name comes before one that differs in blanks and underscores only.
    LightGBM writes underscores for blanks, so its names tell one from the other in no table that
    has both.
    """
    names = dict.fromkeys(source.feature_names or ())
    exact = {*columns} if source.kind != "lightgbm" else set()
    by_plain: dict[str, list[str]] = {}
    for column in columns:
        by_plain.setdefault(plain_name(column), []).append(column)
    picked = {}
    for name in names:
        same = [name] if name in exact else by_plain.get(plain_name(name), [])
        rivals = [column for column in same if column == name or column not in names]
        if len(rivals) > 1:
            raise InvalidData(
                f"The model reads a column {shown(name)}, which may be any of the table's columns "
                f"{listed(rivals)}, since libraries write underscores for blanks: leave out those "
                "that it was not trained on (--drop)."
            )
        if rivals:
            picked[name] = rivals[0]
    return picked


def _find_levels(
    source: PlainSource, X: pd.DataFrame, columns: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The model's levels of the columns that are categories in the table."""
    words = [
        name
        for name in columns
        if not pd.api.types.is_numeric_dtype(X[name].dtype)
        and not pd.api.types.is_bool_dtype(X[name].dtype)
    ]
    known = source.plain.categories
    as_levels = {columns[place] for place in source.category_features}
    if len(source.plain.hashed):
        if as_levels != set(words):
            odd = min(as_levels ^ set(words))
            raise InvalidData(
                f"The model reads the column {shown(odd)} as "
                f"{'categories' if odd in as_levels else 'numbers'}, but in the table it "
                f"{'is numeric' if odd in as_levels else 'holds words'}: open the table as the "
                "model was trained on it."
            )
        return {name: tuple(map(str, X[name].dropna().unique())) for name in words}
    if known:
        numeric = sorted(as_levels - set(words))
        if numeric:
            raise InvalidData(
                f"The model reads the column {shown(numeric[0])} as categories, but in the table "
                "it is numeric: read it as a category."
            )
        if len(words) != len(known):
            raise InvalidData(
                f"The model has {counted(len(known), 'category column')}, but the table has "
                f"{len(words)} among its features: read the same columns as categories. Its first "
                f"one has levels such as {listed(list(known[0])[:3])}."
            )
    elif as_levels & set(words):
        raise InvalidData(
            "The model's file does not name the categories of the column "
            f"{shown(min(as_levels & set(words)))} (XGBoost does so since 3.1, for names of ASCII "
            "letters): give the column as the codes that the model was trained on."
        )
    elif words:
        raise InvalidData(
            f"The model reads the column {shown(words[0])} as numbers, but in the table it holds "
            "words: open the table as the model was trained on it."
        )
    levels = dict(zip(words, known, strict=True)) if known else {}
    for name, of_model in levels.items():
        in_table = {str(level) for level in X[name].dropna().unique()}
        if in_table and not in_table & set(of_model):
            raise InvalidData(
                f"The column {shown(name)} has none of the model's categories, such as "
                f"{listed(list(of_model)[:3])}: open the table that the model was trained on."
            )
    return levels


def _spell_words(
    model: GivenModel, words: list[tuple[str, ...]], rows: NDArray[np.float64]
) -> tuple[HashedSource, list[int]]:
    """The model with the table's words, and where its 1 and 0 are the table's True and False.

    CatBoost reads a column of truths so, and a column of these words as they are. Hashes do not
    tell which one it was, but words that the model knows lead to other leaves than new ones.
    """

    def leaves(place: int, spelling: tuple[str, ...]) -> NDArray[np.int32]:
        tried = [*words[:place], spelling, *words[place + 1 :]]
        return HashedSource(model.source.plain, model.content, tried).leaf_matrix(rows)

    respelt = []
    for place, own in enumerate(words):
        if own and {level.lower() for level in own} <= {*_TRUTHS}:
            numbers = tuple(_TRUTHS[level.lower()] for level in own)
            new = leaves(place, tuple(f"\ufffd{level}" for level in own))
            known, as_numbers = (np.sum(leaves(place, x) != new) for x in (own, numbers))
            if as_numbers > known:
                words[place] = numbers
                respelt.append(model.source.category_features[place])
    return HashedSource(model.source.plain, model.content, words), respelt


def _find_classes(source: PlainSource, classes: Sequence[str]) -> tuple[tuple[int, ...], list[str]]:
    """Where each class of the table is among the model's."""
    if not classes:
        return (), []
    if len(classes) != source.n_classes:
        raise InvalidData(
            f"The model has {source.n_classes} classes, but the target has {len(classes)}: choose "
            "the target that it was trained on."
        )
    own = source.plain.classes
    if set(own) == set(classes):
        return tuple(own.index(name) for name in classes), []
    if own and not all(_is_number(name) for name in own):
        raise InvalidData(
            f"The model's classes are {listed(list(own)[:5])}, but those of the target are "
            f"{listed(list(classes)[:5])}: choose the target that it was trained on."
        )
    return tuple(range(len(classes))), [
        f"The model numbers its classes, which are taken in this order: {listed(list(classes))}."
    ]


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit()


def _compare(model: GivenModel, rows: NDArray[np.float64]) -> list[str]:
    """Hold the sums of the trees that were read against the library's own."""
    source = model.source
    own = source.predict_raw(rows)[0]
    if source.plain.averages:
        own = own * source.n_iterations  # libraries give the sum
    try:
        theirs = library_sums(model, rows)
    except MissingPackage:
        return [
            f"{model.library} is not installed here, so its own predictions of the first rows "
            "could not be compared with those of the trees that were read."
        ]
    if theirs.shape != own.shape or not np.isfinite(theirs).all():
        raise ModelFileError(f"{model.library} predicts no numbers for the first rows.")
    odd = np.abs(own - theirs) > _TOLERANCE * max(1.0, float(np.abs(theirs).max()))
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ModelFileError(
            f"The trees that were read sum up to {short(own[row, column])} for row {row + 1}, but "
            f"{model.library} says {short(theirs[row, column])}: the file is damaged or of an "
            "unknown version."
        )
    n_rows = counted(len(rows), "row")
    sentences = [f"{model.library} itself predicts the same for the first {n_rows}."]
    if source.kind == "xgboost":
        sentences.append(
            "No file of XGBoost says which value was missing to the model (missing=): here it is "
            "the empty cell, unless another is named (--missing)."
        )
    if unused := int(source.plain.unused_rounds):
        sentences.append(
            f"The model is read up to its best round, {source.n_iterations} of "
            f"{source.n_iterations + unused}, as early stopping chose it."
        )
    return sentences


def _ask_for_gaps(matched: MatchedModel, X: pd.DataFrame) -> list[str]:
    """Which word an empty cell was to a model that keeps hashes of words."""
    return [
        f"The column {shown(name)} has empty cells, which count as a category that the model has "
        'not seen: write the word that they were in training, such as "nan", into them, and keep '
        "it as a value (--keep-words)."
        for name in (matched.columns[place] for place in matched.source.plain.hashed)
        if X[name].isna().any()
    ]


def _judge_fit(model: MatchedModel, rows: NDArray[np.float64], y: NDArray[np.float64]) -> list[str]:
    """A warning if the model explains nothing of the target."""
    known = ~np.isnan(y)
    target = y[known]
    if len(target) < 2 or np.ptp(target) == 0.0:
        return []
    if model.order:
        chances = model.source.predict_proba(rows[known])[:, list(model.order)]
        wrong = float(np.mean(chances.argmax(axis=1) != target))
        most = float(np.bincount(target.astype(np.int64)).max())
        usual = 1.0 - most / len(target)
        fit = f"it gets {100 * wrong:.0f} % of the classes wrong"
        useless = wrong >= usual and wrong > 0.0
    else:
        errors = target - model.source.predict(rows[known])
        with np.errstate(over="ignore"):
            explained = 1.0 - float(np.mean(errors**2) / np.var(target))
        fit = f"R\u00b2 is {short(explained, 2)}"
        useless = not explained > 0.0
    if not useless:
        return []
    return [
        f"The model explains nothing of the target ({fit}): check that this is the table and the "
        "target that it was trained on."
    ]
