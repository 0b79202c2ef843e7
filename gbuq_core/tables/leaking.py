"""Columns that hold the target in other words, alone or together.

A column alone may order the rows as the target does, give its class or say where it is 0; up to
three numbers together may give it as a sum, difference, product or ratio. What rows suggest is
believed if it holds on other rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from gbuq_core.metrics import auroc
from gbuq_core.parallel import one_blas_thread
from gbuq_core.presentation import percent, short, shown
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.splitting import is_named_id, is_named_time

MOST_ROWS = 100_000
_MOST_CELLS, _FEWEST_OF_MANY = 3_000_000, 2000  # of wide tables, so few rows at random
_NEAR = 0.999  # correlation, AUROC or share of rows from which a column gives the target away
_FEWEST_KNOWN = 20  # rows with a value, before those alone show anything
_FEWEST_ASIDE = 5  # rows with or without a value
_MOST_BY_CHANCE = 1e-4  # times the rows: the chance of a column that parts or orders them so
_DISTINCT = 0.9  # values of a time, as a share of the rows
_ROUNDING = 1e-9
_LEFT_OPEN = 0.25  # of what the rows before leave open in a series, at most
_ERRORS_LEFT = 0.1  # of those of always guessing the usual class, at most
_TOLD = 0.75  # of the entropy of the classes: a strong feature of balanced ones has up to .73
_MOST_CODES = 10  # distinct whole numbers that may be categories
_MOST_LEVELS = 20  # of a column that is named like an identifier: others are units
_REPEATED, _VARIANCE, _OWN = 0.2, 0.9, 0.95  # of targets in steps, by their category
_PILE = 0.05  # share of the rows that have the lowest or the highest target, or more
# Leaks by combination: how many columns and rows are looked at, which takes about a second.
_MOST_IN_PAIRS, _MOST_DIVISORS, _MOST_IN_TRIPLES = 1000, 250, 50
_MOST_CHOOSING, _MOST_JUDGING = 250, 2000
_FIT, _FIT_OF_MOST = 0.999, 0.99  # R2 on other rows, and among their middle 90 %
_WORTH_A_DISCOUNT = 0.3  # R2 of a product of two, which a third column changes
_WORTH_A_LOOK, _LOOKED_AT = 0.9, 3  # R2 where it is chosen (missing cells are averages); formulas
_EXACT = 1e-6  # 1 - R2
_IDLE = 2e-3  # stds of the target: a term of this size tells nothing

_Term = tuple[tuple[int, int], ...]  # columns with the powers 1 and -1, multiplied


class Leak(NamedTuple):
    """Columns that give the target away, and how, as a sentence that may hold the user's words."""

    columns: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        if len(self.columns) == 1:
            return f"{self.why}: leave it out unless it is known before the target is."
        return f"{self.why}: leave these columns out unless they are known before the target is."


def find_leaks(prepared: Prepared) -> list[Leak]:
    r"""Columns that give the target away, each named once.

    Parameters
    ----------
    prepared : Prepared
        Its first 100,000 rows are looked at, of wide tables fewer at random, and up to 1,000 of its
        columns two by two, 50 three by three.

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, prepare_training, read_table
    >>> rows = "".join(f"{i % 17},{i * i % 23},{i % 17 + i * i % 23}\n" for i in range(80))
    >>> table = read_table(f"casual,registered,y\n{rows}".encode())
    >>> print(*find_leaks(prepare_training(table, infer_schema(table), "y")))
    The target is "casual" + "registered": leave these columns out unless they are known before ...
    """
    rows = np.flatnonzero(prepared.known[:MOST_ROWS])
    most = max(_FEWEST_OF_MANY, _MOST_CELLS // max(1, len(prepared.features)))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    rows, in_time = _in_time(prepared, rows)
    X, target = prepared.X.iloc[rows], prepared.y[rows]
    is_class = bool(prepared.target.classes)
    ids = [
        column.name
        for column in prepared.schema.columns
        if column.n_distinct >= _MOST_LEVELS and is_named_id(column)
    ]
    leaks: dict[str, Leak] = {}
    partly: list[str] = []
    pile = max((target.min(), target.max()), key=lambda end: (target == end).sum())
    has_pile = not is_class and len(np.unique(target)) > 2
    has_pile = has_pile and (target == pile).mean() >= _PILE
    for feature in prepared.features:
        if feature.column in leaks:
            continue
        column = X[feature.name]
        what = _said_by(column, target, is_class, feature.column in ids, in_time)
        if (
            not what
            and has_pile
            and _said_by(column, (target == pile) * 1.0, True, feature.column in ids)
        ):
            what = f"tells almost surely whether the target is {short(pile)}"
            partly.append(feature.column)
        if what:
            why = f"The column {shown(feature.column)} {what}"
            leaks[feature.column] = Leak((feature.column,), why)
    numbers = [
        feature
        for feature in prepared.features
        if feature.part in ("", "days")
        and (feature.column not in leaks or feature.column in partly)
        and not isinstance(X[feature.name].dtype, pd.CategoricalDtype)
    ]
    if not is_class and numbers:
        V = X[[feature.name for feature in numbers]].to_numpy(np.float64)
        with one_blas_thread():
            most_open = _LEFT_OPEN * _open_after_three(target) if in_time else np.inf
            together = _combination(V, target, [feature.column for feature in numbers], most_open)
        if together:
            alone = [leak for name, leak in leaks.items() if name not in together.columns]
            return [*alone, together]
    return [*leaks.values()]


def _in_time(prepared: Prepared, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], bool]:
    """The rows in the order of a time if there is one, and whether a series may be read off them.

    In a table that is sorted by its target, the rows before tell the target, and no time does.
    """
    times_of = {column.name for column in prepared.schema.columns if is_named_time(column)}
    for feature in prepared.features:
        if feature.part == "days" or feature.column in times_of:
            times = prepared.X[feature.name].to_numpy(np.float64)[rows]
            if len(np.unique(times)) > _DISTINCT * len(rows) and not np.isnan(times).any():
                return rows[np.argsort(times, kind="stable")], True
    steps = np.diff(prepared.y[rows])
    return rows, bool(steps.max(initial=0.0) > 0.0 > steps.min(initial=0.0))


def _said_by(
    values: Any, target: NDArray[np.float64], is_class: bool, is_id: bool, in_time: bool = False
) -> str:
    """How one feature gives the target away; empty if it does not."""
    if is_class and not _are_enough(target):
        return ""
    if isinstance(values.dtype, pd.CategoricalDtype):
        missing = values.isna().to_numpy()
        what = "" if is_id else _said_by_category(codes_of(values), target, is_class)
        return what or _said_by_missing(missing, target, is_class)
    numbers = values.to_numpy(np.float64)
    missing = np.isnan(numbers)
    what = ""
    if _are_enough(target[~missing]):
        what = _said_by_number(numbers[~missing], target[~missing], is_class, in_time)
    if what and missing.any():
        what += f" in the {(~missing).sum():,} rows where it has a value"
    levels = np.unique(numbers[~missing])
    if not what and 1 < len(levels) <= _MOST_CODES and (levels == np.round(levels)).all():
        what = _said_by_category(ranks_of(numbers), target, is_class)
    known = np.flatnonzero(~missing)
    if in_time and len(known) and known[-1] - known[0] + 1 == len(known):
        return what  # what is known from some time on, or until then, such as a value of before
    return what or _said_by_missing(missing, target, is_class)


def _are_enough(target: NDArray[np.float64]) -> bool:
    """Whether rows are so many, and of such targets, that no column orders them by chance."""
    count = np.unique(target, return_counts=True)[1]
    orders = gammaln(len(target) + 1.0) - gammaln(count + 1.0).sum()  # as a logarithm
    chance = _MOST_BY_CHANCE / max(1, len(target))
    return len(target) >= _FEWEST_KNOWN and bool(-orders < np.log(chance))


def _said_by_category(codes: NDArray[np.int64], target: NDArray[np.float64], is_class: bool) -> str:
    """How categories give the target away; empty if they do not."""
    if not is_class:
        near = _told_by_average(codes, target)
        if near < _NEAR and not (near**2 >= _VARIANCE and _are_steps(codes, target)):
            return ""
        return "gives the target almost without error"
    right, usual, told = _told_by_category(codes, target)
    tells = told >= _TOLD and (1.0 - usual) * len(target) >= _FEWEST_KNOWN
    if not tells and (right < _NEAR or 1.0 - right > _ERRORS_LEFT * (1.0 - usual)):
        return ""
    rare = " whose value other rows have" if (np.bincount(codes + 1) == 1).any() else ""
    return f"gives the class in {percent(right, 1)} of the rows{rare}"


def _said_by_number(
    values: NDArray[np.float64], target: NDArray[np.float64], is_class: bool, in_time: bool
) -> str:
    """How numbers give the target of their rows away; empty if they do not."""
    if is_class:
        near = _told_by_number(values, target) >= _NEAR
        return "parts the classes almost without error" if near else ""
    share = _rank_correlation(values, target)
    if share >= _NEAR and in_time and _told_before(values, target):
        return ""
    if share >= 1.0 - 1e-12:
        return "orders the rows exactly as the target does"
    return "orders the rows almost as the target does" if share >= _NEAR else ""


def _told_before(values: NDArray[np.float64], target: NDArray[np.float64]) -> bool:
    """Whether numbers tell of a series, of its steps and of theirs, no more than the row before."""
    for _ in range(3):
        own = _rank_correlation(target[1:], target[:-1])
        if 1.0 - _rank_correlation(values, target) < _LEFT_OPEN * (1.0 - own) - _ROUNDING:
            return False
        values, target = np.diff(values), np.diff(target)
    return True


def _open_after_three(y: NDArray[np.float64]) -> float:
    """The share of a series' variance that sums of three values in a row leave open of the next."""
    before = np.column_stack([np.ones(max(len(y) - 3, 0)), y[2:-1], y[1:-2], y[:-3]])
    left = y[3:] - before @ _weigh(before, y[3:])
    return float((left**2).sum() / max((y.var() * len(left)), 1e-300))


def _said_by_missing(
    missing: NDArray[np.bool_], target: NDArray[np.float64], is_class: bool
) -> str:
    """How missing cells give the target away; empty if they do not."""
    if min(missing.sum(), (~missing).sum()) < _FEWEST_ASIDE:
        return ""
    if is_class:
        right, usual, _ = _told_by_category(missing.astype(np.int64), target)
        if 1.0 - right > _ERRORS_LEFT * (1.0 - usual):
            return ""
        return f"is missing or not by the class in {percent(right, 1)} of the rows"
    above = auroc(missing, target)
    apart = max(above, 1.0 - above)
    if apart < _NEAR:
        return ""
    only = "only" if apart == 1.0 else "almost only"
    return f"is missing {only} where the target is {'high' if above > 0.5 else 'low'}"


def _told_by_category(
    codes: NDArray[np.int64], classes: NDArray[Any]
) -> tuple[float, float, float]:
    """On another half: shares of right classes by category and of the usual one; of entropy."""
    right = usual = n_seen = 0
    loss = entropy = 0.0
    for learnt, judged in _both_halves(len(codes)):
        counts = pd.crosstab(codes[learnt], classes[learnt])
        places = counts.index.get_indexer(pd.Index(codes[judged]))
        own = counts.columns.get_indexer(pd.Index(classes[judged]))
        seen = places >= 0
        cells, places, own = counts.to_numpy(), places[seen], own[seen]
        n_seen += int(seen.sum())
        right += int((cells.argmax(axis=1)[places] == own).sum())
        usual += int((cells.sum(axis=0).argmax() == own).sum())
        share = cells.sum(axis=0) / cells.sum()
        chance = (cells + share) / (cells.sum(axis=1, keepdims=True) + 1.0)
        loss -= float(np.log(chance[places, own])[own >= 0].sum())
        entropy -= float(np.log(share[own])[own >= 0].sum())
    if n_seen < 0.5 * len(codes):
        return 0.0, 0.0, 0.0
    return right / n_seen, usual / n_seen, 1.0 - loss / entropy if entropy else 0.0


def _told_by_average(codes: NDArray[np.int64], target: NDArray[np.float64]) -> float:
    """Correlation of a target with the averages of its categories on another half."""
    averages = np.full(len(codes), np.nan)
    for learnt, judged in _both_halves(len(codes)):
        mean = pd.Series(target[learnt]).groupby(codes[learnt]).mean()
        averages[judged] = pd.Series(codes[judged]).map(mean).to_numpy(np.float64)
    seen = ~np.isnan(averages)
    if seen.sum() < max(_FEWEST_KNOWN, 0.5 * len(codes)):
        return 0.0
    variance = target[seen].var()
    if variance == 0.0:
        return 0.0
    explained = 1.0 - ((target[seen] - averages[seen]) ** 2).mean() / variance
    return float(np.sqrt(max(explained, 0.0)))


def _are_steps(codes: NDArray[np.int64], target: NDArray[np.float64]) -> bool:
    """Whether targets repeat and each belongs to one category, as a rate does to a grade."""
    steps = ranks_of(target)
    return steps.max() < _REPEATED * len(steps) and _told_by_category(steps, codes)[0] >= _OWN


def _both_halves(n_rows: int) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Which rows are learnt from and judged, each random half by the other one."""
    first = np.random.default_rng(0).permutation(n_rows) % 2 == 0
    return [(first, ~first), (~first, first)]


def _told_by_number(values: NDArray[np.float64], classes: NDArray[np.float64]) -> float:
    """The lowest AUROC over classes of a number, or of its distance from theirs."""
    codes = np.unique(classes)
    if len(codes) < 2:
        return 0.0
    worst = 1.0
    for code in codes:
        mine = classes == code
        distance = -np.abs(values - np.median(values[mine]))
        above = auroc(mine, values)
        worst = min(worst, max(above, 1.0 - above, auroc(mine, distance)))
        if worst < _NEAR:
            break
    return worst


def _rank_correlation(values: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    if values.min() == values.max() or target.min() == target.max():
        return 0.0
    first, second = _unit(_ranks_in_middle(values)), _unit(_ranks_in_middle(target))
    return float(abs(first @ second))


def _ranks_in_middle(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks, of equal numbers their mean."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]  # np.unique takes twice as long
    place = np.zeros(len(values), np.int64)
    place[order[1:]] = np.cumsum(ranked[1:] != ranked[:-1])
    count = np.bincount(place)
    return np.asarray((np.cumsum(count) - 0.5 * count)[place])


def _combination(
    V: NDArray[np.float64], y: NDArray[np.float64], names: Sequence[str], most_open: float
) -> Leak | None:
    """The shortest formula of up to three columns that gives the target on rows that it is new to.

    Columns are (n_rows, n_columns), and may have missing cells. Of the variance, the formula
    leaves less open than ``most_open``.
    """
    order = np.random.default_rng(0).permutation(len(y))
    n_choosing = min(len(y) // 2, _MOST_CHOOSING)
    choosing, judging = np.split(order[: n_choosing + _MOST_JUDGING], [n_choosing])
    if n_choosing < _FEWEST_KNOWN or np.ptp(y[choosing]) == 0.0:
        return None
    filled = V[choosing]
    missing = np.isnan(filled)
    mean = np.nansum(filled, axis=0) / np.maximum((~missing).sum(axis=0), 1)
    filled = np.where(missing, mean, filled)
    varies = np.flatnonzero((missing.mean(axis=0) < 0.5) & (np.ptp(filled, axis=0) > 0.0))
    near = np.abs(_unit(filled[:, varies]).T @ _unit(y[choosing]))
    kept = varies[np.argsort(-near, kind="stable")[:_MOST_IN_PAIRS]]
    if not len(kept):
        return None
    for formulas in _formulas(filled[:, kept] / filled[:, kept].std(axis=0), y[choosing]):
        found = []
        for formula in formulas:
            terms = [tuple((int(kept[k]), power) for k, power in term) for term in formula]
            terms, fit = _judge(terms, V, y, choosing, judging)
            if fit and 1.0 - fit < most_open:
                found.append((fit, terms))
        if found:
            fit, terms = max(found, key=lambda pair: pair[0])
            terms = sorted(
                tuple(sorted(term, key=lambda factor: (-factor[1], factor))) for term in terms
            )
            columns = tuple(dict.fromkeys(names[k] for term in terms for k, _ in term))
            nearly = "" if 1.0 - fit < _EXACT else "almost "
            return Leak(columns, f"The target is {nearly}{_write(terms, V, y, names, fit)}")
    return None


def _formulas(A: NDArray[np.float64], y: NDArray[np.float64]) -> Iterator[list[list[_Term]]]:
    """Likely formulas of one column, of two and of three; each is a list of its terms."""
    units, t = _unit(A), _unit(y)
    yield [[((int(np.abs(units.T @ t).argmax()), 1),)]]
    turned = np.flatnonzero((A != 0.0).all(axis=0))[:_MOST_DIVISORS]
    inverse = 1.0 / A[:, turned]
    Z = np.hstack([A, inverse / np.sqrt((inverse**2).mean(axis=0))])
    factors = [*((int(k), 1) for k in range(A.shape[1])), *((int(k), -1) for k in turned)]
    sums, products = _sums(units, t), _products(Z, t)
    pairs: list[list[_Term]] = [[((i, 1),), ((j, 1),)] for i, j in _best(sums)]
    pairs += [[(factors[i], factors[j])] for i, j in _best(products)]
    yield pairs
    near = sums.max(axis=1)
    np.maximum.at(near, [k for k, _ in factors], products.max(axis=1))
    kept = np.argsort(-near, kind="stable")[:_MOST_IN_TRIPLES]
    places = np.flatnonzero(np.isin([k for k, _ in factors], kept))
    triples = [
        formula
        for c in kept.tolist()
        for formula in _with_third(c, A, Z[:, places], [factors[k] for k in places], kept, y)
    ]
    for i, j in _best(products, _WORTH_A_DISCOUNT):  # "price" * "count" * (1 - "discount")
        product = Z[:, i] * Z[:, j]
        base = _unit(product)
        others = _unit(product[:, None] * A)
        others = _unit(others - np.outer(base, base @ others))
        c = int(np.abs((t - base * (base @ t)) @ others).argmax())
        triples.append([(factors[i], factors[j]), (factors[i], factors[j], (c, 1))])
    yield triples


def _with_third(
    c: int,
    A: NDArray[np.float64],
    Z: NDArray[np.float64],
    factors: list[tuple[int, int]],
    kept: NDArray[np.int64],
    y: NDArray[np.float64],
) -> Iterator[list[_Term]]:
    """Likely formulas with a given third column, which is added, or by which all is multiplied."""
    third, units = _unit(A[:, c]), _unit(A[:, kept])
    names = kept.tolist()
    left = _unit(_unit(y) - third * (third @ _unit(y)))
    apart = _unit(units - np.outer(third, third @ units))
    for i, j in _best(_sums(apart, left)):
        yield [((names[i], 1),), ((names[j], 1),), ((c, 1),)]
    for i, j in _best(_products(Z, left, third)):
        yield [(factors[i], factors[j]), ((c, 1),)]
    if not A[:, c].all():
        return
    for power in (1, -1):
        scaled, by = _unit(y * A[:, c] ** -power), (c, power)
        for i, j in _best(_sums(units, scaled)):
            yield [((names[i], 1), by), ((names[j], 1), by), (by,)]
        for i, j in _best(_products(Z, scaled)):
            yield [(factors[i], factors[j], by), (by,)]


def _unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns with mean 0 and length 1; those that hardly vary are 0."""
    centred = values - values.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    return centred / np.where(size > 1e-9 * np.abs(values).max(axis=0), size, np.inf)


def _sums(units: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """R2 of a target by each two columns; all of mean 0 and length 1."""
    shared, own = units.T @ units, units.T @ t
    left = 1.0 - shared**2
    left[left < 1e-8] = np.inf  # the same column twice
    return (own[:, None] ** 2 + own**2 - 2.0 * own[:, None] * own * shared) / left


def _products(
    Z: NDArray[np.float64], t: NDArray[np.float64], third: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """R2 of a target by the product of each two columns, what a third one tells left aside."""
    squares = (Z**2).T @ Z**2
    left = squares - (Z.T @ Z) ** 2 / len(Z)
    if third is not None:
        left -= ((Z * third[:, None]).T @ Z) ** 2
    left[left < 1e-9 * squares] = np.inf
    return ((Z * t[:, None]).T @ Z) ** 2 / left


def _best(scores: NDArray[np.float64], fewest: float = _WORTH_A_LOOK) -> list[tuple[int, int]]:
    """Two columns each: the few whose R2 is largest, if that is worth a look."""
    scores = np.triu(scores)
    places = np.argpartition(-scores, min(_LOOKED_AT, scores.size) - 1, axis=None)[:_LOOKED_AT]
    pairs = zip(*np.unravel_index(places, scores.shape), strict=True)
    return [(int(i), int(j)) for i, j in pairs if scores[i, j] > fewest]


def _judge(
    terms: list[_Term],
    V: NDArray[np.float64],
    y: NDArray[np.float64],
    choosing: NDArray[np.int64],
    judging: NDArray[np.int64],
) -> tuple[list[_Term], float]:
    """The terms that count, and the R2 of a formula on rows that it is new to; 0 below .999."""
    design = _design(terms, V)
    learnt, judged = (rows[np.isfinite(design[rows]).all(axis=1)] for rows in (choosing, judging))
    if min(len(learnt), len(judged)) < _FEWEST_KNOWN:
        return terms, 0.0
    weights = _weigh(design[learnt], y[learnt])
    sizes = np.abs(weights[:-1]) * design[learnt, :-1].std(axis=0)
    if len(terms) > 1 and sizes.min() < _IDLE * y[learnt].std():
        counts = [term for term, size in zip(terms, sizes, strict=True) if size > sizes.min()]
        return _judge(counts, V, y, choosing, judging)
    squares, truth = (y[judged] - design[judged] @ weights) ** 2, y[judged]
    low, high = np.quantile(truth, [0.05, 0.95])
    most = np.flatnonzero((truth >= low) & (truth <= high))
    fit = 1.0 - squares.sum() / max(((truth - truth.mean()) ** 2).sum(), 1e-300)
    # One total among the rows makes all columns alike.
    allowed = (1.0 - _FIT_OF_MOST) * truth[most].var() + _EXACT * truth.var()
    return terms, float(fit) if fit > _FIT and squares[most].mean() <= allowed else 0.0


def _design(terms: Sequence[_Term], V: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column for each term, and ones."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        products = [np.prod([V[:, k] ** float(p) for k, p in term], axis=0) for term in terms]
    return np.column_stack([*products, np.ones(len(V))])


def _weigh(design: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares; columns are scaled, since their units may differ by much."""
    size = np.sqrt((design**2).mean(axis=0))
    size[size == 0.0] = 1.0
    return np.linalg.lstsq(design / size, y, rcond=None)[0] / size


def _write(
    terms: Sequence[_Term],
    V: NDArray[np.float64],
    y: NDArray[np.float64],
    names: Sequence[str],
    fit: float,
) -> str:
    """A formula as a sentence shows it, such as 2 * "a" / "b" - "c" + 3."""
    design = _design(terms, V)
    whole = np.isfinite(design).all(axis=1)
    weights, idle = _weigh(design[whole], y[whole]), _IDLE + 0.2 * np.sqrt(max(1.0 - fit, 0.0))
    text = ""
    pairs = zip(weights, [*terms, ()], strict=True)
    for weight, term in sorted(pairs, key=lambda pair: pair[0] < 0.0):
        if not term and abs(weight) < idle * y.std():
            continue
        words = "".join(f" {'*' if power > 0 else '/'} {shown(names[k])}" for k, power in term)
        is_one = abs(abs(weight) - 1.0) < idle and words.startswith(" * ")
        number = words.removeprefix(" * ") if is_one else short(abs(weight)) + words
        sign = "-" if weight < 0 else "+"
        text += f" {sign} {number}" if text else f"{'-' if weight < 0 else ''}{number}"
    return text


def codes_of(values: Any) -> NDArray[np.int64]:
    """Codes of categories, or dense ranks of numbers; -1 for missing."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy().astype(np.int64)
    return ranks_of(values.to_numpy(np.float64))


def ranks_of(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Dense ranks of numbers; -1 for missing."""
    known = ~np.isnan(values)
    codes = np.full(len(values), -1, np.int64)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes
