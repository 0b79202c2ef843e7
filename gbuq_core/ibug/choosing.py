"""The scale of neighbours' targets, and how well each family fits rows with known targets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gbuq_core.errors import InvalidData
from gbuq_core.ibug.families import FAMILIES, Posterior, check_family, fit_posterior, log_density
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.results import FamilyScores, Neighborhood, Setting
from gbuq_core.jobs import advance, parallel_map
from gbuq_core.metrics.neighbour_tuning import running_std

_CELLS = 100_000  # neighbours at a time: about 10 MB of temporaries in the costliest fit

ScoredPart = tuple[Neighborhood, Setting, FloatArray]


def scale_of(targets: FloatArray, setting: Setting) -> FloatArray:
    """The calibrated scale (n_samples,) of neighbours' targets (n_samples, k or more)."""
    k, least, gamma, delta = setting
    return gamma * np.maximum(running_std(targets, [k])[:, 0], least) + delta


def row_blocks(n_rows: int, n_neighbors: int) -> list[slice]:
    """Rows cut into blocks for the fits: the same whatever the number of threads.

    Examples
    --------
    >>> row_blocks(3, 60_000)
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    step = max(1, _CELLS // n_neighbors)
    return [slice(low, min(low + step, n_rows)) for low in range(0, n_rows, step)]


def fit_rows(
    family: str, near: Neighborhood, setting: Setting, posterior_fit: str, n_jobs: int | None
) -> Posterior:
    """One family fitted to the neighbours of every row, block by block."""
    targets = near.targets[:, : setting.n_neighbors]
    scale = scale_of(targets, setting)

    def fit(rows: slice) -> Posterior:
        here = (near.loc[rows], scale[rows], targets[rows])
        return fit_posterior(family, *here, setting.min_scale, posterior_fit)

    return join_posteriors(parallel_map(fit, row_blocks(*targets.shape), n_jobs))


def join_posteriors(parts: list[Posterior]) -> Posterior:
    """The rows of all parts, which are of one family."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part[1:] for part in parts), strict=True)
    joined = [None if column[0] is None else np.concatenate(column) for column in columns]
    return Posterior(parts[0].family, *joined)  # type: ignore[arg-type]


def score_rows(
    parts: Iterable[ScoredPart], y_train: FloatArray, posterior_fit: str, n_jobs: int | None
) -> FamilyScores:
    """Mean NLL of every family on rows with known targets, some rows at a time.

    Parameters
    ----------
    parts : iterable of (Neighborhood, Setting, ndarray)
        Neighbours, what makes a scale of them, and the targets (n_samples,).
    y_train : ndarray of shape (n_train,)
        Some families need all of these above 0.
    posterior_fit : {"matched", "likelihood"}
    n_jobs : int or None
    """
    names, refusals = tuple(FAMILIES), [""] * len(FAMILIES)
    for i, name in enumerate(names):
        try:
            check_family(name, y_train)
        except InvalidData as error:
            refusals[i] = str(error)
    usable = [name for name, refusal in zip(names, refusals, strict=True) if not refusal]
    costs: dict[str, list[FloatArray]] = {name: [] for name in usable}
    for near, setting, y in parts:
        targets = near.targets[:, : setting.n_neighbors]
        scale = scale_of(targets, setting)

        def cost(
            item: tuple[str, slice],
            given: tuple[FloatArray, ...] = (near.loc, scale, targets, y),
            least: float = setting.min_scale,
        ) -> FloatArray:
            name, rows = item
            loc, std, close, here = (part[rows] for part in given)
            fitted = fit_posterior(name, loc, std, close, least, posterior_fit)
            advance(0.0)  # does anybody still want it?
            return -log_density(fitted, here)

        items = [(name, rows) for rows in row_blocks(*targets.shape) for name in usable]
        for (name, _), values in zip(items, parallel_map(cost, items, n_jobs), strict=True):
            costs[name].append(values)
    nll = np.array([np.concatenate(costs[n]).mean() if n in costs else np.nan for n in names])
    return FamilyScores(names, nll, tuple(refusals), names[int(np.nanargmin(nll))])
