"""Trees as plain arrays: a model of any library without that library.

A model file that a stranger made is read in a process of its own, which answers with these arrays.
Everything in them is checked here before a row meets a tree, so a wrong answer is refused and
cannot do more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.array_checks import begins
from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError
from gbuq_core.model_files.contents import Arrays, is_text, require, take, whole
from gbuq_core.presentation import counted
from gbuq_core.progress import advance
from gbuq_core.trees.importers.objectives import LINKS, apply_link
from gbuq_core.trees.importers.replaying import (
    NAN_IS_MISSING,
    NAN_IS_ZERO,
    ZERO_IS_MISSING,
    NumericTrees,
    check_structure,
    flush_tiny,
    make_table,
    replay_leaves,
    take_splits,
)
from gbuq_core.trees.importers.source import TASKS, LeafSource, refuse_dart, refuse_sum

_OF_CLASSES = ("sigmoid", "share", "softmax", "sigmoids")
NO_STAGES = ("", "dart", "forest", "sum")
KINDS = ("catboost", "lightgbm", "xgboost")

MOST_FEATURES = 100_000
MOST_SPLITS = 20_000_000
MOST_TREES = 100_000
_DEEPEST = 2000  # levels of a tree
_LONGEST_NAME = 1000  # letters
_MOST_OUTPUTS = 1000
_LARGEST = 1e100  # of a leaf: sums and squares of such are still float64
_CELLS = 4_000_000  # rows x trees whose leaf values are held at a time

# What a model is written as: arrays with their types and numbers of axes, and parts of a header.
PLAIN_ARRAYS: dict[str, tuple[Any, int]] = {
    "begin": (np.int64, 1),
    "left": (np.int32, 1),
    "right": (np.int32, 1),
    "feature": (np.int32, 1),
    "threshold": (np.float64, 1),
    "missing": (np.int32, 1),
    "missing_left": (np.bool_, 1),
    "leaf_values": (np.float64, 2),
    "output": (np.int32, 1),
    "base": (np.float64, 1),
    "decays": (np.float64, 1),
    "levels_begin": (np.int64, 1),
    "levels": (np.int32, 1),
    "hashed": (np.int32, 1),
}
PLAIN_TEXTS = ("kind", "task", "link", "no_stages")
PLAIN_FLAGS = ("averages", "single", "flushes")
PLAIN_NUMBERS = ("scale", "slope", "unused_rounds")


Words = Sequence[Sequence[str]]  # of each feature of categories, the words of its codes


class PlainTrees(NamedTuple):
    """A model as arrays and numbers."""

    # `kind`, `task`: the library that trained it, and "regression" or "classification"
    kind: str
    task: str
    n_features: int
    names: tuple[str, ...]  # of the features; empty where the model has made them up
    # All splits. Where `levels_begin` names levels for a split, it is one of categories.
    trees: NumericTrees
    # (n_leaves, width): leaves of all trees, one tree after the other; `width` outputs a leaf
    leaf_values: np.ndarray
    output: np.ndarray  # (n_trees,): the first output that each tree adds to
    base: np.ndarray  # (n_outputs,): added to the sums
    # `scale`, `slope`: what sums are multiplied by; the factor within a sigmoid
    scale: float
    slope: float
    # (n_iterations,): the factors by which the model was shrunk before each round
    decays: np.ndarray
    link: str  # one of `LINKS`
    per_iteration: int  # trees of a boosting round
    averages: bool  # whether the trees are averaged, as a random forest's
    no_stages: str  # why the model has no earlier states: one of `NO_STAGES`
    single: bool  # whether features are rounded to float32 before they are compared
    flushes: bool  # whether what is closer to 0 than 1e-35 counts as 0
    levels_begin: np.ndarray  # (n_splits + 1,)
    levels: np.ndarray  # codes of the levels that go left at a split of categories, from 0
    # the levels of each category column of the table, in their order, where the model knows them
    categories: tuple[tuple[str, ...], ...]
    classes: tuple[str, ...]  # the classes' labels, where the model knows them
    unused_rounds: float = 0.0  # behind the best one, which early stopping has found
    # features whose levels the model keeps as hashes: its library finds the leaves of rows
    hashed: np.ndarray = np.zeros(0, np.int32)


def rows_around(plain: PlainTrees, n_rows: int = 200) -> np.ndarray:
    """Rows on both sides of the splits, at their very thresholds, missing, and of new levels."""
    rng, splits = np.random.default_rng(0), plain.trees
    rows = np.zeros((n_rows, plain.n_features))
    counts = np.diff(plain.levels_begin)
    for feature in np.unique(splits.feature):
        mine = splits.feature == feature
        at = splits.threshold[mine & (counts == 0) & np.isfinite(splits.threshold)]
        near = at.astype(np.float32)
        beside = [np.nextafter(near, np.float32(to)) for to in (-np.inf, np.inf)]
        levels = plain.levels[np.repeat(mine, counts)]
        values = np.concatenate([at, *beside, levels, levels + 1])
        rows[:, feature] = rng.choice(values, n_rows) if len(values) else 0.0
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


class PlainSource(LeafSource):
    """The trees of `PlainTrees`, checked; predictions are sums of their leaves."""

    words: Words = ()  # where categories are hashed and rows hold codes

    def __init__(self, plain: PlainTrees) -> None:
        check_plain(plain)
        self.plain, self.model = plain, None
        self.kind, self.task = plain.kind, plain.task
        self.n_features, self.feature_names = plain.n_features, plain.names or None
        self.leaf_counts = np.diff(plain.trees.begin) + 1
        self.n_iterations = self.n_trees // plain.per_iteration
        self.n_classes = max(2, len(plain.base))
        self.is_forest = plain.averages or plain.no_stages == "forest"
        self.has_categories = len(plain.levels) > 0 or len(plain.hashed) > 0
        by_levels = plain.trees.feature[np.diff(plain.levels_begin) > 0]
        # Their places.
        self.category_features = tuple(np.union1d(by_levels, plain.hashed).tolist())
        counts = np.bincount(plain.trees.feature, minlength=plain.n_features).astype(np.float64)
        self.importances = counts / max(1.0, counts.sum())
        self._first_leaf = begins(self.leaf_counts)
        self._table = None if self.has_categories else make_table(plain.trees)

    def __repr__(self) -> str:
        return f"PlainSource({self.kind}, {self.n_trees} trees, {self.n_features} features)"

    def for_numbers(self) -> PlainSource:
        """The same trees with shares from 0 to 1 as the target, in place of two classes."""
        return PlainSource(self.plain._replace(task="regression", classes=()))

    def predict_raw(self, X: Any, iterations: np.ndarray | None = None) -> np.ndarray:
        """Sums of leaves, before they become predictions, (n_stages, n, n_outputs) float64."""
        rows, plain = self.check_rows(X), self.plain
        ends = np.asarray([self.n_iterations] if iterations is None else iterations, np.int64)
        last = int(ends[-1]) * plain.per_iteration
        sums = np.zeros((len(ends), len(rows), len(plain.base)))
        size = max(1, _CELLS // (last * plain.leaf_values.shape[1]))
        for low in range(0, len(rows), size):
            advance(0.0)
            part = rows.iloc[low : low + size] if hasattr(rows, "iloc") else rows[low : low + size]
            leaves = self._leaves(part, 0, last) + self._first_leaf[:last]
            self._add(leaves, ends * plain.per_iteration, sums[:, low : low + size])
        if plain.averages:
            sums /= self.n_iterations
        # What came after the last round of a stage: the product of no factors is 1.
        later = np.cumprod(np.append(plain.decays, 1.0)[::-1])[::-1]
        return (plain.scale * sums + plain.base) / later[ends][:, None, None]

    def predict_outputs(self, X: Any) -> np.ndarray:
        """All that the model predicts, (n, n_outputs): its classes, or a mean and a variance."""
        return self._link(self.predict_raw(X))[0]

    def as_forest(self, most_trees: int) -> PlainSource:
        """Trees of some rounds, evenly spaced, as parts of the space whose leaves get own models.

        MACAU reads a random forest; of a boosted model it can use where its trees cut as well.
        """
        each = 1 if self.plain.no_stages == "forest" else self.plain.per_iteration
        n_rounds = self.n_trees // each
        n_chosen = min(max(1, most_trees // each), n_rounds)
        rounds = np.unique(np.linspace(0, n_rounds - 1, n_chosen).round().astype(np.int64))
        trees = (each * rounds[:, None] + np.arange(each)).ravel()
        begin = self.plain.trees.begin
        splits = np.concatenate([np.arange(begin[t], begin[t + 1]) for t in trees]).astype(np.int64)
        leaves = np.concatenate(
            [np.arange(self._first_leaf[t], self._first_leaf[t + 1]) for t in trees]
        )
        counts = np.diff(self.plain.levels_begin)[splits]
        keep = [
            self.plain.levels[self.plain.levels_begin[s] : self.plain.levels_begin[s + 1]]
            for s in splits[counts > 0]
        ]
        forest = PlainSource(
            self.plain._replace(
                trees=take_splits(self.plain.trees, begins(np.diff(begin)[trees]), splits),
                leaf_values=self.plain.leaf_values[leaves],
                output=self.plain.output[trees],
                levels_begin=begins(counts),
                levels=np.concatenate(keep) if keep else np.zeros(0, np.int32),
                decays=np.ones(len(trees)),
                per_iteration=1,
            )
        )
        forest.is_forest = True
        return forest

    def refuse_stages(self) -> None:
        """Refuse a forest, DART, which changes the trees that it has, and a sum of models."""
        if self.plain.no_stages == "dart":
            raise refuse_dart()
        if self.is_forest:
            raise InvalidParameter(
                "The trees of a random forest do not correct each other, so it has no earlier "
                "states to look at: pass a boosted model."
            )
        if self.plain.no_stages == "sum":
            raise refuse_sum()
        if self.plain.link == "sigmoids":
            raise InvalidParameter(
                "The model's probabilities do not sum to one over the classes: train one that "
                "chooses among all classes."
            )

    def _leaves(self, rows: Any, first: int, last: int) -> np.ndarray:
        plain = self.plain
        X = numbers_of(self._coded(rows))
        if plain.single:
            with np.errstate(over="ignore"):
                X = X.astype(np.float32).astype(np.float64)
        if plain.flushes:
            X = flush_tiny(X)
        if self._table is not None:
            return replay_leaves(self._table, X, first, last)
        return self._walk(X, first, last)

    def _coded(self, rows: Any) -> Any:
        """Category columns as codes of the model's own levels, NaN for levels that it lacks."""
        if not self.has_categories or not hasattr(rows, "iloc"):
            return rows
        places = [k for k, dtype in enumerate(rows.dtypes) if str(dtype) == "category"]
        levels = self.plain.categories
        if not places:
            return rows
        if not levels:
            raise InvalidData(
                "The model's file does not name its categories: pass the codes that it was trained "
                "on, as numbers."
            )
        if len(places) != len(levels):
            raise InvalidData(
                f"X has {counted(len(places), 'category column')}, but the model was trained on "
                f"{len(levels)}: pass the same columns."
            )
        rows = rows.copy(deep=False)
        for place, own in zip(places, levels, strict=True):
            codes = {level: float(code) for code, level in enumerate(own)}
            column = rows.iloc[:, place].cat
            known = [codes.get(str(level), np.nan) for level in column.categories]
            rows.isetitem(place, np.append(known, np.nan)[column.codes])  # -1 is missing: the last
        return rows

    def _walk(self, X: np.ndarray, first: int, last: int) -> np.ndarray:
        """Leaves by walking down, for very large trees and for splits of categories."""
        plain, trees = self.plain, self.plain.trees
        width = int(plain.levels.max(initial=-1)) + 1
        counts = np.diff(plain.levels_begin)
        keys = np.repeat(np.arange(len(counts)), counts) * width + plain.levels
        keys.sort()
        out = np.zeros((len(X), last - first), np.int32)
        for tree in range(first, last):
            advance(0.0)
            begin = int(trees.begin[tree])
            if trees.begin[tree + 1] == begin:
                continue
            node, rows = np.zeros(len(X), np.int64), np.arange(len(X))
            while len(rows):
                split = begin + node[rows]
                value = X[rows, trees.feature[split]]
                goes_left = _go_left(trees, split, value)
                of_levels = counts[split] > 0
                if of_levels.any():
                    chosen, code = split[of_levels], value[of_levels]
                    goes_left[of_levels] = np.where(
                        np.isnan(code),
                        trees.missing_left[chosen],
                        _in_levels(keys, chosen, code, width),
                    )
                node[rows] = np.where(goes_left, trees.left[split], trees.right[split])
                rows = rows[node[rows] >= 0]
            out[:, tree - first] = ~node
        return out

    def _predict(self, rows: Any) -> np.ndarray:
        outputs = self.predict_outputs(rows)
        # A gaussian's second output is its variance.
        return outputs[:, 0] if self.task == "regression" else outputs

    def _staged(self, rows: Any, iterations: np.ndarray) -> np.ndarray:
        return self._link(self.predict_raw(rows, iterations))

    def _link(self, raw: np.ndarray) -> np.ndarray:
        """Predictions (..., n_outputs) of sums; of two classes both."""
        linked = apply_link(self.plain.link, raw, self.plain.slope)
        is_second = self.task == "classification" and raw.shape[-1] == 1
        return np.concatenate([1.0 - linked, linked], axis=-1) if is_second else linked

    def _add(self, leaves: np.ndarray, ends: np.ndarray, sums: np.ndarray) -> None:
        """Add the values of leaves (n, n_trees) up to each of ``ends`` to (n_stages, n, k)."""
        plain = self.plain
        width = plain.leaf_values.shape[1]
        output = plain.output[: leaves.shape[1]]
        for first in np.unique(output):
            mine = np.flatnonzero(output == first)
            begins = np.searchsorted(mine, np.concatenate([[0], ends[:-1]]))
            for k in range(width):
                values = plain.leaf_values[leaves[:, mine], k]
                filled = np.diff(np.append(begins, len(mine))) > 0
                parts = np.zeros((len(leaves), len(ends)))
                parts[:, filled] = np.add.reduceat(values, begins[filled], axis=1)
                sums[:, :, first + k] += np.cumsum(parts, axis=1).T


def numbers_of(rows: Any) -> np.ndarray:
    """Rows as a matrix of numbers."""
    try:
        if hasattr(rows, "iloc"):
            return rows.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        raise InvalidData(
            "X holds values that are not numbers, but the model was trained on numbers."
        ) from None


def _go_left(trees: NumericTrees, split: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Where numbers go at their splits."""
    rule, missing = trees.missing[split], np.isnan(value)
    value = np.where(missing & (rule == NAN_IS_ZERO), 0.0, value)
    missing &= rule != NAN_IS_ZERO
    missing |= (rule == ZERO_IS_MISSING) & (np.abs(value) <= float(np.float32(1e-35)))
    threshold = trees.threshold[split]
    below = value < threshold if trees.strict else value <= threshold
    return np.where(missing, trees.missing_left[split], below)


def _in_levels(keys: np.ndarray, split: np.ndarray, value: np.ndarray, width: int) -> np.ndarray:
    """Whether a level is among those that go left; a new one is not."""
    known = (value >= 0) & (value < width)  # False for NaN
    code = np.where(known, value, 0).astype(np.int64)
    wanted = split * width + code
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return known & (keys[at] == wanted)


def describe_plain(plain: PlainTrees) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A header and arrays for `gbuq_core.model_files.archive.write_archive`."""
    parts = {**plain._asdict(), **plain.trees._asdict()}
    header = {key: parts[key] for key in (*PLAIN_TEXTS, *PLAIN_FLAGS, *PLAIN_NUMBERS, "strict")}
    header |= {
        "n_features": plain.n_features,
        "per_iteration": plain.per_iteration,
        "names": list(plain.names),
        "classes": list(plain.classes),
        "categories": [list(column) for column in plain.categories],
    }
    arrays = {key: np.asarray(parts[key], dtype) for key, (dtype, _) in PLAIN_ARRAYS.items()}
    return header, arrays


def read_plain(header: Mapping[str, Any], arrays: Arrays) -> PlainSource:
    """The model that `describe_plain` has described, all of it checked."""
    parts: dict[str, Any] = {
        key: take(arrays, key, dtype, (None,) * n_axes)
        for key, (dtype, n_axes) in PLAIN_ARRAYS.items()
    }
    for keys, kinds in (
        (PLAIN_TEXTS, (str,)),
        ((*PLAIN_FLAGS, "strict"), (bool,)),
        (PLAIN_NUMBERS, (int, float)),
    ):
        for key in keys:
            require(type(header[key]) in kinds, "its header is incomplete")
            parts[key] = float(header[key]) if key in PLAIN_NUMBERS else header[key]
    require(isinstance(header["categories"], list), "its header is incomplete")
    parts["missing"] = parts["missing"].clip(-1, 3).astype(np.int8)
    return PlainSource(
        PlainTrees(
            trees=NumericTrees(**{key: parts.pop(key) for key in NumericTrees._fields}),
            **parts,
            n_features=whole(header["n_features"]),
            per_iteration=whole(header["per_iteration"]),
            names=_texts(header["names"]),
            classes=_texts(header["classes"]),
            categories=tuple(_texts(column) for column in header["categories"]),
        )
    )


def _texts(values: Any) -> tuple[str, ...]:
    long = is_text(values) and any(len(value) > _LONGEST_NAME for value in values)
    require(is_text(values) and not long, "a name is no text, or too long")
    return tuple(values)


def check_plain(plain: PlainTrees) -> None:
    """Refuse arrays that contradict each other, point nowhere or hold no numbers."""
    trees, n_splits = plain.trees, len(plain.trees.left)
    _require(plain.kind in KINDS and plain.task in TASKS, "its kind is unknown")
    _require(1 <= plain.n_features <= MOST_FEATURES, "its number of features is impossible")
    _require(len(plain.names) in (0, plain.n_features), "it does not name all of its features")
    _require(len(set(plain.names)) == len(plain.names), "two of its features have one name")
    n_trees = len(trees.begin) - 1
    _require(1 <= n_trees <= MOST_TREES, "its number of trees is impossible")
    _require(n_splits <= MOST_SPLITS, "it has more splits than can be read")
    for part in (trees.right, trees.feature, trees.threshold, trees.missing, trees.missing_left):
        _require(len(part) == n_splits, "its splits are not complete")
    sizes = np.diff(trees.begin)
    edges = trees.begin[0] == 0 and trees.begin[-1] == n_splits and (sizes >= 0).all()
    _require(edges, "its trees do not add up")
    _check_splits(trees, sizes, plain.n_features)
    check_structure(trees)
    if deepest(trees, _DEEPEST + 1) > _DEEPEST:
        raise ModelFileError(f"A tree of the model is deeper than {_DEEPEST:,} levels.")
    _check_leaves(plain, n_trees, n_splits)
    _check_levels(plain, n_splits)
    _require(1 <= plain.per_iteration <= n_trees, "its rounds do not add up")
    _require(n_trees % plain.per_iteration == 0, "its last round of trees is not complete")
    numbers = (plain.scale, plain.slope)
    finite = np.isfinite(numbers).all() and max(map(abs, numbers)) <= _LARGEST and plain.slope > 0.0
    _require(finite, f"its scale and slope must be numbers up to {_LARGEST:g}, the slope above 0")
    decays, n_rounds = plain.decays, n_trees // plain.per_iteration
    _require(len(decays) == n_rounds, f"it has {len(decays):,} decays for {n_rounds:,} rounds")
    _require(((decays > 0.0) & (decays <= 1.0)).all(), "a decay must be above 0 and at most 1")
    _require(np.log(decays).sum() > -np.log(_LARGEST), "its decays leave nothing of the first tree")
    _require(plain.no_stages in NO_STAGES, "its kind is unknown")
    hashed = (plain.hashed >= 0) & (plain.hashed < plain.n_features)
    _require(hashed.all(), "its categories are no features")


def _check_splits(trees: NumericTrees, sizes: np.ndarray, n_features: int) -> None:
    """Every child is a split or a leaf of its own tree, every feature and threshold there is."""
    most = np.repeat(sizes, sizes)
    for child in (trees.left.astype(np.int64), trees.right.astype(np.int64)):
        _require(((child < most) & (child >= -most - 1)).all(), "a split points nowhere")
    inside = (trees.feature >= 0) & (trees.feature < n_features)
    _require(inside.all(), "a split asks for a feature that there is not")
    _require(np.isfinite(trees.threshold).all(), "a threshold is not a finite number")
    rules = (trees.missing >= NAN_IS_ZERO) & (trees.missing <= NAN_IS_MISSING)
    _require(rules.all(), "a split treats missing values in an unknown way")


def deepest(trees: NumericTrees, fewest: int = 1) -> int:
    """The most splits on a way from a root to a leaf, of trees with at least ``fewest`` splits.

    Counting ends above `_DEEPEST`, so that a walk down comes to an end in time.
    """
    start = node = trees.begin[:-1][np.diff(trees.begin) >= fewest]
    depth = 0
    while len(node) and depth <= _DEEPEST:
        depth += 1
        children = np.concatenate([trees.left[node], trees.right[node]])
        start = np.tile(start, 2)[children >= 0]
        node = start + children[children >= 0]
    return depth


def _check_leaves(plain: PlainTrees, n_trees: int, n_splits: int) -> None:
    values, n_outputs = plain.leaf_values, len(plain.base)
    _require(1 <= n_outputs <= _MOST_OUTPUTS, "its number of outputs is impossible")
    fits = values.ndim == 2 and 1 <= values.shape[1] <= n_outputs
    _require(fits, f"each leaf must hold 1 to {n_outputs} numbers")
    _require(len(values) == n_splits + n_trees, "its leaves are not complete")
    finite = np.isfinite(values).all() and (np.abs(values) <= _LARGEST / n_trees).all()
    _require(finite, "a leaf holds no possible number")
    bases = np.isfinite(plain.base).all() and (np.abs(plain.base) <= _LARGEST).all()
    _require(bases, "its starting values are impossible")
    places = (plain.output >= 0) & (plain.output <= n_outputs - values.shape[1])
    _require(len(plain.output) == n_trees and places.all(), "a tree belongs to no output")
    link = plain.link
    _require(link in LINKS, "its kind is unknown")
    if plain.task == "classification":
        known = link in _OF_CLASSES and (n_outputs == 1) == (link in ("sigmoid", "share"))
        _require(known, f"its {n_outputs} outputs do not make probabilities by {link}")
        n_classes, names = max(2, n_outputs), plain.classes
        named = len(names) in (0, n_classes) and len(set(names)) == len(names)
        _require(named, f"it must name its {n_classes} classes, each once, or none of them")
    else:
        _require(link == "share" or link not in _OF_CLASSES, "its outputs are of another kind")
        _require(n_outputs == (2 if link == "gaussian" else 1), "its outputs are of another kind")


def _check_levels(plain: PlainTrees, n_splits: int) -> None:
    begin, levels = plain.levels_begin, plain.levels
    edges = len(begin) == n_splits + 1 and begin[0] == 0 and begin[-1] == len(levels)
    _require(edges and (np.diff(begin) >= 0).all(), "its categories do not add up")
    _require((levels >= 0).all(), "a category is none")
    width = int(levels.max(initial=0)) + 1
    _require(width * (n_splits + 1) < 2**62, "a category is none")


def _require(condition: Any, why: str) -> None:
    if not condition:
        raise ModelFileError(f"The model is damaged ({why}): save it again.")
