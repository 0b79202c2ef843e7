"""What IBUG answers with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.ibug.family_fits import FloatArray


class Distribution(NamedTuple):
    """``loc``, the model's prediction, and ``scale``, a std: (n_samples,) each, in units of y."""

    loc: FloatArray
    scale: FloatArray


class Neighborhood(NamedTuple):
    """Rows with their nearest training rows, for any number of them up to the k that was asked for.

    The predicting methods of `IBUGRegressor` take it in place of X: a slider of k, family or
    calibration then searches nothing anew.

    Attributes
    ----------
    loc : ndarray of shape (n_samples,)
        The model's predictions.
    indices : ndarray of shape (n_samples, k), int32
        Training rows by descending affinity, ties by ascending index.
    affinities : ndarray of shape (n_samples, k), int32
        Trees in which the two rows share a leaf.
    targets : ndarray of shape (n_samples, k)
        The training rows' targets.
    n_trees : int
        The trees that counted: the largest possible affinity.
    fit_id : int
        Of the fit whose training rows these are; another estimator refuses them.
    tree_order : {"first", "last", "random"}
        Which trees counted: the scale is calibrated for these.
    """

    loc: FloatArray
    indices: NDArray[np.int32]
    affinities: NDArray[np.int32]
    targets: FloatArray
    n_trees: int
    fit_id: int
    tree_order: str


class Setting(NamedTuple):
    """What turns neighbours' targets into a scale: ``gamma * max(std, min_scale) + delta``."""

    n_neighbors: int
    min_scale: float
    gamma: float
    delta: float


class FamilyScores(NamedTuple):
    """Mean NLL of every posterior family on some rows, in nats.

    Attributes
    ----------
    families : tuple of str
    nll : ndarray of shape (n_families,)
        inf where a family gives an observed target no density, NaN where it is refused.
    refusals : tuple of str
        Why a family cannot be used on these targets; empty where it can.
    best : str
        The family of lowest NLL.
    """

    families: tuple[str, ...]
    nll: FloatArray
    refusals: tuple[str, ...]
    best: str


class ClassShares(NamedTuple):
    """The share of each class among a row's neighbours. Our own view, not the paper's.

    classes : ndarray of shape (n_classes,), the columns; shares : (n_samples, n_classes).
    """

    classes: NDArray[Any]
    shares: FloatArray


class ScalePath(NamedTuple):
    """The neighbours' std, uncalibrated, for several k: (n_k,) and (n_samples, n_k)."""

    n_neighbors: NDArray[np.int64]
    scale: FloatArray
