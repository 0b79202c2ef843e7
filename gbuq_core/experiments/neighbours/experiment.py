"""Neighbours as a page and a download find it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.experiment import Keep, Rows, Single, Work
from gbuq_core.experiments.neighbours.charts import family_figure, reasons_sheet
from gbuq_core.experiments.neighbours.claims import STUDY, check_neighbours_claims
from gbuq_core.experiments.neighbours.data import HELD_OUT
from gbuq_core.experiments.neighbours.fit import (
    NeighboursFit,
    fit_neighbours,
    rank_families,
    search_key,
    search_neighbours,
    view_neighbours,
)
from gbuq_core.experiments.neighbours.live import (
    is_small,
    leaf_table,
    scale_name,
    scale_table,
    tree_name,
    tree_table,
)
from gbuq_core.experiments.neighbours.look import (
    NeighboursRun,
    answer_neighbours,
    describe_choice,
    describe_neighbours,
    look_at,
    title_of,
)
from gbuq_core.experiments.neighbours.opening import (
    FIRST,
    OPENING,
    NeighboursOpening,
    look_stored,
    stored_x,
)
from gbuq_core.experiments.neighbours.picture import (
    course_figure,
    held_out_figure,
    neighbours_maps,
    training_figure,
)
from gbuq_core.experiments.neighbours.plan import (
    ALL_TREES,
    BASELINES,
    BEST_FAMILY,
    KS,
    SHARES,
    VALIDATION_FRACTION,
    NeighboursSettings,
    neighbours_arguments,
)
from gbuq_core.experiments.neighbours.scores import (
    fit_baseline,
    needed_fits,
    score_neighbours,
    score_rows,
    why_no_baseline,
)
from gbuq_core.experiments.python_text import arguments_text, import_lines
from gbuq_core.figures.canvas.live import EVERY, MAP
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import pack_table
from gbuq_core.figures.standalone import Section
from gbuq_core.ibug import FAMILIES
from gbuq_core.methods import METHODS
from gbuq_core.presentation import csv_text, digits
from gbuq_core.settings import bare, plan_of, sliders, with_fit

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
        "from gbuq_core.metrics import find_resolution, log_scores, rmse",
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
    k, row = settings.k if settings.k is not None else "tune", settings.row
    place = f"np.array([{list(settings.point or ())}])"
    choices = f"n_neighbors={k!r}, calibrate={settings.calibrate}"
    lines = [
        "",
        f"near = model.find_neighborhood(X_test{trees})",
        f"loc, scale = law = model.predict_distribution(near, {choices})",
        "nll = log_scores(law, y_test, find_resolution(y)).mean",
        "print(f'RMSE {rmse(y_test, loc):.4g}, NLL {nll:.4g}, CRPS {law.crps(y_test).mean():.4g}')",
        "",
        f"chosen = {place if row is None else f'X_test[{row}:{row + 1}]'}",
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


def _pictures(run: NeighboursRun, knobs: Sequence[LiveKnob]) -> dict[str, Section]:
    """The picture of the kind of data."""
    if run.fit.data.n_inputs == 2:
        knobs = [
            # of the targets, whose chart comes with all maps
            knob._replace(needs={EVERY: (True,)}) if knob.key == "family" else knob
            for knob in knobs
        ]
        maps = replace(neighbours_maps(run, knobs), chosen=2)  # the neighbours
        return {"neighbours-maps": Section(sheet=maps)}
    bar = [knob for knob in knobs if knob.key not in (EVERY, MAP)]  # those are of maps
    if run.fit.data.n_inputs == 1:
        return {"neighbours-course": Section(curves=course_figure(run, bar))}
    held_out, training = held_out_figure(run, bar), training_figure(run, bar)
    return {
        "neighbours-rows": Section(heading="Held-out rows", curves=held_out),
        "neighbours-training": Section(
            heading="Training rows", curves=training, caption="The neighbours are marked."
        ),
    }


def _why(run: NeighboursRun) -> Rows:
    """Distributions of the chosen prediction, every family's NLL, and why its scale is so."""
    families = family_figure(run)
    heading = f"{title_of(run)}: what the neighbours say"
    return [
        (Section(heading=heading, curves=families), _ranking_section(run)),
        reasons_section(run),
    ]


def _ranking_section(run: NeighboursRun) -> Section:
    """Every family's NLL, the lowest first; the one in use stands out."""
    ranked = run.ranked or rank_families(run.fit, run.search, run.view)
    rows = sorted(
        zip(ranked.families, ranked.nll.tolist(), ranked.refusals, strict=True),
        key=lambda row: (bool(row[2]) or math.isnan(row[1]), row[1]),
    )
    table = [("Distribution", "NLL, validation rows")]
    table += [
        (FAMILIES[family].label, "\u2013" if refusal else digits(nll))
        for family, nll, refusal in rows
    ]
    at = [family for family, _, _ in rows].index(run.look.family) + 1
    refused = [FAMILIES[family].label for family, _, text in rows if text]
    lowest = digits(float(run.fit.data.y.min()))
    need = "needs" if len(refused) == 1 else "need"
    why = f" {' and '.join(refused)} {need} positive targets; the lowest target is {lowest}."
    return Section(
        table=table,
        shaded={(at, 0), (at, 1)},
        caption="Mean negative log-likelihood in nats; lower is better. Each family keeps IBUG's "
        "mean and spread, and its shape is fitted to the neighbours' targets. Only the kernel "
        f"density takes its mean and spread from the targets.{why if refused else ''}",
    )


def _first_neighbours(run: NeighboursRun) -> list[Section]:
    columns = neighbour_columns(run)
    listed = zip(*(_texts(values[:_MOST_LISTED]) for values in columns.values()), strict=True)
    return [Section(heading="The neighbours", table=[tuple(columns), *listed])]


def _opening_of(fit: NeighboursFit) -> NeighboursOpening | None:
    """What is stored of a fit without a model."""
    return OPENING.find(fit.plan) if fit.model is None else None


def _stored(settings: NeighboursSettings) -> NeighboursFit | None:
    opening = OPENING.answer(plan_of(settings), settings)
    return None if opening is None else opening.fit


def _look(fit: NeighboursFit, settings: NeighboursSettings, keep: Keep) -> NeighboursRun:
    settings = with_fit(settings, fit.plan)
    if (opening := _opening_of(fit)) is not None:
        seen = replace(
            FIRST, x=stored_x(settings), scales=settings.scales, scales_of=settings.scales_of
        )
        view = replace(opening.view, settings=seen)
        look = keep("neighbours-look", [fit], seen.x, lambda: look_stored(opening, seen))
        return NeighboursRun(seen, fit, opening.search, view, look, ranked=opening.ranked)
    search = keep(
        "neighbours-search",
        [fit],
        search_key(fit, settings),
        lambda: search_neighbours(fit, settings),
    )
    plain = replace(bare(settings), compare=())
    view = keep("neighbours-view", [search], plain, lambda: view_neighbours(fit, search, plain))
    view = replace(view, settings=settings)
    ranked = keep(
        "neighbours-ranked",
        [search],
        (view.setting, settings.calibrate, settings.scoring),
        lambda: rank_families(fit, search, view),
    )
    best = ranked if settings.family == BEST_FAMILY else None
    look = keep(
        "neighbours-look",
        [search],
        (plain, settings.point, settings.row, settings.family),
        lambda: look_at(fit, search, settings, view, best),
    )
    return NeighboursRun(settings, fit, search, view, look, ranked=ranked)


def _packed(run: NeighboursRun, keep: Keep) -> dict[str, bytes]:
    """What the picture follows with, packed once a fit, a search and a k."""
    fit, search, settings = run.fit, run.search, run.settings
    if not is_small(fit):
        return {}
    opening = _opening_of(fit)
    makers: Mapping[str, tuple[Any, Hashable, Callable[[], Any]]] = {
        "leaves": (fit, None, partial(leaf_table, fit)),
        "scales": (
            search,
            scale_name(fit, search, settings),
            partial(scale_table, fit, search, settings, KS),
        ),
        "trees": (fit, tree_name(fit, settings), partial(tree_table, fit, settings, SHARES)),
    }
    downloads = {}
    for name, (of, depends, make) in makers.items():
        table = make if opening is None else partial(getattr, opening, name)
        downloads[name] = keep(f"neighbours-{name}", [of], depends, partial(_pack, table))
    return downloads


def _pack(make: Callable[[], Any]) -> bytes:
    return pack_table(make())


def _behind(run: NeighboursRun, keep: Keep) -> list[Work]:
    """The fits that the chosen baselines need and can have."""
    plan, scoring = run.fit.plan, run.settings.scoring
    return [
        Work(
            f"baseline-{key}",
            ("neighbours-baseline", plan, key, scoring),
            partial(fit_baseline, plan, key, scoring),
            BASELINES[key],
        )
        for key in needed_fits(run.settings.compare)
        if not why_no_baseline(plan, key)
    ]


def _join(
    run: NeighboursRun, results: Mapping[str, Any], values: SimpleNamespace, keep: Keep
) -> NeighboursRun:
    fitted = {slot.removeprefix("baseline-"): fitted for slot, fitted in results.items()}
    if (opening := _opening_of(run.fit)) is not None:
        return run._replace(scores=opening.scores, fitted=fitted)
    scores = keep(
        "neighbours-scores",
        [run.search, *fitted.values()],
        (bare(run.settings), run.look.family, tuple(fitted)),
        lambda: score_neighbours(run.fit, run.search, run.view, fitted, run.look.family),
    )
    return run._replace(scores=scores, fitted=fitted)


def _claims(run: NeighboursRun) -> tuple[Claim, ...]:
    if (opening := _opening_of(run.fit)) is not None:
        return opening.claims
    return check_neighbours_claims(run.fit, run.search, run.view, run.fitted)


def _reading(run: NeighboursRun) -> str:
    return (
        f"{run.fit.data.title}: {run.settings.info.about} The knobs at the picture update it "
        "without retraining. The scale is data uncertainty: it does not tell that rows are missing."
    )


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
    plan = run.fit.plan
    refused = "".join(
        f" {BASELINES[key]}: {why}"
        for key in needed_fits(run.settings.compare)
        if (why := why_no_baseline(plan, key))
    )
    return (
        f"Scores on {rows}. Lower is better, except that the interval should hold 90 % of the "
        "rows. The band is the 95 % confidence interval of that share. RMSE, CRPS, width and scale "
        f"are in {units}.{truth} Seconds count training and tuning, megabytes what is kept "
        f"besides the model. {METHODS['ibug'].label} takes its mean from the trees.{set_apart}"
        f"{refused}"
    )


def _tables(run: NeighboursRun) -> Mapping[str, Callable[[NeighboursRun], str]]:
    tables = {"Predictions": neighbours_csv, "Neighbours": neighbours_rows_csv}
    return {**tables, "Picture": neighbours_map_csv} if run.fit.data.n_inputs else tables


NEIGHBOURS = Single(
    name="neighbours",
    question="Which training rows does a prediction come from?",
    lede="A prediction comes from the training rows that share its leaves: which are they here? "
    "Move over the picture, or click a place. The **orange points** are those rows; the bell "
    "shows their targets' spread.",
    settings=NeighboursSettings,
    label="Trees",
    fit=fit_neighbours,
    stored=_stored,
    wait=0.6,
    look=_look,
    notes=lambda run: [*run.view.notes, *run.look.notes],
    pictures=_pictures,
    packed=_packed,
    followed=sliders(NeighboursSettings),
    behind=_behind,
    slots=tuple(f"baseline-{key}" for key in BASELINES),
    join=_join,
    words=describe_neighbours,
    claims=_claims,
    checked=lambda run: (bare(run.settings), tuple(sorted(run.fitted))),
    why=_why,
    appendix=_first_neighbours,
    reading=_reading,
    answer=answer_neighbours,
    numbers=describe_choice,
    scores=scorecard_section,
    seeds=STUDY,
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
