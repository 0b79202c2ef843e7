"""What the departures in docs/departures.md change: the numbers marked *measured* there."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.report import Row, make_parser, report
from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    MacauRegressor,
    make_heart,
    make_heteroscedastic,
    make_spiral,
    sample_mixture,
)
from gbuq_core.metrics import auroc

_SEEDS = range(3)
_CHAINS = 40


def leaf_noise() -> list[Row]:
    """Knowledge in the heart's cells without rows, and how well it finds them."""
    heart = make_heart(random_state=0)
    filled = np.asarray(heart.in_support).ravel()
    rows = []
    for name, knobs in (("none", {}), ("with noise in leaves", {"leaf_noise": True})):
        scores = []
        for seed in _SEEDS:
            model = BoostedEnsembleRegressor(
                stopping=None, learning_rate=0.3, categorical_features=[0, 1], random_state=seed,
                **knobs,
            ).fit(heart.X, heart.y)  # fmt: skip
            knowledge = model.predict_uncertainty(heart.grid).knowledge
            scores.append((knowledge[~filled].mean(), auroc(~filled, knowledge)))
        empty, area = np.mean(scores, axis=0)
        rows.append(_row(f"heart, leaf noise: {name}", f"{empty:.4f}, AUROC {area:.3f}"))
    return rows


def noise_size() -> list[Row]:
    """Mean knowledge of cSGLB on the spiral at two temperatures."""
    spiral = make_spiral(random_state=0)
    rows = []
    for temperature in ("catboost", "posterior"):
        model = BoostedEnsembleClassifier(
            stopping=None, method="csglb", n_trees=2000, temperature=temperature, random_state=0
        ).fit(spiral.X, spiral.y)
        knowledge = model.predict_uncertainty(spiral.X).knowledge.mean()
        rows.append(_row(f"spiral, cSGLB, temperature {temperature}", f"{knowledge:.3f} nats"))
    return rows


def gaussians() -> list[Row]:
    """Modes that samplers visit at two noise scales, means over chains."""
    rows = []
    for sampler in ("sgld", "clr", "cg"):
        for scale in (1.0, 0.4):
            chains = sample_mixture(
                sampler, n_steps=50_000, n_chains=_CHAINS, n_cycles=30, noise_scale=scale,
                random_state=0,
            )  # fmt: skip
            modes = float(np.mean(chains.modes_visited))
            rows.append(_row(f"25 Gaussians, {sampler}, noise {scale:g}", f"{modes:.1f} modes"))
    return rows


def macau() -> list[Row]:
    """Both ways to add up, and both tails of novelty, on growing noise."""
    data = make_heteroscedastic(random_state=0)
    rows = []
    for combine in ("variance", "std"):
        model = MacauRegressor(combine=combine, random_state=0).fit(data.X, data.y)
        total = float(model.predict_uncertainty(data.X).total.mean())
        rows.append(_row(f"MACAU, mean total, combine={combine!r}", f"{total:.2f}"))
    for tail in ("rise", "clip"):
        model = MacauRegressor(tail=tail, random_state=0).fit(data.X, data.y)
        novelty = model.score_novelty(np.array([[11.0], [15.0], [20.0]])).novelty
        text = ", ".join(f"{value:.1f}" for value in novelty)
        rows.append(_row(f"MACAU, novelty at 11, 15, 20, tail={tail!r}", text))
    return rows


def _row(what: str, measured: str) -> Row:
    return Row(what, measured, "-", None, {})


_SECTIONS: dict[str, Any] = {
    "leaf_noise": leaf_noise,
    "noise_size": noise_size,
    "gaussians": gaussians,
    "macau": macau,
}


def main() -> None:
    """Run the sections asked for and report them."""
    arguments = make_parser(__doc__.splitlines()[0], list(_SECTIONS)).parse_args()
    rows = [row for section in arguments.only for row in _SECTIONS[section]()]
    report("Departures", rows, arguments.json)


if __name__ == "__main__":
    main()
