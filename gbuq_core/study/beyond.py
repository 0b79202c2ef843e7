"""Beyond the rows: trees alone beside the law of several voices, where there are no rows.

Rows on a line that end, where the reader says, and have a gap. The law is that of
`StackedRegressor` (Yao, Vehtari, Simpson and Gelman 2018). No paper says the claims; they are ours.
Read from top to bottom: data, settings, fit, numbers, claims, picture, closer looks, words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from gbuq_core.experiments.claims import Threshold
from gbuq_core.experiments.experiment import OURS_HELD, Rows
from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.python_text import Expression
from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    entry,
    hatches,
    line,
    panel,
    plain_dots,
    reading,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import VOICE_COLOURS
from gbuq_core.presentation import decimal, percent
from gbuq_core.settings import setting
from gbuq_core.stacking.voices import VOICES
from gbuq_core.study.bands import Axis, Band, Look, bands
from gbuq_core.study.members import Array, Fit, Mask, Predictive, View, timed_fit
from gbuq_core.study.study import STORED, Claim, Code, Row, Run, Study
from gbuq_core.synthetic import make_spiral, spiral_log_density

# --- Data -----------------------------------------------------------------------------------------

GAP_FROM = 2.0  # the rows begin at 0, and the gap here
LEVEL = 0.9  # of the bands
GRID = np.round(np.linspace(-1.0, 9.0, 201), 2)  # (201,): of the picture


class BeyondData(NamedTuple):
    """Training rows, and the places of the picture."""

    X: Array  # (n_rows, 1)
    y: Array  # (n_rows,)
    grid: Array  # (201, 1)


def true_mean(x: Array) -> Array:
    """The curve: a sine around a line.

    >>> true_mean(np.array([0.0]))
    array([0.])
    """
    return np.sin(1.5 * x) + 0.3 * x


@lru_cache(maxsize=16)
def make_beyond(
    edge: float = 6.0, gap: float = 1.5, rows: int = 150, noise: float = 0.2, random_state: int = 0
) -> BeyondData:
    """Draw the rows: evenly where rows lie, so that a knob moves them and draws none anew."""
    draws = np.random.default_rng(random_state)
    at = draws.random(rows) * (edge - gap)
    x = np.where(at > GAP_FROM, at + gap, at)
    y = true_mean(x) + noise * draws.normal(size=rows)
    return BeyondData(x[:, None], y, GRID[:, None])


# --- Settings -------------------------------------------------------------------------------------

TREES: Mapping[str, Any] = MappingProxyType(
    {
        "stopping": None, "method": "sglb", "n_members": 10, "n_trees": 60, "depth": 3,
        "learning_rate": 0.2, "temperature": 2.5, "l2": 1.0,
    }
)  # fmt: skip
METHODS = {
    "trees": SimpleNamespace(label="Trees alone"),
    "process": SimpleNamespace(label="Process alone"),
    "law": SimpleNamespace(label="The law of all voices"),
}


@dataclass(frozen=True, kw_only=True)
class BeyondSettings:
    """Everything that the picture depends on."""

    edge: float = setting(
        6.0, "Rows end at x =", low=4.5, high=8.0, step=0.1, group="data",
        help="All rows lie between 0 and here.",
    )  # fmt: skip
    gap: float = setting(
        1.5, "Width of the gap", low=0.0, high=2.0, step=0.1, group="data",
        help=f"There are no rows from x = {GAP_FROM:g} over this width.",
    )  # fmt: skip
    rows: int = setting(150, "Training rows", group="data", choices=(60, 100, 150, 250, 400))
    noise: float = setting(
        0.2, "Noise (std)", group="data", choices=(0.1, 0.2, 0.3, 0.5),
        help="Standard deviation of the noise around the true curve.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1,
        help="Seed of the rows and of the training.",
    )  # fmt: skip
    methods: tuple[str, ...] = setting(
        tuple(METHODS), "Models", group="method", each=True, offered=False,
        named={model.label: key for key, model in METHODS.items()},
    )  # fmt: skip

    @property
    def method(self) -> str:
        """The one of a plan."""
        return self.methods[0]


def _arguments(settings: BeyondSettings) -> dict[str, Any]:
    """Of `make_beyond`."""
    named = {name: getattr(settings, name) for name in ("edge", "gap", "rows", "noise")}
    return named | {"random_state": settings.seed}


def make_data(settings: BeyondSettings) -> BeyondData:
    """The rows of settings, or of a fit's key."""
    return make_beyond(**_arguments(settings))


def regions(settings: BeyondSettings) -> dict[str, Mask]:
    """Which places lie among the rows, and in each part without rows, (201,)."""
    gap = (GRID > GAP_FROM) & (GAP_FROM + settings.gap > GRID)
    left, right = GRID < 0.0, settings.edge < GRID
    inside = ~(left | gap | right)
    return {"inside": inside, "outside": ~inside, "left": left, "gap": gap, "right": right}


# --- Fit ------------------------------------------------------------------------------------------


def fit(plan: BeyondSettings) -> Fit:
    """Fit trees, a process, or the law that weighs them with two other voices."""
    from gbuq_core.boosting import BoostedEnsembleRegressor
    from gbuq_core.stacking import StackedRegressor

    data = make_data(plan)
    if plan.method == "process":
        model: Any = _Process()
        seconds = timed_fit(model, data)
        return Fit(plan, None, seconds, predicted={"grid": model.predict(data.grid)})
    model = BoostedEnsembleRegressor(**TREES, random_state=plan.seed)
    if plan.method == "trees":
        seconds = timed_fit(model, data)
        at = Predictive(model.predict(data.grid), *model.predict_uncertainty(data.grid))
        return Fit(plan, None, seconds, predicted={"grid": at})
    model = StackedRegressor(model, random_state=plan.seed)
    seconds = timed_fit(model, data)
    mean = model.predict_distribution(data.grid).loc
    heard = model.predict_voices(data.grid)  # (201, 4) each
    none = np.full(len(GRID), np.nan)
    voices = {
        voice: Predictive(mean, variance, none, none, scores={"weight": weight})
        for voice, mean, variance, weight in zip(
            VOICES, heard.mean.T, heard.variance.T, heard.weight.T, strict=True
        )
    }
    at = Predictive(mean, *model.predict_uncertainty(data.grid))
    return Fit(plan, None, seconds, predicted={"grid": at, **voices})


class _Process:
    """The process that the law has for a voice, before the factor of its std."""

    def fit(self, X: Array, y: Array) -> None:
        from gbuq_core.stacking.process import fit_process

        self.scales = X.mean(), X.std(), y.mean(), y.std()
        middle, width, centre, spread = self.scales
        self.process = fit_process((X - middle) / width, ((y - centre) / spread)[:, None])

    def predict(self, X: Array) -> Predictive:
        middle, width, centre, spread = self.scales
        mean, latent = self.process.predict((X - middle) / width)
        noise, knowledge = np.full(len(X), spread**2 * self.process.noise), spread**2 * latent
        return Predictive(centre + spread * mean[:, 0], noise + knowledge, noise, knowledge)


def view(fit: Fit, settings: BeyondSettings) -> View:
    """The bands, as they are."""
    return View(fit, fit.at("grid"))


# --- Numbers --------------------------------------------------------------------------------------


def score(run: Run) -> dict[str, dict[str, Any]]:
    """Coverage, CRPS and width of the bands in each region, exact over the noise."""
    settings, parts = run.settings, regions(run.settings)
    scores: dict[str, dict[str, Any]] = {}
    for each in sorted(run.views, key=lambda view: ("law", "trees", "process").index(view.method)):
        low, high = each.at.interval(LEVEL)
        off, half, noise = each.at.mean - true_mean(GRID), (high - low) / 2, settings.noise
        by_place = {  # (201,)
            "held": ndtr((off + half) / noise) - ndtr((off - half) / noise),
            "crps": _expected_crps(each.at, off, noise),
            "width": 2.0 * half,
        }
        numbers: dict[str, Any] = {
            f"{name}_{part}": float(values[at].mean()) if at.any() else math.nan
            for name, values in by_place.items()
            for part, at in parts.items()
        }
        shares = {part: numbers[f"held_{part}"] for part in ("left", "gap", "right")}
        known = (f"{part} {percent(share, 0)}" for part, share in shares.items() if share == share)
        scores[each.method] = numbers | {"level": LEVEL, "by_region": ", ".join(known)}
    there = f"{GAP_FROM:g} to {GAP_FROM + settings.gap:g}"
    scores[""] = {
        "rows": float(settings.rows), "edge": f"{settings.edge:g}", "level": LEVEL,
        "gap": f" There are none from {there}." if settings.gap else "",
    } | _compared(scores)  # fmt: skip
    return scores


def _compared(scores: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of trees and law together; of the law, once it is fitted."""
    if "trees" not in scores:
        return {}
    trees, law = scores["trees"], scores.get("law")
    alone = f"{percent(trees['held_outside'], 0)} with trees alone"
    if law is None:
        return {"held": f"{alone}; the law follows"}
    return {
        "held": f"{percent(law['held_outside'], 0)} with the law and {alone}",
        "crps_times": law["crps_inside"] / trees["crps_inside"],
        **{f"law_{name}": law[f"{name}_inside"] for name in ("crps", "held")},
        **{f"trees_{name}": trees[f"{name}_inside"] for name in ("crps", "held")},
    }


def _expected_crps(at: Predictive, off: Array, noise: float) -> Array:
    """Mean CRPS of a normal law over normal y: E|X - Y| - E|X - X'| / 2, in closed form."""
    wide = np.sqrt(at.total + noise**2)
    z = off / wide
    away = wide * (np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z) + z * (2.0 * ndtr(z) - 1.0))
    return away - np.sqrt(at.total / np.pi)


# --- Claims ---------------------------------------------------------------------------------------

_HELD = Threshold("share held outside", 0.85, 0.75, unit=" %", times=100.0, decimals=0)
_NARROW = Threshold("share held outside", 0.5, 0.7, unit=" %", times=100.0, decimals=0)
_KEPT = Threshold("CRPS of the law over that of trees", 1.02, 1.1, decimals=2)
_HERE = "they hold {held_outside:percent} of new values. By region: {by_region}."

CLAIMS = (
    Claim(
        "law",
        "Where no rows are, bands of {level:percent} of the law hold about as much.",
        _HERE,
        "held_outside", _HELD, ("law",), "The law holds where no rows are", "share",
    ),
    Claim(
        "trees",
        "Those of trees alone hold less than half there.",
        _HERE,
        "held_outside", _NARROW, ("trees",), "Trees alone do not", "share",
    ),
    Claim(
        "inside",
        "Among the rows nothing is lost.",
        "the CRPS of the law is {law_crps} there, and {trees_crps} for trees alone. Their bands "
        "hold {law_held:percent} and {trees_held:percent}.",
        "crps_times", _KEPT, chip="Nothing is lost among the rows", name="CRPS, times",
    ),
)  # fmt: skip


# --- Picture --------------------------------------------------------------------------------------

Y_RANGE = (-2.6, 5.4)  # fixed, so that a knob moves the picture and not its scale


def picture(run: Run, knobs: Sequence[LiveKnob]) -> Curves:
    """Trees alone beside the law; while the law is not fitted, beside the process."""
    views = {view.method: view for view in run.views}
    stands_in = "law" not in views and "process" in views
    notes = {**run.notes, "process": "the law follows"}
    return bands(
        Axis(
            GRID,
            regions(run.settings)["inside"],
            true_mean(GRID),
            np.full(len(GRID), run.settings.noise),
            (run.data.X[:, 0], run.data.y),
        ),
        [
            Band(METHODS[key].label, VOICE_COLOURS[key], views.get(key), notes.get(key, ""))
            for key in ("trees", "process" if stands_in else "law")
        ],
        Look((LEVEL,), LEVEL),
        name="beyond",
        said=BEYOND.describe(run),
        quiet=True,
        y_range=Y_RANGE,
    )


# --- Closer looks: each voice, and the same question in a plane -----------------------------------

_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}


def look(run: Run) -> Rows:
    """Each voice with its weight, once they are fitted, and the plane."""
    law = next((view.fit for view in run.views if view.method == "law"), None)
    if law is None:
        return [plane_section()]
    figure = voices_figure(run, law)
    caption = f"{figure.alt} A voice that improves nothing does not enter."
    return [Section(heading="Each voice", curves=figure, caption=caption), plane_section()]


def weights_of(law: Fit) -> Array:
    """How much of the law each voice is, (201, 4)."""
    return np.stack([law.at(voice).scores["weight"] for voice in VOICES], axis=1)


def voices_figure(run: Run, law: Fit) -> Curves:
    """Each voice with its band, and below how much of the law it is at each x."""
    inside, weights, panels = regions(run.settings)["inside"], weights_of(law), []
    rows = plain_dots(run.data.X[:, 0], run.data.y, "text", 0.3, 3.0)
    truth = line(GRID, true_mean(GRID), **_TRUTH)
    for voice, weight in zip(VOICES, weights.T, strict=True):
        at, colour, note = law.at(voice), VOICE_COLOURS[voice], "did not enter"
        layers = [*hatches(GRID, ~inside), rows, truth]
        if np.isfinite(at.mean).all():
            layers.insert(-1, band(GRID, *at.interval(LEVEL), colour, 0.2))
            layers.append(line(GRID, at.mean, colour, 2.2))
            note = f"{100 * weight[inside].mean():.0f} % among the rows"
        named = {"kind": "words", "text": "weight in the law"}
        share = [line(GRID, weight, colour, 1.8), named]
        below = panel((0.0, 1.05), "weight", share, own=False)
        title = voice.capitalize()
        panels.append(
            panel(Y_RANGE, "y", layers, title=title, note=note, colour=colour, below=below)
        )
    shares = zip(VOICES, weights.T, strict=True)
    read = [("truth", true_mean(GRID)), *((f"weight of {voice}", share) for voice, share in shares)]
    return draw_curves(
        "beyond-voices",
        describe_voices(run.settings, weights),
        200,
        axis((GRID[0], GRID[-1]), "x"),
        panels,
        [entry("truth", truth), entry("rows", rows)],
        reading(GRID, "x", read),
        facets=2,
        below=56,
        between=26,
    )


def describe_voices(settings: BeyondSettings, weights: Array) -> str:
    """The weights in words."""

    def shares(at: Mask) -> str:
        means = zip(VOICES, weights[at].mean(axis=0), strict=True)
        return ", ".join(f"{voice} {100 * share:.0f} %" for voice, share in means)

    parts = regions(settings)
    return (
        f"Mean weights of the voices. Among the rows: {shares(parts['inside'])}. Beyond x = "
        f"{settings.edge:g}: {shares(parts['right'])}."
    )


_SIDE, _EXTENT = 40, (-600.0, 600.0)  # cells, and where they lie, in each direction
_FAR_SHARE = 0.4  # of the cells: those of the lowest true density, as on Spiral's page


class PlanePlan(NamedTuple):
    """Spiral's rows."""

    rows: int = 100  # of each class
    noise: float = 0.2
    seeds: int = 5


class PlaneLook(NamedTuple):
    """Knowledge uncertainty (40, 40) of trees and law, and its AUROC for far cells, by seed."""

    trees: Array
    law: Array
    aurocs: Array  # (n_seeds, 2)


def look_plane(plan: PlanePlan) -> PlaneLook:
    """Fit the law of classes with each seed; the maps are those of the first."""
    from gbuq_core.boosting import BoostedEnsembleClassifier
    from gbuq_core.stacking import StackedClassifier

    axis = _EXTENT[0] + (np.arange(_SIDE) + 0.5) * (_EXTENT[1] - _EXTENT[0]) / _SIDE
    cells = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = np.logaddexp.reduce(spiral_log_density(cells, plan.noise), axis=1)
    far = (density <= np.quantile(density, _FAR_SHARE)).reshape(_SIDE, _SIDE)
    maps, aurocs = [], []
    for seed in range(plan.seeds):
        rows = make_spiral(plan.rows, plan.noise, seed)
        trees = BoostedEnsembleClassifier(**TREES, random_state=seed)
        law = StackedClassifier(trees, random_state=seed).fit(rows.X[:, :2], rows.y)
        both = [
            model.predict_uncertainty(cells).knowledge.reshape(far.shape)
            for model in (law.estimator_, law)
        ]
        maps.append(both)
        aurocs.append([auroc_of(far, ~far, knowledge) for knowledge in both])
    return PlaneLook(maps[0][0], maps[0][1], np.array(aurocs))


PLANE = PlanePlan()
LOOK = Opening(
    name="beyond",
    folder=STORED,
    file="plane",
    kind=PlaneLook,
    make=look_plane,
    plans=lambda: [PLANE],
    bits=12,
)


def plane_section() -> Section:
    """Maps of knowledge uncertainty of trees alone and of the law, and how well they find."""
    look: PlaneLook = LOOK.find(PLANE)
    rows = make_spiral(PLANE.rows, PLANE.noise, 0)
    aurocs = [decimal(auroc, 2) for auroc in look.aurocs.mean(axis=0)]
    names = ["class 1", "class 2", "class 3"]
    points = Points(rows.X[:, 0], rows.X[:, 1], rows.y, names, radius=1.2)
    words = (
        f"Knowledge uncertainty over the plane of Spiral, from {3 * PLANE.rows} rows. It finds the "
        f"farthest {100 * _FAR_SHARE:.0f} % of the cells with AUROC {aurocs[0]} for trees "
        f"alone and {aurocs[1]} for the law (means of {PLANE.seeds} seeds). 0.5 is chance."
    )
    sheet = PanelSheet(
        panels=[
            Panel(title=title, values=values, unit="nats", limits=(0.0, 1.1), points=points)
            for title, values in (
                ("Trees alone: knowledge", look.trees),
                ("The law: knowledge", look.law),
            )
        ],
        columns=2,
        x_extent=_EXTENT,
        y_extent=_EXTENT,
        origin="lower",
        aspect=1.0,
        panel_height=260,
        alt=words,
        name="beyond-plane",
    )
    return Section(heading="The same in a plane", sheet=sheet, caption=words)


# --- Words ----------------------------------------------------------------------------------------


def columns(run: Run) -> dict[str, Any]:
    """Places and truth."""
    inside = regions(run.settings)["inside"].astype(int)
    return {"x": GRID, "true_mean": true_mean(GRID), "has_rows": inside}


def copied(settings: BeyondSettings) -> Code:
    """What the copied code calls; the process is a voice of the law."""
    trees = {**TREES, "random_state": settings.seed}
    law = {"estimator": Expression("model"), "random_state": settings.seed}
    parts = "model.predict_uncertainty(data.grid)._asdict()"
    models = [
        (METHODS["trees"].label, "gbuq_core:BoostedEnsembleRegressor", trees, parts),
        (METHODS["law"].label, "gbuq_core:StackedRegressor", law, parts),
    ]
    return Code("gbuq_core.study.beyond:make_beyond", _arguments(settings), models)


_PARTS = {"inside": "among the rows", "left": "left", "gap": "gap", "right": "right"}

BEYOND = Study(
    name="beyond",
    question="What does a model say where it has seen nothing?",
    lede="Drag the end of the rows. The pale band is noise, the dark rim is what the model does "
    "not **know**. Does the truth stay inside?",
    settings=BeyondSettings,
    methods=METHODS,
    data=make_data,
    fit=fit,
    view=view,
    viewed=(),
    picture=picture,
    curves=True,
    together=True,
    quick=("trees", "process"),
    border=("edge", "Drag the orange line: the rows end there. Keys: Shift and an arrow."),
    score=score,
    claims=CLAIMS,
    held=OURS_HELD,
    why=look,
    scorecard={
        "Scorecard": (
            *(Row(f"Held {words}", f"held_{part}", "percent") for part, words in _PARTS.items()),
            Row("Held outside", "held_outside", "percent"),
            Row("CRPS among the rows", "crps_inside"),
            Row("CRPS outside", "crps_outside"),
            Row("Width among the rows", "width_inside"),
            Row("Width outside", "width_outside"),
            Row("Seconds", "seconds"),
        )
    },
    caption="Share of new values inside bands of {level:percent}, the CRPS and the width of the "
    "bands in units of y, over the true curve and its noise. Lower CRPS is better. Seconds are the "
    "training time.",
    answer="Where no rows are, bands of {level:percent} hold {held}.",
    said="{rows:.0f} training rows lie between 0 and {edge}, around a curve drawn from -1 to 9."
    "{gap}",
    said_of=(
        "{label}: bands of {level:percent} hold {held_inside:percent} of new values among the rows "
        "and {held_outside:percent} where no rows are; their mean width is {width_inside} and "
        "{width_outside}.",
    ),
    columns=columns,
    copied=copied,
    reading="The left picture is trees alone, the right one the law that weighs them with three "
    "other voices.",
    first=("edge", "gap"),
    presets=(
        ("A wide gap", {"gap": 2.0}, "Is the truth inside the dark rim in the gap?"),
        ("No gap", {"gap": 0.0}, "What is left of the rim in the middle?"),
    ),
    story=(
        ("The rows end at 6. What do trees say beyond, and what does the law?", {}),
        ("They end at 5. Does the rim follow?", {"edge": 5.0}),
        ("A gap of 2. Does a rim appear in it?", {"edge": 6.0, "gap": 2.0}),
    ),
    terms=("total", "data", "knowledge", "coverage", "crps"),
    departures="Boosting",
    title="Beyond the rows",
    lead="What does a model say where it has seen nothing? Trees alone beside the law of several "
    "voices: trees, residuals and targets of similar rows, and a small Gaussian process.",
    equations=r"""
Every tree repeats its last leaf beyond the rows. The law of several voices
([Yao, Vehtari, Simpson and Gelman 2018](https://doi.org/10.1214/17-BA1091)) mixes them with a
Gaussian process. The weights $w_k$ maximise the log score of rows that no voice has seen:

$$
p(y\mid x)=\sum_k w_k(x)\,p_k(y\mid x)
$$

With $e(x)$ what leaving the rows adds to the process's variance and $s$ its std, the weights of
the other voices shrink:

$$
r(x)=\frac{e(x)}{e(x)+s^2(x)},\qquad w_k(x)=w_k\,(1-r(x))\quad\text{for trees and residuals}
$$

The process has the rest. The process
alone is drawn before its std has the factor that rows left out give it.
""",
)
