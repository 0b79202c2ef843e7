"""Novelty: the authors' own numbers, and rays out of the data.

MACAU (doi 10.5121/csit.2023.131920), sections 3.2 and 4.2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from benchmarks.report import Row, load_split
from gbuq_core import MacauClassifier, MacauRegressor
from gbuq_core.experiments.heteroscedastic.data import load_heteroscedastic_data
from gbuq_core.experiments.novelty.data import load_novelty_data
from gbuq_core.trees.importers import load_leaf_source

PARITY_BAR = 1e-6
LOOSE_BAR = 2e-3  # of logistic leaves, which the authors stop at a gradient of 1e-4
TAILS = ("rise", "clip")
N_PLACES, REACH = 50, 20.0  # of a ray, in the features' stds


def parity(reference_dir: Path) -> list[Row]:
    """Every column of the authors' answers, on their forest; in stds of the column."""
    rows = []
    for name, estimator, options in (
        ("concrete", MacauRegressor, {"standardize_target": False}),
        ("moons", MacauClassifier, {"inference": "label"}),
    ):
        data = np.load(reference_dir / f"macau_{name}.npz")
        task = "regression" if name == "concrete" else "classification"
        source = load_leaf_source(reference_dir / f"macau_{name}.lgb.txt", task=task)
        for leaf_model in ("linear", "basic"):
            model = estimator(leaf_model, source, combine="std", tail="clip", n_jobs=1, **options)
            model.fit(data["X_fit"], data["y_fit"])
            rows.append(_parity_row(name, leaf_model, model, data))
    return rows


def _parity_row(name: str, leaf_model: str, model: Any, data: Any) -> Row:
    X = data["X_test"]
    uncertainty = model.predict_uncertainty(X)
    is_class = name == "moons"
    mine = {
        "prediction": model.predict_proba(X)[:, 1] if is_class else model.predict(X),
        **model.score_novelty(X)._asdict(),
        "aleatoric_std": uncertainty.data,
        "epistemic_std": uncertainty.knowledge,
        "total_std": uncertainty.total,
    }
    worst = {}
    for column, expected in zip(data["columns"].tolist(), data[leaf_model].T, strict=True):
        spread = float(expected.std()) or 1.0
        worst[column] = float(np.abs(mine[column] - expected).max()) / spread
    most = max(worst, key=worst.__getitem__)
    loose = is_class and leaf_model == "linear"
    bar = LOOSE_BAR if loose else PARITY_BAR
    reason = " (the authors' lbfgs stops early)" if loose else ""
    return Row(
        f"parity, {name}, {leaf_model}: worst difference in stds of the column{reason}",
        f"{worst[most]:.1e} ({most}); "
        + ", ".join(f"{column} {value:.0e}" for column, value in worst.items()),
        f"<= {bar:g}",
        worst[most] <= bar,
        worst,
    )


class Rays(NamedTuple):
    """Places along rays that start where they leave the box of the training rows.

    X : (n_rays, n_places, n_features); distance : (n_places,), from there, in stds.
    """

    X: np.ndarray
    distance: np.ndarray


def random_rays(X: np.ndarray, n_rays: int, seed: int) -> Rays:
    """Rays from the mean in uniform directions of the standardised features."""
    directions = np.random.default_rng(seed).normal(size=(n_rays, X.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    mean, std = X.mean(axis=0), X.std(axis=0)
    low, high = (X.min(axis=0) - mean) / std, (X.max(axis=0) - mean) / std
    leaving = np.min(np.where(directions > 0, high, low) / directions, axis=1)
    distance = REACH * np.arange(1, N_PLACES + 1) / N_PLACES
    along = leaving[:, None] + distance
    return Rays(mean + std * along[:, :, None] * directions[:, None, :], distance)


def line_rays() -> Rays:
    """From 0 down and from 10 up, by 20 units."""
    distance = REACH * np.arange(1, N_PLACES + 1) / N_PLACES
    return Rays(np.stack([-distance, 10.0 + distance])[:, :, None], distance)


def rank_rays(model: Any, rays: Rays, tail: str) -> tuple[np.ndarray, float]:
    """Spearman's correlation of novelty with distance, ray by ray (0 where novelty is constant).

    Also the share of steps outwards at which novelty rises.
    """
    model.set_params(tail=tail)
    n_rays, n_places, n_features = rays.X.shape
    novelty = model.score_novelty(rays.X.reshape(-1, n_features)).novelty.reshape(n_rays, n_places)
    ranks = np.zeros(n_rays)
    for i, values in enumerate(novelty):
        if np.ptp(values) > 0:
            ranks[i] = spearmanr(rays.distance, values).statistic
    return ranks, float((np.diff(novelty, axis=1) > 0).mean())


def rays(data_dir: Path | None, n_rays: int = 100) -> list[Row]:
    """1-D, moons and (with the data) concrete."""
    heteroscedastic, moons = (
        load_heteroscedastic_data(),
        load_novelty_data("moons", 600, 1.0, 0, False, "", ("", "")),
    )
    forest = {"n_jobs": 1, "random_state": 0}
    cases: list[tuple[str, Any, Any, Any, Rays]] = []
    for leaf in ("linear", "basic"):
        model = MacauRegressor(leaf, subsample=0.1, **forest)
        cases.append(
            (f"1-D, both sides, {leaf}", model, heteroscedastic.X, heteroscedastic.y, line_rays())
        )
    two = random_rays(moons.X, n_rays, 0)
    name = f"moons, {n_rays} directions"
    cases.append((name, MacauClassifier(**forest), moons.X, moons.y, two))
    if data_dir is not None:
        data = load_split(data_dir, "concrete", 0)
        eight = random_rays(data.X_train, n_rays, 0)
        name = f"concrete, {n_rays} directions"
        cases.append((name, MacauRegressor(**forest), data.X_train, data.y_train, eight))
    rows = []
    for name, model, X, y, places in cases:
        model.fit(X, y)
        for tail in TAILS:
            ranks, rising = rank_rays(model, places, tail)
            least = float(ranks.min())
            # Elsewhere rays cross from leaf to leaf, whose distances have other units.
            is_barred = tail == "rise" and len(ranks) == 2
            rows.append(Row(
                f"rays, {name}, tail {tail}: Spearman of novelty with distance to {REACH:g} stds",
                f"least {least:.3f}, mean {ranks.mean():.3f}; at least 0.99 on "
                f"{100 * (ranks >= 0.99).mean():.0f} %; rises at {100 * rising:.0f} % of steps",
                ">= 0.99 on both" if is_barred else "",
                least >= 0.99 if is_barred else None,
                {"spearman": ranks.tolist(), "rising": rising},
            ))  # fmt: skip
    return rows
