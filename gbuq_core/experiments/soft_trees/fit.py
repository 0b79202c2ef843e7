"""How many functions fit these points? Soft trees and other posteriors over functions of one input.

Cinquin et al., "Variational boosted soft trees" (2022), section 5 and figures 2 and 5 to 7.
`fit_soft` trains one method; `view_soft` draws functions from it and `look` shows the
trees themselves, for any number and seed of draws and any moment of the training, without training
again; `run_soft` does it for all methods of `plan.SoftSettings`.
"""

from __future__ import annotations

import copy
import importlib
import threading
import time
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.soft_trees.data import (
    OWN,
    Array,
    SoftData,
    check_points,
    load_soft_data,
)
from gbuq_core.experiments.soft_trees.models import soft_model
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    SoftPlan,
    SoftSettings,
    check_view,
    plan_soft,
)
from gbuq_core.jobs import stage
from gbuq_core.resources import held_bytes
from gbuq_core.soft_trees import ElboPath
from gbuq_core.uncertainty import decompose_regression


class SoftFit(NamedTuple):
    """A trained method.

    Attributes
    ----------
    plan : SoftPlan
    data : SoftData
    model : estimator
        Fitted.
    elbo : tuple of ElboPath
        ``step`` and ``elbo`` (n_steps,) of each tree; none for methods without.
    frames : tuple of ndarray of shape (n_frames,), int64
        Steps at which each tree's training was kept, the start (0) first; none for methods without.
    seconds : float
        Of the training.
    memory_bytes : int or None
        What the model holds; None where a library does not tell.
    """

    plan: SoftPlan
    data: SoftData
    model: Any
    elbo: tuple[ElboPath, ...]
    frames: tuple[np.ndarray, ...]
    seconds: float
    memory_bytes: int | None

    @property
    def method(self) -> str:
        """The method's key in `METHODS`."""
        return self.plan.method

    @property
    def label(self) -> str:
        """The method as people write it."""
        return METHODS[self.plan.method].label


class SoftView(NamedTuple):
    """Functions of one method over the grid, in units of y.

    Attributes
    ----------
    method, label : str
    x : ndarray of shape (n_grid,)
    functions : ndarray of shape (n_draws, n_grid)
        Mean functions: drawn from a posterior, or those of members or sweeps.
    loc : ndarray of shape (n_grid,)
        Their mean; of a Gaussian process the exact one.
    total, data, knowledge : ndarray of shape (n_grid,)
        Variances of y, in squared units of y: ``total = data + knowledge``, and knowledge is the
        variance of the functions (of a Gaussian process the exact one).
    notes : tuple of str
        What was brought into range, a sentence each.
    """

    method: str
    label: str
    x: Array
    functions: Array
    loc: Array
    total: Array
    data: Array
    knowledge: Array
    notes: tuple[str, ...]


class SoftRun(NamedTuple):
    """The settings, their data, and fits and views of the methods in the settings' order."""

    settings: SoftSettings
    data: SoftData
    fits: tuple[SoftFit, ...]
    views: tuple[SoftView, ...]


_LOCK, _COUNT = threading.Lock(), [0]


def count_fits() -> int:
    """How many fits this process has finished: what a knob of the view leaves as it is."""
    return _COUNT[0]


def data_of(plan_or_settings: SoftPlan | SoftSettings) -> SoftData:
    """The data of a plan or of settings; own points may be too few for a fit.

    Examples
    --------
    >>> data_of(SoftSettings(data="step", rows=40)).X.shape
    (40, 1)
    """
    given = plan_or_settings
    if given.data == OWN:
        return load_soft_data(OWN, points=check_points(given.points or ()))
    return load_soft_data(given.data, given.rows, given.noise, given.seed)


def fit_soft(plan: SoftPlan) -> SoftFit:
    """Train one method.

    Raises
    ------
    InvalidParameter, InvalidData, MemoryLimitExceeded
        One sentence each; see `plan.why_not`.

    Examples
    --------
    >>> fit = fit_soft(plan_soft(SoftSettings(rows=40, steps=300, depth=1), "vst"))
    >>> fit.label, int(fit.frames[0][0]), len(fit.elbo)
    ('VST', 0, 1)
    """
    model = soft_model(plan)
    data = data_of(plan)
    importlib.import_module(METHODS[plan.method].package)  # a first import is no training
    began = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    trees = getattr(model, "trees_", ()) if METHODS[plan.method].family == "soft" else ()
    with _LOCK:
        _COUNT[0] += 1
    return SoftFit(
        plan,
        data,
        model,
        tuple(tree.elbo for tree in trees),
        tuple(tree.snapshots.step for tree in trees),
        seconds,
        None if METHODS[plan.method].package == "stochtree" else held_bytes(model),
    )


def view_soft(fit: SoftFit, settings: SoftSettings) -> SoftView:
    """Functions, mean and uncertainties over the grid; trains nothing.

    Raises
    ------
    InvalidParameter
        With the sentence of `plan.check_view`.

    Examples
    --------
    >>> settings = SoftSettings(rows=40, steps=300, depth=1, draws=30)
    >>> view = view_soft(fit_soft(plan_soft(settings, "vst")), settings)
    >>> view.functions.shape
    (30, 441)
    """
    _check(settings)
    functions, moments, notes = predict_soft(fit, settings, fit.data.grid)
    loc, total, data, knowledge = moments
    return SoftView(
        fit.method, fit.label, fit.data.x, functions, loc, total, data, knowledge, notes
    )


class Moments(NamedTuple):
    """Mean and variances of y, (n,) each."""

    loc: Array
    total: Array
    data: Array
    knowledge: Array


def predict_soft(
    fit: SoftFit, settings: SoftSettings, X: Array
) -> tuple[Array, Moments, tuple[str, ...]]:
    """Functions (n_draws, n), moments and notes at any rows (n, 1), as `view_soft` on the grid."""
    if METHODS[fit.method].family == "process":
        functions = _functions_of_process(fit, settings, X)
        uncertainty = fit.model.predict_uncertainty(X)
        return functions, Moments(fit.model.predict(X), *uncertainty), ()
    members, notes = soft_members(fit, settings, X)
    return *moments_of(members), notes


def moments_of(members: Array) -> tuple[Array, Moments]:
    """Functions (n_draws, n) and moments of the mean and variance of every draw (n_draws, n, 2)."""
    functions = np.ascontiguousarray(members[..., 0])
    uncertainty = decompose_regression(functions, members[..., 1])
    return functions, Moments(functions.mean(axis=0), *uncertainty)


def soft_members(fit: SoftFit, settings: SoftSettings, X: Array) -> tuple[Array, tuple[str, ...]]:
    """Mean and variance of y of every draw, (n_draws, n, 2), and notes; not of a process."""
    if METHODS[fit.method].family == "soft":
        return fit.model.predict_members(X, settings.draws, settings.draw_seed), ()
    if fit.method == "sglb":
        members = fit.model.predict_members(X)[: settings.draws]
        kept, what = fit.plan.members or 0, "members"
    else:
        kept, what = fit.model.n_kept_, "sweeps"
        members = fit.model.predict_members(X, min(settings.draws, kept))
    if settings.draws <= kept:
        return members, ()
    note = f"{fit.label} kept {kept} {what}: these are its functions, not {settings.draws}."
    return members, (note,)


def _functions_of_process(fit: SoftFit, settings: SoftSettings, X: Array) -> Array:
    """Draws of a Gaussian process with the settings' seed, from the fitted one."""
    model = fit.model
    if settings.draw_seed is not None:
        model = copy.copy(model)
        model.seed_ = settings.draw_seed
    functions: Array = model.sample_functions(X, settings.draws)
    return functions


def run_soft(settings: SoftSettings | None = None) -> SoftRun:
    """Train the methods one after the other and draw their functions.

    Raises
    ------
    InvalidParameter, InvalidData, MemoryLimitExceeded
        One sentence each.

    Examples
    --------
    >>> run = run_soft(SoftSettings(methods=("gp",), rows=30, draws=10))
    >>> [view.label for view in run.views], run.data.title
    (['Gaussian process'], 'Tails')
    """
    settings = SoftSettings() if settings is None else settings
    _check(settings)
    plans = [plan_soft(settings, method) for method in settings.methods]
    fits = []
    with stage(max(1, len(plans))):
        for plan in plans:
            with stage(1, span=1):
                fits.append(fit_soft(plan))
    views = tuple(view_soft(fit, settings) for fit in fits)
    return SoftRun(settings, data_of(settings), tuple(fits), views)


def _check(settings: SoftSettings) -> None:
    refusal = check_view(settings)
    if refusal:
        raise InvalidParameter(refusal)
