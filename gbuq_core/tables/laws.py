"""The stacked law of one row: what it says, its voices, and the training rows in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.distribution import Distribution
from gbuq_core.errors import InvalidParameter
from gbuq_core.stacking import StackedRegressor
from gbuq_core.tables.deciding import target_of
from gbuq_core.tables.predicting import all_classes, is_on_log_scale, read_by_model, stacked_model
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.validation import check_number

LAW_MEANING = (
    "What the model holds for possible in this row. It is a mixture: each voice counts as much as "
    "it was right about rows that it had not seen. The voices are the trees, the smooth trend of "
    "all rows, the targets of the training rows that share most leaves with this one, and how the "
    "trees missed these rows."
)
_LEVELS = np.linspace(0.002, 0.998, 125)  # whose quantiles are places of a density
_MOST_WHOLE = 300
_INTERVALS = (0.5, 0.9)

FloatArray = NDArray[np.float64]


class LawVoice(NamedTuple):
    """One voice in a row's law.

    Attributes
    ----------
    voice : str
        "trees", "residuals", "targets", "process"; of classes also "shares", those of all rows.
    weight, usual : float
        In this row, and in rows like the training rows.
    mean, std : float
        Of a number, before the law is kept on its support; NaN for classes.
    values : ndarray of shape (n_points,)
        What it says by itself, as ``RowLaw.values``.
    """

    voice: str
    weight: float
    usual: float
    mean: float
    std: float
    values: FloatArray


class LawNeighbor(NamedTuple):
    """A training row in a row's law: its position in the training table, weight and target."""

    row: int
    weight: float
    target: float | str


class RowLaw(NamedTuple):
    """The law of one row.

    Attributes
    ----------
    row : int
        Its position in the scored table.
    kind : {"density", "masses", "classes"}
        Masses are of whole numbers.
    points : ndarray of shape (n_points,)
        Values of the target, or the codes of classes.
    values : ndarray of shape (n_points,)
        Density, in one over the unit of the target, or probability.
    spikes : tuple of (float, float)
        Values that have a probability beside a density, and that probability.
    intervals : tuple of (float, float, float)
        Level and ends of central intervals; empty for classes.
    voices : tuple of LawVoice
        The largest weight first; the weights add up to 1.
    neighbors : tuple of LawNeighbor
        The largest weight first.
    n_near : float
        How many rows of equal weight say as much as the neighbours: 1 over the sum of their
        squared shares.
    support : str
        Which values can occur, in a sentence; empty for classes.
    """

    row: int
    kind: str
    points: FloatArray
    values: FloatArray
    spikes: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float, float], ...]
    voices: tuple[LawVoice, ...]
    neighbors: tuple[LawNeighbor, ...]
    n_near: float
    support: str


def why_no_law(scored: ScoredTable) -> str:
    """Why the rows of this table have no law of several voices; empty if they have."""
    if stacked_model(scored.models[0].estimator) is not None:
        return ""
    return "Only the method Stacked has a law of several voices: choose it."


def row_law(scored: ScoredTable, row: int) -> RowLaw:
    r"""The stacked law of a row, its voices with their weights, and the training rows in it.

    Parameters
    ----------
    scored : ScoredTable
        Scored with ``method="stacked"``.
    row : int
        Position in ``scored.frame``.

    Returns
    -------
    RowLaw

    Raises
    ------
    InvalidParameter
        If there is no such row, or the method has no voices.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + i % 3}" for i in range(60))
    >>> plan = ScorePlan(method="stacked", n_folds=2, n_members=2, n_trees=20)
    >>> scored = score_table(read_table(f"x,y\n{rows}".encode()), "y", task="regression", plan=plan)
    >>> law = row_law(scored, 3)
    >>> law.kind, bool(abs(sum(voice.weight for voice in law.voices) - 1) < 1e-9)
    ('masses', True)
    """
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)
    refusal = why_no_law(scored)
    if refusal:
        raise InvalidParameter(refusal)
    fitted = scored.models[int(scored.model_of_row[row])]
    model = stacked_model(fitted.estimator)
    own = read_by_model(fitted.estimator, scored.scored.X.iloc[[row]])
    heard = model.predict_voices(own)
    n_classes = len(scored.training.target.classes)
    if n_classes:
        law = _of_classes(fitted.estimator, model, own, heard, n_classes)
    else:
        law = _of_numbers(fitted.estimator, model, own, heard)
    voices = [
        LawVoice(
            name,
            weight,
            float(model.weights_.get(name, 0.0)),
            *law.moments.get(name, (math.nan, math.nan)),
            law.values[name],
        )
        for name, weight in law.weight.items()
        if weight > 0.0
    ]
    voices.sort(key=lambda voice: -voice.weight)
    near = [
        LawNeighbor(int(fitted.rows[place]), share, target_of(scored, int(fitted.rows[place])))
        for place, share in zip(heard.neighbors[0].tolist(), heard.shares[0].tolist(), strict=True)
        if share > 0.0
    ]
    near.sort(key=lambda neighbor: -neighbor.weight)
    return RowLaw(
        row=row,
        kind=law.kind,
        points=law.points,
        values=np.sum([voice.weight * voice.values for voice in voices], axis=0),
        spikes=law.spikes,
        intervals=law.intervals,
        voices=tuple(voices),
        neighbors=tuple(near),
        n_near=_count_equal(heard.shares[0]) if near else 0.0,
        support=law.support,
    )


class _Drawn(NamedTuple):
    """A law where it is drawn, and by their names the voices' weights, means and stds there."""

    kind: str
    points: FloatArray
    values: dict[str, FloatArray]
    weight: dict[str, float]
    moments: dict[str, tuple[float, float]]
    spikes: tuple[tuple[float, float], ...] = ()
    intervals: tuple[tuple[float, float, float], ...] = ()
    support: str = ""


def _count_equal(shares: FloatArray) -> float:
    """How many equal shares say as much as these."""
    return float(shares.sum() ** 2 / np.square(shares).sum())


def _of_numbers(estimator: Any, model: StackedRegressor, own: Any, heard: Any) -> _Drawn:
    """The law of a number; on a log scale, of the number itself."""
    logs = is_on_log_scale(estimator)
    law = model.predict_distribution(own)
    points, look = _look(law, model, logs)
    values = {name: look(voice) for name, voice in model.predict_by_voice(own).items()}
    spikes = tuple((at, float(np.exp(law.logpdf([at])[0]))) for at in _bounds(model))
    ends = np.array([end[0] for end in law.interval(_INTERVALS)])
    if logs:
        points, ends, spikes = np.exp(points), np.exp(ends), ()
        values = {name: density / points for name, density in values.items()}
    pairs = zip(heard.mean[0].tolist(), np.sqrt(heard.variance[0]).tolist(), strict=True)
    return _Drawn(
        kind="masses" if model.support_.whole and not logs else "density",
        points=points,
        values=values,
        weight=dict(zip(heard.names, heard.weight[0].tolist(), strict=True)),
        moments=dict(zip(heard.names, pairs, strict=True)),
        spikes=spikes,
        intervals=tuple(
            (level, float(low), float(high))
            for level, low, high in zip(_INTERVALS, *ends, strict=True)
        ),
        support="" if logs else model.support_.describe(),
    )


def _of_classes(estimator: Any, model: Any, own: Any, heard: Any, n_classes: int) -> _Drawn:
    """The law of a class; what no voice says in it are the shares of all rows."""
    laws = {**model.predict_by_voice(own), "all": model.predict_proba(own)}
    says = {name: all_classes(law[None], estimator, n_classes)[0, 0] for name, law in laws.items()}
    weight = dict(zip(heard.names, heard.weight[0].tolist(), strict=True))
    rest = says.pop("all")
    rest = rest - sum(weight[name] * values for name, values in says.items())
    if rest.sum() > 1e-9:
        weight["shares"], says["shares"] = float(rest.sum()), rest / rest.sum()
    return _Drawn("classes", np.arange(n_classes, dtype=np.float64), says, weight, {})


def _look(
    law: Any, model: StackedRegressor, logs: bool
) -> tuple[FloatArray, Callable[[Any], FloatArray]]:
    """Values of the target that follow a law, and what any law says of them."""
    low, high = law.quantile([_LEVELS[0], _LEVELS[-1]])[0].tolist()
    if model.support_.whole and not logs:
        stride = max(1.0, math.ceil((high - low) / _MOST_WHOLE))
        points = np.arange(low, high + 1.0, stride)
    else:
        even = np.linspace(low, high, len(_LEVELS))
        points = np.unique(np.concatenate([even, law.quantile(_LEVELS)[0]]))
        points = points[~np.isin(points, _bounds(model))]

    def look(voice: Distribution) -> FloatArray:
        return np.exp(voice[np.zeros(len(points), int)].logpdf(points))

    return points, look


def _bounds(model: StackedRegressor) -> list[float]:
    """Values with a probability of their own, where others have a density."""
    support = model.support_
    ends = ((support.low, support.low_mass), (support.high, support.high_mass))
    return [] if support.whole else [bound for bound, has_mass in ends if has_mass]
