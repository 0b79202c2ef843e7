"""How many functions fit these points? Soft trees and other posteriors over functions of one input.

Cinquin et al., "Variational boosted soft trees" (2022), section 5 and figures 2 and 5 to 7.
`fit_soft_trees` trains one method; `view_soft_trees` draws functions from it and `look` shows the
trees themselves, for any number and seed of draws and any moment of the training, without training
again; `run_soft_trees` does it for all methods of `plan.SoftTreesSettings`.
"""

from __future__ import annotations

import copy
import importlib
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.experiments.placed import check_points
from gbuq_core.experiments.soft_trees.data import (
    OWN,
    Array,
    SoftTreesData,
    load_soft_trees_data,
)
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    SoftTreesSettings,
    plan_soft_trees,
    soft_trees_model,
)
from gbuq_core.jobs import stage
from gbuq_core.presentation import Tally
from gbuq_core.resources import held_bytes
from gbuq_core.settings import check
from gbuq_core.uncertainty import decompose_regression


class SoftTreesFit(NamedTuple):
    """A trained method."""

    plan: SoftTreesSettings
    data: SoftTreesData
    model: Any  # fitted; None of a stored fit
    elbo: tuple[Any, ...]  # the `ElboPath` (n_steps,) of each tree; none for methods without
    # (n_frames,): steps at which each tree's training was kept, the start (0) first; none for
    # methods without
    frames: tuple[np.ndarray, ...]
    seconds: float  # of the training; NaN of a stored fit
    memory_bytes: int | None  # what the model holds; None where a library does not report it
    opening: SoftTreesOpening | None = None  # of a stored fit, instead of the model

    @property
    def method(self) -> str:
        """The method's key in `METHODS`."""
        return self.plan.method

    @property
    def label(self) -> str:
        """The method as people write it."""
        return METHODS[self.plan.method].label


class SoftTreesView(NamedTuple):
    """Functions of one method over the grid, in units of y."""

    method: str
    label: str
    x: Array  # (n_grid,)
    # (n_draws, n_grid): mean functions: drawn from a posterior, or those of members or sweeps
    functions: Array
    loc: Array  # (n_grid,): their mean; of a Gaussian process the exact one
    # `total`, `data`, `knowledge`: (n_grid,): variances of y, in squared units of y: `total = data
    # + knowledge`, and knowledge is the variance of the functions (of a Gaussian process the exact
    # one)
    total: Array
    data: Array
    knowledge: Array
    notes: tuple[str, ...]  # what was brought into range, a sentence each


class SoftTreesMoments(NamedTuple):
    """Mean and variances of y, (n,) each."""

    loc: Array
    total: Array
    data: Array
    knowledge: Array


@dataclass(frozen=True, kw_only=True)
class SoftTreesScore:
    """One method's scores. NaN where the data have none: own points, sets without empty places."""

    method: str
    label: str
    # `inside`, `outside`: mean std of the drawn functions over the places with and without rows, in
    # target stds: inside, small means that the functions agree
    inside: float
    outside: float
    fan_out: float  # `outside / inside`
    # share of the functions' variation over the places with rows that all have in common, from 0 to
    # 1: `var(mean function) / (var(mean function) + mean knowledge)`
    agreement: float
    rmse: float  # of the mean to the true mean at fresh rows, in target stds
    # `coverage`, `coverage_low`, `coverage_high`: share of fresh rows in their central 90 %
    # intervals, and its exact binomial band at 95 %
    coverage: float
    coverage_low: float
    coverage_high: float
    # of fresh rows, in nats, in units of y: of the mixture over all draws; of a Gaussian process,
    # which is one normal, of that
    nll: float
    seconds: float
    memory_bytes: int | None  # none where a library does not report it


class SoftTreesOpening(NamedTuple):
    """What a fitted model says with the page's first settings; other views need the model."""

    view: SoftTreesView
    # `functions`, `moments`: as `moments_by_draws` has them, for knobs that are not moved yet
    functions: Array
    moments: tuple[SoftTreesMoments, ...]
    score: SoftTreesScore


class SoftTreesRun(NamedTuple):
    """The settings, their data, and each method's fit and view in the settings' order."""

    settings: SoftTreesSettings
    data: SoftTreesData
    fits: tuple[SoftTreesFit, ...]
    views: tuple[SoftTreesView, ...]
    scores: tuple[SoftTreesScore, ...] = ()  # where a page has worked them out


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def data_of(settings: SoftTreesSettings) -> SoftTreesData:
    """The data of settings; own points may be too few for a fit."""
    if settings.data == OWN:
        return load_soft_trees_data(OWN, points=check_points(settings.points))
    return load_soft_trees_data(settings.data, settings.rows, settings.noise, settings.seed)


def fit_soft_trees(plan: SoftTreesSettings) -> SoftTreesFit:
    """Train one method."""
    model = soft_trees_model(plan)
    data = data_of(plan)
    record = METHODS[plan.method].record
    for package in record.packages:
        importlib.import_module(package)  # a first import is no training
    began = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    trees = getattr(model, "trees_", ()) if METHODS[plan.method].family == "soft" else ()
    _FITS.add()
    return SoftTreesFit(
        plan,
        data,
        model,
        tuple(tree.elbo for tree in trees),
        tuple(tree.snapshots.step for tree in trees),
        seconds,
        None if record.opaque else held_bytes(model),
    )


def view_soft_trees(fit: SoftTreesFit, settings: SoftTreesSettings) -> SoftTreesView:
    """Functions, mean and uncertainties over the grid; trains nothing."""
    check(settings, "view", "picture")
    if fit.opening is not None:
        return fit.opening.view
    functions, moments, notes = predict_soft_trees(fit, settings, fit.data.grid)
    loc, total, data, knowledge = moments
    return SoftTreesView(
        fit.method, fit.label, fit.data.x, functions, loc, total, data, knowledge, notes
    )


def drawn_by(settings: SoftTreesSettings) -> tuple[int, int]:
    """What the functions depend on besides their fit."""
    return settings.n_functions, settings.draw_seed


def predict_soft_trees(
    fit: SoftTreesFit, settings: SoftTreesSettings, X: Array
) -> tuple[Array, SoftTreesMoments, tuple[str, ...]]:
    """Functions (n_draws, n), moments, notes at rows (n, 1), as `view_soft_trees` on the grid."""
    if METHODS[fit.method].family == "process":
        return _functions_of_process(fit, settings, X), moments_of_process(fit, X), ()
    members, notes = soft_trees_members(fit, settings, X)
    return *moments_of(members), notes


def moments_by_draws(
    fit: SoftTreesFit, settings: SoftTreesSettings, counts: tuple[int, ...]
) -> tuple[Array, tuple[SoftTreesMoments, ...]]:
    """The functions of the largest of some numbers of draws over the grid, and moments of each.

    >>> settings = SoftTreesSettings(rows=40, steps=300, depth=1, draws=30)
    >>> fit = fit_soft_trees(plan_soft_trees(settings, "vst"))
    >>> functions, (few, more) = moments_by_draws(fit, settings, (10, 30))
    >>> view = view_soft_trees(fit, settings)
    >>> functions.shape, bool(np.array_equal(more.knowledge, view.knowledge))
    ((30, 441), True)
    """
    if fit.opening is not None:
        return fit.opening.functions, fit.opening.moments
    most = replace(settings, draws=max(counts), shown=0)
    check(most, "view", "picture")
    if METHODS[fit.method].family == "process":
        functions, exact, _ = predict_soft_trees(fit, most, fit.data.grid)
        return functions, (exact,) * len(counts)
    members, _ = soft_trees_members(fit, most, fit.data.grid)
    return (
        np.ascontiguousarray(members[..., 0]),
        tuple(moments_of(members[:count])[1] for count in counts),
    )


def moments_of_process(fit: SoftTreesFit, X: Array) -> SoftTreesMoments:
    """The exact moments of a process at rows (n, 1); they need no draws."""
    return SoftTreesMoments(fit.model.predict(X), *fit.model.predict_uncertainty(X))


def moments_of(members: Array) -> tuple[Array, SoftTreesMoments]:
    """Functions (n_draws, n) and moments of the mean and variance of every draw (n_draws, n, 2)."""
    functions = np.ascontiguousarray(members[..., 0])
    uncertainty = decompose_regression(functions, members[..., 1])
    return functions, SoftTreesMoments(functions.mean(axis=0), *uncertainty)


def soft_trees_members(
    fit: SoftTreesFit, settings: SoftTreesSettings, X: Array
) -> tuple[Array, tuple[str, ...]]:
    """Mean and variance of y of every draw, (n_draws, n, 2), and notes; not of a process."""
    if METHODS[fit.method].family == "soft":
        return fit.model.predict_members(X, settings.n_functions, settings.sampling_seed), ()
    if fit.method == "sglb":
        members = fit.model.predict_members(X)[: settings.n_functions]
        most, what = fit.plan.members, "members"
    else:
        most, what = fit.model.n_kept_, "sweeps"
        members = fit.model.predict_members(X, min(settings.n_functions, most))
    if settings.n_functions <= most:
        return members, ()
    note = (
        f"{fit.label} keeps {most} {what}, so it has {most} functions instead of "
        f"{settings.n_functions}."
    )
    return members, (note,)


def _functions_of_process(fit: SoftTreesFit, settings: SoftTreesSettings, X: Array) -> Array:
    """Draws of a Gaussian process with the settings' seed, from the fitted one."""
    model = fit.model
    if settings.sampling_seed is not None:
        model = copy.copy(model)
        model.seed_ = settings.sampling_seed
    return model.sample_functions(X, settings.n_functions)


def run_soft_trees(settings: SoftTreesSettings | None = None) -> SoftTreesRun:
    """Train the methods one after the other and draw their functions."""
    settings = SoftTreesSettings() if settings is None else settings
    check(settings, "view", "picture")
    plans = [plan_soft_trees(settings, method) for method in settings.methods]
    fits = []
    with stage(max(1, len(plans))):
        for plan in plans:
            with stage(1, span=1):
                fits.append(fit_soft_trees(plan))
    views = tuple(view_soft_trees(fit, settings) for fit in fits)
    return SoftTreesRun(settings, data_of(settings), tuple(fits), views)
