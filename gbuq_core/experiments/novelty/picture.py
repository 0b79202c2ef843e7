"""What Novelty's maps show of a fit: page and lesson draw the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.novelty.data import SIDE
from gbuq_core.experiments.novelty.fit import NoveltyFit, NoveltyRun, ranks_of, unit_of
from gbuq_core.experiments.novelty.look import PlaceLook
from gbuq_core.experiments.novelty.plan import METHODS
from gbuq_core.experiments.novelty.scores import support_of
from gbuq_core.figures.novelty.picture import MACAU, Ellipses, Ground, ScoreMap
from gbuq_core.figures.theme import METHOD_STYLES

POSITIVE = ("knowledge", "data", "distance")  # variances and distances
_OTHERS = ("isolation", "distance")  # scores that are not MACAU's


def ground_of(fit: NoveltyFit) -> Ground:
    """The rows that a fit was trained on, and the axes of its maps."""
    data, rows, known = fit.data, fit.rows, support_of(fit)
    group = np.zeros(len(rows.y), dtype=np.int64)
    if data.classes:
        group = rows.y.astype(np.int64)
    names = data.classes or ("training rows",)
    support = None if known is None else as_map(known)
    return Ground(*data.extent, rows.X[:, :2], group, names, support, *data.feature_names[:2])


def as_map(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values (..., 3600) of cells as rows and columns.

    >>> as_map(np.zeros((2, 3600))).shape
    (2, 60, 60)
    """
    return values.reshape(*values.shape[:-1], SIDE, SIDE)


def leaves_of(look: PlaceLook) -> Ellipses:
    """The leaves that call a place newest."""
    return Ellipses(look.ellipses.centre, look.ellipses.covariance)


def score_map(
    run: NoveltyRun,
    key: str,
    title: str = "",
    *,
    ranks: str = "",
    log: bool = False,
    ellipses: bool = False,
) -> ScoreMap:
    """One score: its own values, or ranks from 0 to 100, as the settings say if not given."""
    ranks = ranks or run.settings.show
    own = ranks == "value"
    return ScoreMap(
        title or METHODS[key].label,
        unit_of(run.fit, key, ranks),
        as_map(run.maps.of(key) if own else ranks_of(run.maps, key, ranks)),
        accent_of(key),
        None if own else (0.0, 100.0),
        log=own and log and key in POSITIVE,
        ellipses=ellipses,
        key=key,
    )


def accent_of(key: str) -> str | None:
    """The colour of the method that a score comes from; the truth has none."""
    if key in _OTHERS:
        return METHOD_STYLES["vrf"].colour
    return None if key == "truth" else MACAU.colour
