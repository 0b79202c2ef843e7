"""Neighbours as a page and a download find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.experiment import Account
from gbuq_core.experiments.neighbours.charts import family_figure, reasons_sheet
from gbuq_core.experiments.neighbours.claims import STUDY
from gbuq_core.experiments.neighbours.data import HELD_OUT
from gbuq_core.experiments.neighbours.look import (
    NeighboursRun,
    answer_neighbours,
    describe_choice,
    describe_neighbours,
    title_of,
)
from gbuq_core.experiments.neighbours.picture import (
    course_figure,
    held_out_figure,
    neighbours_maps,
    training_figure,
)
from gbuq_core.experiments.neighbours.plan import (
    ALL_TREES,
    BEST_FAMILY,
    VALIDATION_FRACTION,
    NeighboursSettings,
    neighbours_arguments,
)
from gbuq_core.experiments.neighbours.scores import needed_fits, score_rows
from gbuq_core.experiments.python_text import arguments_text, import_lines
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section
from gbuq_core.methods import METHODS
from gbuq_core.presentation import csv_text
from gbuq_core.settings import plan_of

_ROWS = {
    "wave": """\
from gbuq_core.synthetic import make_wave

train = make_wave(n={rows}, noise={noise!r}, random_state={seed})
fresh = make_wave(n=1000, noise={noise!r}, random_state=[{seed}, 1])
X, y, X_test, y_test = train.X, train.y, fresh.X, fresh.y""",
    "heteroscedastic": """\
from gbuq_core.synthetic import make_heteroscedastic

slope = 0.1 * {noise!r}
train = make_heteroscedastic(n={rows}, noise_slope=slope, random_state={seed})
fresh = make_heteroscedastic(n=1000, noise_slope=slope, random_state=[{seed}, 1])
X, y, X_test, y_test = train.X, train.y, fresh.X, fresh.y""",
    "ripples": """\
from gbuq_core.synthetic import make_ripples

noise = 0.5 * {noise!r}
train = make_ripples(n={rows}, noise=noise, random_state={seed})
fresh = make_ripples(n=1000, noise=noise, random_state=[{seed}, 1])
X, y, X_test, y_test = train.X, train.y, fresh.X, fresh.y""",
    "diabetes": """\
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True, scaled=False)""",
    "wine": """\
from sklearn.datasets import load_wine

measured = load_wine().data
X, y = measured[:, 1:], measured[:, 0]  # alcohol is the first column""",
}
_MOST_LISTED = 50  # neighbours in the page to take away
_SPLIT = """
order = np.random.default_rng([{seed}, 2]).permutation(len(y))
n_test = round({held_out} * len(y))
train, test = np.sort(order[n_test:]), np.sort(order[:n_test])
X, X_test, y, y_test = X[train], X[test], y[train], y[test]"""


def as_shown(run: NeighboursRun) -> NeighboursSettings:
    """The settings with the k, trees and family in use, which need not be those asked for."""
    settings, search, view, look = run.settings, run.search, run.view, run.look
    return replace(
        settings,
        k=None if view.tuned else view.k,
        # A model that stopped early has no more: all of its trees count.
        tau=settings.tau if settings.counted == search.n_trees else ALL_TREES,
        family=settings.family if settings.family == BEST_FAMILY else look.family,
    )


def neighbours_code(settings: NeighboursSettings) -> str:
    """Python that computes predictions, scales and a row's neighbours with public names."""
    lines, builder = ["import numpy as np"], settings.base.builder
    ibug = METHODS["ibug"].builder().of
    if builder.module == "gbuq_core":
        lines += ["", *import_lines([builder.of, ibug])]
    else:
        lines += [*import_lines([builder.of]), "", *import_lines([ibug])]
    lines += [
        "from gbuq_core.metrics import crps_gaussian, nll_gaussian, rmse",
        _ROWS[settings.data].format(**vars(settings)),
    ]
    if settings.info.kind == "table":
        lines.append(_SPLIT.format(seed=settings.seed, held_out=HELD_OUT).lstrip("\n"))
    lines += ["", *_model_lines(settings), *_use_lines(settings)]
    return "\n".join(lines).replace("'", '"') + "\n"


def _model_lines(settings: NeighboursSettings) -> list[str]:
    base = arguments_text(neighbours_arguments(plan_of(settings)))
    return [
        f"base = {settings.base.builder.name}({base})",
        f"model = {METHODS['ibug'].builder().name}(",
        "    base,",
        f"    scoring={settings.scoring!r},",
        "    delta_unit=1.0,",
        f"    validation_fraction={VALIDATION_FRACTION},",
        f"    random_state={settings.seed},",
        ").fit(X, y)",
    ]


def _use_lines(settings: NeighboursSettings) -> list[str]:
    """The search and what is predicted from it."""
    trees = ""
    if settings.tau < ALL_TREES:
        trees = f", n_trees_sampled={settings.counted}, tree_order={settings.order!r}"
    k = settings.k if settings.k is not None else "tune"
    choices = f"n_neighbors={k!r}, calibrate={settings.calibrate}"
    lines = [
        "",
        f"near = model.find_neighborhood(X_test{trees})",
        f"loc, scale = model.predict_distribution(near, {choices})",
        "print(f'RMSE {rmse(y_test, loc):.4g}, NLL {nll_gaussian(y_test, loc, scale):.4g}, '",
        "      f'CRPS {crps_gaussian(y_test, loc, scale):.4g}')",
        "",
        f"chosen = {_row_text(settings)}",
        f"one = model.find_neighborhood(chosen{trees})",
        f"k = model.setting_for({k!r}{trees}).n_neighbors",
        "for row, shared in zip(one.indices[0, :k], one.affinities[0, :k]):",
        "    print(f'training row {row + 1}: {shared} trees, y = {y[row]:.4g}, X = {X[row]}')",
        "",
        f"ranked = model.score_families(model.find_validation({trees[2:]}), "
        "model.y_validation_, "
        f"n_neighbors=k, calibrate={settings.calibrate})",
        "for family, nll in zip(ranked.families, ranked.nll):",
        "    print(f'{family}: NLL {nll:.4g} on validation rows')",
    ]
    family = "ranked.best" if settings.family == BEST_FAMILY else repr(settings.family)
    lines += [
        f"quantiles = model.predict_quantiles(one, [0.05, 0.5, 0.95], {family}, {choices})",
        "print(quantiles)",
    ]
    return lines


def _row_text(settings: NeighboursSettings) -> str:
    if settings.row is None:
        return f"np.array([{list(settings.point or ())}])"
    return f"X_test[{settings.row}:{settings.row + 1}]"


def neighbours_csv(run: NeighboursRun) -> str:
    """One line a test row: its features, target, prediction, scale, and the truth if it is known.

    Numbers with nine digits.
    """
    data, view = run.fit.data, run.view
    names = [*data.feature_names, data.target_name, "prediction", "scale"]
    columns = [*data.X_test.T, data.y_test, view.loc, view.scale]
    if data.test_mean is not None and data.test_std is not None:
        names += ["true_mean", "true_std"]
        columns += [data.test_mean, data.test_std]
    return csv_text(names, zip(*columns, strict=True))


def neighbours_map_csv(run: NeighboursRun) -> str:
    """One line a place of the grid: prediction, scale, truth, affinity with the chosen place."""
    data, view, affinity = run.fit.data, run.view, run.look.map_affinity
    names = [
        *data.feature_names[: data.n_inputs],
        "prediction",
        "scale",
        "true_mean",
        "true_std",
        "in_support",
        "affinity",
    ]
    columns = (view.grid_loc, view.grid_scale, data.true_mean, data.true_std, data.in_support)
    if data.grid is None or affinity is None:
        return csv_text(names, ())
    return csv_text(names, zip(*data.grid.T, *columns, affinity, strict=True))  # type: ignore[arg-type]


def neighbour_columns(run: NeighboursRun) -> dict[str, npt.NDArray[Any]]:
    """The neighbours by column: number from 1, trees shared, target, class if any, features.

    >>> from gbuq_core.experiments.neighbours.look import run_neighbours
    >>> run = run_neighbours(NeighboursSettings(data="wine", trees=10, k=4))
    >>> list(neighbour_columns(run))[:4]
    ['training row', 'trees shared', 'alcohol', 'cultivar']
    """
    data, look = run.fit.data, run.look
    columns: dict[str, npt.NDArray[Any]] = {
        "training row": look.indices + 1,
        "trees shared": look.affinities,
        data.target_name: look.targets,
    }
    if data.labels is not None:
        columns[data.label_name] = data.labels[look.indices]
    return columns | dict(zip(data.feature_names, look.features.T, strict=True))


def neighbours_rows_csv(run: NeighboursRun) -> str:
    """One line a neighbour, and how many trees there are that it could share."""
    columns = neighbour_columns(run)
    columns["trees"] = np.full(run.look.k, run.look.n_trees)
    return csv_text([*columns], zip(*columns.values(), strict=True))


def neighbours_sections(
    run: NeighboursRun,
    knobs: Sequence[LiveKnob] = (),
    tables: Sequence[bytes] = (),
) -> list[Section]:
    """Picture, closer look, neighbours, scorecard and code; ``tables`` make the picture follow."""
    words, n_inputs = describe_neighbours(run), run.fit.data.n_inputs
    if n_inputs == 2:
        pictures = [Section(sheet=neighbours_maps(run, knobs), caption=words, tables=tables)]
    elif n_inputs == 1:
        pictures = [Section(curves=course_figure(run, knobs), caption=words, tables=tables)]
    else:
        held_out, training = held_out_figure(run, knobs), training_figure(run, knobs)
        pictures = [
            Section(heading="Held-out rows", curves=held_out, caption=words, tables=tables),
            Section(heading="Training rows", curves=training, caption=str(training.alt)),
        ]
    columns = neighbour_columns(run)
    listed = zip(*(_texts(values[:_MOST_LISTED]) for values in columns.values()), strict=True)
    families = family_figure(run)
    return [
        *pictures,
        Section(heading=title_of(run), curves=families, caption=str(families.alt)),
        reasons_section(run),
        Section(heading="The neighbours", table=[tuple(columns), *listed]),
        scorecard_section(run),
        Section(heading="Python", code=neighbours_code(as_shown(run))),
    ]


def _texts(values: npt.NDArray[Any]) -> list[str]:
    return [value if isinstance(value, str) else f"{value:.6g}" for value in values.tolist()]


def reasons_section(run: NeighboursRun) -> Section:
    """Why the scale of the chosen place is what it is."""
    reasons = reasons_sheet(run)
    return Section(heading="Why this scale", sheet=reasons, caption=reasons.alt)


def scorecard_section(run: NeighboursRun) -> Section:
    """The scores, and how to read them."""
    return Section(heading="Scorecard", table=score_rows(run.scores), caption=_how_to_read(run))


def _how_to_read(run: NeighboursRun) -> str:
    data, n = run.fit.data, len(run.view.scale)
    rows = f"{n:,} fresh rows" if data.n_inputs else f"the {n} held-out rows"
    units = data.unit if data.n_inputs else f"the target's unit ({data.unit})"
    truth = (
        " The error of the scale is its root mean squared difference from the true noise."
        if data.n_inputs
        else ""
    )
    set_apart = ""
    if not run.settings.calibrate and needed_fits(run.settings.compare):
        set_apart = " You switched IBUG's calibration off; kNN and virtual SGLB stay calibrated."
    return (
        f"Scores on {rows}. Lower is better, except that the interval should hold 90 % of the "
        "rows. The band is the 95 % confidence interval of that share. RMSE, CRPS, width and scale "
        f"are in {units}.{truth} Seconds count training and tuning, megabytes what is kept "
        f"besides the model. {METHODS['ibug'].label} takes its mean from the trees.{set_apart}"
    )


def _tables(run: NeighboursRun) -> Mapping[str, Callable[[NeighboursRun], str]]:
    tables = {"Predictions": neighbours_csv, "Neighbours": neighbours_rows_csv}
    return {**tables, "Picture": neighbours_map_csv} if run.fit.data.n_inputs else tables


NEIGHBOURS = Account(
    name="neighbours",
    question="Which training rows does a prediction come from?",
    lede="A prediction comes from the training rows that share its leaves: which are they here? "
    "Move over the picture. The **orange points** are those rows; the bell shows their targets' "
    "spread.",
    settings=NeighboursSettings,
    answer=answer_neighbours,
    numbers=describe_choice,
    scores=scorecard_section,
    study=STUDY,
    code=lambda run: neighbours_code(as_shown(run)),
    tables=_tables,
    title="Neighbours",
    lead="The training rows behind a prediction of boosted trees, and how uncertain they make it. "
    "After Brophy and Lowd, Instance-based uncertainty estimation for gradient-boosted regression "
    "trees (arXiv 2205.11412).",
    equations=r"""
Brophy and Lowd, [Instance-based uncertainty estimation for gradient-boosted regression
trees](https://arxiv.org/abs/2205.11412), section 3. The affinity of a new row to a training row is
the number of trees in which both reach the same leaf (algorithm 1). The k training rows with the
highest affinity are the neighbours. Ties go to the rows that come first:

$$
A(x, x_i)=\sum_{t=1}^{T}\mathbf 1\!\left[\ell_t(x)=\ell_t(x_i)\right],\qquad
\mu=\hat y(x),\quad \sigma=\operatorname{std}\{y_i: i\in N_k(x)\}
$$

The mean is the model's own prediction; only the spread comes from the neighbours. k is the best of
17 values on the validation rows (algorithm 3). Calibration then multiplies all scales by one
factor, or adds one constant (equation 2). It acts on the std, as in the authors' code. After
tuning, the model is trained on all rows. Nine families can be fitted to the neighbours' targets
(equation 3). Each keeps this mean and spread, except the kernel density, which takes both from the
targets. The best family has the lowest NLL on the validation rows. Affinity can also be counted in
the first, the last or random trees only (section 4.1).
""",
    departures="IBUG",
)
