"""The heart: two categorical features, no rows inside a heart, and who notices.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4,
figures 2 and 4; forests from appendix C. Read from top to bottom: data, settings, fit, numbers,
claims, picture, words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gbuq_core.boosting.plan import truncation_points
from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments import ensembles
from gbuq_core.experiments.claims import Threshold
from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.glossary import STD_CAVEAT, VIEWS
from gbuq_core.settings import Codec, arguments, setting
from gbuq_core.study.maps import Truth, as_unit, maps, where_rows_are
from gbuq_core.study.members import (
    MOST_STAGES,
    Fit,
    View,
    fit_members,
    list_stages,
    view_members,
)
from gbuq_core.study.study import Cell, Claim, Code, Row, Run, Study
from gbuq_core.synthetic import HeartData, make_heart

# --- Data -----------------------------------------------------------------------------------------

SIDE = 9
MOST_PAINTED = 66  # cells that fit into the text box


@lru_cache(maxsize=8)
def make_painted_heart(
    n_per_cell: int = 1000, noise: float = 0.01, random_state: int = 0, cells: tuple[int, ...] = ()
) -> HeartData:
    """The heart with some cells painted: filled ones lose their rows, empty ones get some."""
    if not set(cells) <= set(range(SIDE * SIDE)):
        raise InvalidParameter(f"cells must be numbers from 0 to {SIDE * SIDE - 1}; got {cells}.")
    heart = make_heart(n_per_cell, noise, random_state)
    painted = np.isin(np.arange(SIDE * SIDE), cells)  # (81,)
    filled = heart.in_support.ravel()
    in_support = filled ^ painted
    if in_support.sum() < 2:
        raise InvalidParameter("At least 2 cells need training rows. Undo some of the painting.")
    if not painted.any():
        return heart
    stays = ~painted[(SIDE * heart.X[:, 0] + heart.X[:, 1]).astype(np.int64)]  # (n_rows,)
    new = np.flatnonzero(~filled & painted)
    # One column an empty cell, whichever of them are painted: painting one moves no other.
    draws = np.random.default_rng([random_state, SIDE * SIDE]).standard_normal(
        (n_per_cell, int((~filled).sum()))
    )[:, painted[~filled]]
    y_new = heart.mean.ravel()[new] + np.sqrt(noise) * draws  # (n_per_cell, n_new)
    variance = np.where(in_support, heart.variance.ravel(), np.nan)
    variance[new] = noise
    grid = (SIDE, SIDE)
    return HeartData(
        X=np.concatenate([heart.X[stays], np.tile(heart.grid[new], (n_per_cell, 1))]),
        y=np.concatenate([heart.y[stays], y_new.ravel()]),
        mean=heart.mean,
        variance=variance.reshape(grid),
        in_support=in_support.reshape(grid),
        grid=heart.grid,
        cell_counts=np.where(in_support, n_per_cell, 0).reshape(grid),
    )


def read_cells(text: str) -> tuple[int, ...]:
    """Cell numbers from row and column digits."""
    return tuple(sorted({SIDE * int(pair[0]) + int(pair[1]) for pair in text.split(".") if pair}))


def write_cells(cells: Iterable[int]) -> str:
    """The text of cell numbers."""
    return ".".join(f"{cell // SIDE}{cell % SIDE}" for cell in sorted(set(cells)))


def problem_with_cells(cells: Collection[int]) -> str:
    """One sentence on why these cells cannot be painted; empty if they can."""
    if len(cells) > MOST_PAINTED:
        return f"At most {MOST_PAINTED} cells can be painted. Undo some of them."
    return refusal_of_call(partial(make_painted_heart, 1, cells=tuple(cells)))


def paint(settings: HeartSettings, places: Sequence[Cell]) -> tuple[dict[str, str], str]:
    """A click empties or fills one cell. A drag empties cells with rows, or fills them all."""
    chosen = [SIDE * row + column for row, column in places]
    filled = make_painted_heart(1, cells=settings.cells).in_support.ravel()
    painted = set(settings.cells) ^ set([cell for cell in chosen if filled[cell]] or chosen)
    problem = problem_with_cells(painted)
    return {} if problem else {"cells": write_cells(painted)}, problem


def offer_undo(run: Run) -> tuple[str, dict[str, dict[str, str]]]:
    """A button while cells are painted."""
    n = len(run.settings.cells)
    return "", {f"Undo painting ({n} cell{'s' * (n > 1)})": {"cells": ""}} if n else {}


# --- Settings -------------------------------------------------------------------------------------

METHODS = ensembles.ensemble_methods(
    "regression", ("sgb", "sglb", "virtual_sglb", "vrf", "catboost", "virtual_catboost")
)
VIRTUAL = tuple(key for key, kind in METHODS.items() if kind.virtual)
INDEPENDENT = tuple(key for key, kind in METHODS.items() if kind.boosting and not kind.virtual)
_RATES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True, kw_only=True)
class HeartSettings(ensembles.OfEnsembles):
    """Everything that the maps depend on. The defaults are the paper's."""

    known = METHODS

    rows: int = setting(
        1000, "Training rows per cell", group="data", shrink=(0.5, 100),
        choices=(1, 3, 10, 30, 100, 300, 1000, 3000),
    )  # fmt: skip
    noise: float = setting(
        0.01, "Noise variance", group="data", choices=(0.0001, 0.001, 0.003, 0.01, 0.03, 0.1),
        help="In squared units of y. Around the heart it is four times as large.",
    )  # fmt: skip
    cells: tuple[int, ...] = setting(
        (), "Painted cells", group="data", codec=Codec(read_cells, write_cells),
        pattern=rf"(?:[0-8]{{2}}(?:\.[0-8]{{2}}){{0,{MOST_PAINTED - 1}}})?",
        check=lambda text: problem_with_cells(read_cells(text)),
        help="The row and the column of each cell, separated by dots: 34.35.44 for example.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, arg="random_state",
        help="Sets the cells' means, the noise and the models' random numbers.",
    )  # fmt: skip
    methods: tuple[str, ...] = setting(
        ("sglb", "virtual_sglb"), "Methods, at most three", group="method", most=3, each=True,
        named={method.label: key for key, method in METHODS.items()},
        help="vRF is one random forest whose members are groups of trees. CatBoost trains the same "
        "ensembles with its own code.",
    )  # fmt: skip
    members: int = setting(
        10, of="sglb.n_members", low=2, high=20, step=1, arg="n_members", shrink=(0.5, 5),
        uses=lambda plan: not plan.kind.virtual,
        help="The number of independent models, or of groups of vRF's trees. The members of a "
        "virtual ensemble follow from K.",
    )  # fmt: skip
    trees: int = setting(
        1000, of="sglb.n_trees", arg="n_trees", shrink=(0.5, 200),
        choices=(20, 50, 100, 200, 300, 500, 700, 1000, 1500, 2000),
        help="The trees of each boosted model, and of the whole forest.",
    )  # fmt: skip
    depth: int = ensembles.DEPTH()
    rate: float = setting(
        0.3, "Learning rate, SGLB", of="sglb.learning_rate", choices=_RATES, arg="learning_rate",
        uses=lambda plan: plan.kind.langevin,
    )  # fmt: skip
    rate_sgb: float = setting(
        0.1, "Learning rate, SGB", of="sgb.learning_rate", choices=_RATES, arg="learning_rate",
        uses=lambda plan: plan.kind.boosting == "sgb",
        help="Each SGB tree sees a random half of the rows.",
    )  # fmt: skip
    temperature: str | float = ensembles.TEMPERATURE()
    leaf_noise: bool | None = ensembles.LEAF_NOISE()
    step: int = setting(
        50, of="virtual_sglb.truncation_step", low=5, high=200, step=5, group="picture", brief="K",
        arg="truncation_step", uses=lambda plan: plan.kind.virtual,
    )  # fmt: skip
    start: float = ensembles.START()
    shown: int | None = setting(
        None, "Members shown", group="picture", brief="Members", kind="ladder",
        named={**{str(n): n for n in (2, 3, 4, 5, 7, 10)}, "all": None},
        help="Uses only this many members. Nothing is retrained.",
    )  # fmt: skip
    unit: str = setting(
        "std", "Uncertainty as", group="picture", brief="As", choices=VIEWS, drawn=True
    )
    log: bool = ensembles.LOG()
    scale: str = ensembles.SCALE(
        help="Shared: all noise maps share one scale, and all knowledge maps another. Own: each "
        "map has its own scale.",
    )  # fmt: skip


def make_data(settings: HeartSettings) -> HeartData:
    """The data of settings, or of a fit's key."""
    return make_painted_heart(settings.rows, settings.noise, settings.seed, settings.cells)


# --- Fit ------------------------------------------------------------------------------------------


def estimator_arguments(plan: HeartSettings) -> dict[str, Any]:
    """All arguments of the estimator for settings of one method."""
    kind, options = plan.kind, arguments(plan)
    if kind.boosting:
        return kind.builder.arguments({**options, "categorical_features": [0, 1]})
    groups = options.pop("n_members")
    each = max(1, options.pop("n_trees") // groups)
    forest = {"n_groups": groups, "trees_per_group": each, "max_depth": 10}  # the paper's depth
    return kind.builder.arguments({**forest, **options})


def fit(plan: HeartSettings) -> Fit:
    """Train one method and keep its members' predictions for the 81 cells while it grows."""
    model, data = plan.kind.make(estimator_arguments(plan)), make_data(plan)
    every = 1 if plan.kind.virtual else -(-plan.trees // MOST_STAGES)
    return fit_members(plan, model, data, data.grid, list_stages(plan.trees, every))


def view(fit: Fit, settings: HeartSettings) -> View:
    """Uncertainty at every stage for the settings' truncation and members; trains nothing."""
    cuts = None
    if METHODS[fit.plan.method].virtual:
        cuts = partial(
            truncation_points, truncation_step=settings.step, truncation_start=settings.start
        )
    return view_members(fit, cuts, settings.shown)


# --- Numbers --------------------------------------------------------------------------------------


_SILENT = "It predicts no noise, so it has no data and no total uncertainty."


def score(run: Run) -> dict[str, dict[str, Any]]:
    """Each method's numbers with all trees, over the 81 cells, in the settings' unit."""
    data, unit = run.data, run.settings.unit
    filled, truth = data.in_support.ravel(), data.variance.ravel()  # (81,)
    noise = as_unit(truth[filled], unit)
    scores: dict[str, dict[str, Any]] = {
        "": {
            "n_empty": float((~filled).sum()),
            "rows": float(run.settings.rows),
            "least_noise": noise.min(),
            "most_noise": noise.max(),
            "unit": "standard deviations" if unit == "std" else "variances",
            "corner": unit.capitalize(),
            "caveat": f" {STD_CAVEAT}" if unit == "std" else "",
        }
    }
    for each in run.views:
        kind, last = METHODS[each.method], each.last
        total, predicted, knowledge = (as_unit(part, unit) for part in last[1:4])
        error = np.abs(predicted[filled] - noise)
        relative = np.abs(np.sqrt(last.data[filled] / truth[filled]) - 1.0)
        empty = knowledge[~filled] if (~filled).any() else np.array([np.nan])
        variance = (
            float(np.square(np.sqrt(last.knowledge[~filled]).mean())) if (~filled).any() else np.nan
        )
        scores[each.method] = {
            "members": kind.describe(int(each.counts[-1]), int(each.stages[-1])),
            "auroc": auroc_of(~filled, filled, knowledge),
            "auroc_total": auroc_of(~filled, filled, total),
            "error_mean": float(error.mean()),
            "error_max": float(error.max()),
            "error_percent": float(100.0 * relative.max()),
            "error_share": float(relative.max()),
            "empty": float(empty.mean()),
            "least_empty": float(empty.min()),
            "filled": float(knowledge[filled].mean()),
            "most_filled": float(knowledge[filled].max()),
            "n_empty": float((~filled).sum()) or np.nan,
            "n_found": float((empty > knowledge[filled].max()).sum()),
            "empty_variance": variance,
            "noise": float(np.nanmean(truth)),
            "noise_ratio": float(np.nanmean(truth)) / variance,
            "silent": np.nan if np.isfinite(error).all() else _SILENT,
        }
    for key in set(VIRTUAL) & set(scores):
        if (true := scores.get(key.removeprefix("virtual_"))) is not None:
            ratio = true["empty"] / scores[key]["empty"]
            scores[key] |= {"true_empty": true["empty"], "true_ratio": ratio}
    return scores


# --- Claims: section 4. The numbers behind "correctly" and "much smaller" are ours. ---------------

_PERFECT = Threshold("AUROC", 1.0, 0.97)
# 10 % of the true noise as a std is 4.5 times the standard error with 1000 rows
_CAPTURED = Threshold("largest error of the std", 0.1, 0.2, unit=" %", times=100.0)
_SMALLER = Threshold("ratio of the variances", 10.0, 2.0)
_FAINTER = Threshold("ratio of the standard deviations", 10.0, 2.0)

CLAIMS = (
    Claim(
        "empty:{method}",
        "Knowledge uncertainty separates cells without rows perfectly, with no trace of the "
        "heart's border.",
        "{label}: the AUROC is {auroc:auroc}. The smallest value in an empty cell is "
        "{least_empty:2}; the largest in a filled cell is {most_filled:2}.",
        "auroc", _PERFECT, INDEPENDENT, "KU of {label} finds the empty cells", form="auroc",
    ),
    Claim(
        "noise:{method}",
        "The noise is captured correctly in all cells with training rows.",
        "{label}: its standard deviation is off by at most {error_percent:2} % of the true one.",
        "error_share", _CAPTURED, INDEPENDENT, "DU of {label} repeats the noise", "off by up to",
    ),
    Claim(
        "share:{method}",
        "Knowledge uncertainty is much smaller than data uncertainty.",
        "{label}: in cells without rows its variance is {empty_variance:2}. The noise of the other "
        "cells is {noise:2}. Knowledge uncertainty is {noise_ratio:smaller}.",
        "noise_ratio", _SMALLER, INDEPENDENT, name="ratio",
    ),
    Claim(
        "empty:{method}",
        "A virtual ensemble detects the cells without rows perfectly too.",
        "{label}: the AUROC is {auroc:auroc}.",
        "auroc", _PERFECT, VIRTUAL, "KU of {label} finds the empty cells", form="auroc",
    ),
    Claim(
        "size:{method}",
        "Its knowledge uncertainty is much smaller than that of independent models.",
        "{label}: in cells without rows its standard deviation is {empty:2}. With independent "
        "models it is {true_empty:2}. The virtual one is {true_ratio:smaller}.",
        "true_ratio", _FAINTER, VIRTUAL, name="ratio",
    ),
)  # fmt: skip


LOUDEST = 6.25  # times the noise of most cells, where its colours end; beside the heart it is 4


# --- Picture --------------------------------------------------------------------------------------


def picture(run: Run, knobs: Sequence[LiveKnob]) -> PanelSheet:
    """True noise, training rows and true mean beside the maps of up to three methods."""
    data, settings = run.data, run.settings
    counts = np.where(data.in_support, data.cell_counts, np.nan)
    painted = np.isin(np.arange(SIDE * SIDE), settings.cells).reshape(SIDE, SIDE)
    return maps(
        run.views,
        (
            Truth("True noise", data.variance),
            Truth("Training rows", counts, "rows", (0.0, float(max(1, data.cell_counts.max())))),
            Truth("True mean", data.mean, "y", (0.0, 1.0)),
        ),
        settings,
        noise=(settings.noise, LOUDEST * settings.noise),
        empty={"": ~data.in_support}
        | {v.method: ~make_data(v.fit.plan).in_support for v in run.views},
        each={"outlined": painted},
        knobs=knobs,
        marker_at=(1.5, 4.0),
        focus=where_rows_are(data.in_support),
        hatch_label="no training rows",
        outline_label="painted",
        x_label="feature 2",
        y_label="feature 1",
    )


def columns(run: Run) -> dict[str, Any]:
    """Place, rows and truth of each cell."""
    data = run.data
    features = dict(zip(("feature_1", "feature_2"), data.grid.T, strict=True))
    truth = {"true_mean": data.mean, "true_noise_variance": data.variance}
    return {**features, "training_rows": data.cell_counts, **truth}


def copied(settings: HeartSettings) -> Code:
    """What the copied code calls."""
    given: dict[str, object] = {
        "n_per_cell": settings.rows,
        "noise": settings.noise,
        "random_state": settings.seed,
    }
    made = "gbuq_core:make_heart"
    if settings.cells:
        made, given = "gbuq_core.study.heart:make_painted_heart", given | {"cells": settings.cells}
    models = []
    for method in settings.methods:
        plan, kind = replace(settings, methods=(method,)), METHODS[method]
        few = settings.shown is not None and settings.shown < _count_members(plan)
        if kind.boosting:
            limit = f", n_members={settings.shown}" if few else ""
            parts = f"model.predict_uncertainty(data.grid{limit})._asdict()"
        else:
            shown = f"[:{settings.shown}]" if few else ""
            parts = f'{{"knowledge": model.predict_members(data.grid){shown}.var(axis=0)}}'
        models.append((kind.label, kind.builder.of, estimator_arguments(plan), parts))
    return Code(made, given, models)


def _count_members(plan: HeartSettings) -> int:
    if plan.kind.virtual:
        return len(truncation_points(plan.trees, plan.step, plan.start))
    return plan.members


# --- Words ----------------------------------------------------------------------------------------

HEART = Study(
    name="heart",
    question="Does the model know where it has seen nothing?",
    lede="The hatched cells have no training rows. Does the **knowledge** uncertainty of noisy "
    "boosting (SGLB) find them? Click a cell to take its rows away.",
    settings=HeartSettings,
    methods=METHODS,
    data=make_data,
    fit=fit,
    view=view,
    viewed=("step", "start", "shown"),
    why_not=lambda plan: METHODS[plan.method].record.missing(),
    picture=picture,
    score=score,
    claims=CLAIMS,
    scorecard={
        "Scorecard": (
            Row("AUROC of knowledge", "auroc", "auroc"),
            Row("Knowledge, empty cells", "empty"),
            Row("Knowledge, filled cells", "filled"),
            Row("Error of data, mean", "error_mean"),
            Row("Error of data, largest", "error_max"),
            Row("Seconds", "seconds"),
            Row("Megabytes", "bytes", "MB"),
        )
    },
    caption="Uncertainties and errors are {unit} of y, averaged over cells. AUROC is the chance "
    "that an empty cell has more knowledge uncertainty than a filled one. The error of data is its "
    "distance from the true noise in filled cells. Seconds are the training time; megabytes are "
    "the size of the trained models.{caveat}",
    answer="{label} is less sure in {n_found:.0f} of the {n_empty:.0f} empty cells than in any "
    "cell with rows.",
    said="81 cells: feature 1 runs down, feature 2 across. {n_empty:.0f} cells have no training "
    "rows; the others have {rows:,.0f} each. Uncertainties are {unit} of y. The true noise lies "
    "between {least_noise} and {most_noise}.",
    said_of=(
        "{members}: knowledge uncertainty is {filled} in filled cells and {empty} in empty ones; "
        "it tells them apart with an AUROC of {auroc:auroc}.",
        "Data uncertainty is off by {error_mean} on average and by at most {error_max} in filled "
        "cells.",
        "{silent}",
    ),
    columns=columns,
    copied=copied,
    first=("rows",),
    maps=("Training rows", "True mean"),
    presets=(
        (
            "Paper settings",
            {"methods": ("SGB", "SGLB", "virtual SGLB")},
            "10 models of 1,000 trees. SGLB learns at rate 0.3; SGB at 0.1, with half of the rows "
            "for each tree.",
        ),
    ),
    story=(
        ("There are no training rows in the hatched cells. Does the model know?", {}),
        ("10 rows per cell. Where does knowledge uncertainty rise now?", {"rows": 10}),
        ("Ten times the noise. Which uncertainty follows it?", {"noise": 0.1, "map": "SGLB: data"}),
        (
            "One long model instead of ten. Does a virtual ensemble still find the hatched cells?",
            {"methods": ("virtual SGLB",)},
        ),
    ),
    click=paint,
    undo=offer_undo,
    departures="Boosting",
    title="The heart",
    lead="Two features of nine levels. Hatched cells have no training rows. After Malinin, "
    "Prokhorenkova and Ustimenko, Uncertainty in gradient boosting via ensembles, section 4 (arXiv "
    "2006.10562).",
    equations=r"""
Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via ensembles](https://arxiv.org/abs/2006.10562),
section 4. Total, data and knowledge uncertainty of M members
with means and variances of y (equation 6):

$$
\underbrace{\tfrac1M\sum_m\left(\mu_m-\bar\mu\right)^2+\tfrac1M\sum_m\sigma_m^2}_{\text{total}}
=\underbrace{\tfrac1M\sum_m\sigma_m^2}_{\text{data}}
+\underbrace{\tfrac1M\sum_m\left(\mu_m-\bar\mu\right)^2}_{\text{knowledge}}
$$

SGLB adds noise to the gradients before it fits a tree to them, and shrinks the model before each
tree (equations 11 and 12):

$$
F^{(t)}=(1-\gamma\epsilon)F^{(t-1)}+\epsilon\,h^{(t)},\quad
h^{(t)}\approx-g^{(t)}+\nu,\quad
\nu\sim\mathcal N\!\left(0,\tfrac{2}{\beta\epsilon}I\right)
$$

A virtual ensemble is one model. Its members are that model cut at K, 2K, ... trees above the start.
Each member is divided by the shrinkage that came after its cut (equation 15).
""",
)
