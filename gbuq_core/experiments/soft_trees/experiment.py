"""Soft trees as a page and a download find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from gbuq_core.experiments.experiment import Compared, Keep, SeenMethod
from gbuq_core.experiments.python_text import call_lines, import_lines
from gbuq_core.experiments.soft_trees.claims import STUDY, check_claims
from gbuq_core.experiments.soft_trees.data import MAKERS, N_FRESH, OWN, SoftTreesData
from gbuq_core.experiments.soft_trees.fit import (
    SoftTreesFit,
    SoftTreesRun,
    SoftTreesScore,
    SoftTreesView,
    data_of,
    drawn_by,
    fit_soft_trees,
    moments_by_draws,
    view_soft_trees,
)
from gbuq_core.experiments.soft_trees.inside import INSIDE, inside_sections
from gbuq_core.experiments.soft_trees.opening import OPENING
from gbuq_core.experiments.soft_trees.picture import (
    LINES,
    LinesPanel,
    counts_ahead,
    functions_figure,
)
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    SOFT_METHODS,
    SoftTreesSettings,
    builder_of,
    plan_soft_trees,
    soft_trees_arguments,
    why_not,
)
from gbuq_core.experiments.soft_trees.scores import (
    answer_soft_trees,
    describe_soft_trees,
    score_soft_trees,
)
from gbuq_core.experiments.soft_trees.trials import TRIALS
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import csv_text, digits, megabytes, percent
from gbuq_core.settings import from_values, sliders

_BAR = ("show", "shown", "draws", "focus", "every")  # the picture's own knobs
_HEIGHT = 370


def soft_trees_code(settings: SoftTreesSettings) -> str:
    """Python that fits the methods and draws their functions with public names."""
    plans = [plan_soft_trees(settings, method) for method in settings.methods]
    names = [builder_of(plan).of for plan in plans]
    if settings.data != OWN:
        names.append(f"gbuq_core.synthetic:{MAKERS[settings.data].__name__}")
    lines = ["import numpy as np", "", *import_lines(names)]
    data = data_of(settings)
    lines += ["", *_data_lines(settings, data), ""]
    for plan in plans:
        lines += [*_method_lines(plan, settings), ""]
    return "\n".join(lines).replace("'", '"').rstrip() + "\n"


def _data_lines(settings: SoftTreesSettings, data: SoftTreesData) -> list[str]:
    low, high = data.x_range
    grid = f"grid = np.linspace({low!r}, {high!r}, {len(data.x)})[:, None]"
    if settings.data == OWN:
        points = ", ".join(f"({x:g}, {y:g})" for x, y in settings.points)
        return [f"points = np.array([{points}])", "X, y = points[:, :1], points[:, 1]", grid]
    make = MAKERS[settings.data].__name__
    return [
        f"rows = {make}(n={settings.rows}, noise={settings.noise!r}, random_state={settings.seed})",
        "X, y = rows.X, rows.y",
        grid,
    ]


def _method_lines(plan: SoftTreesSettings, settings: SoftTreesSettings) -> list[str]:
    kind, own = METHODS[plan.method], plan.method
    model = call_lines(f"{own} = {builder_of(plan).name}", soft_trees_arguments(plan))
    lines = [f"# {kind.label}", *model[:-1], ").fit(X, y)"]
    seed = f", seed={settings.draw_seed}" if settings.draw_seed else ""
    most = plan_kept(plan)
    draws = settings.n_functions if most is None else min(settings.n_functions, most)
    if kind.family == "process" and seed:
        lines.append(f"{own}.seed_ = {settings.draw_seed}  # the seed of the draws")
    how = f", n_draws={draws}{seed}" if kind.family == "soft" else ""
    if kind.family == "kept":  # as many as the picture shows, which may be fewer than there are
        drawn = f"(grid)[:{draws}]" if own == "sglb" else f"(grid, n_draws={draws})"
        lines += [
            f"members = {own}.predict_members{drawn}  # the mean and variance of each function",
            "functions = members[..., 0]",
            "data, knowledge = members[..., 1].mean(axis=0), functions.var(axis=0)  # variances",
        ]
    else:
        draw = how if kind.family == "soft" else f", n_draws={draws}"
        lines += [
            f"functions = {own}.sample_functions(grid{draw})",
            f"total, data, knowledge = {own}.predict_uncertainty(grid{how})  # variances",
        ]
    lines.append(f"print('{kind.label}', functions.shape, np.sqrt(knowledge).mean())")
    if kind.family == "soft":
        lines += [
            f"picture = {own}.tree_picture(grid, {_picture_arguments(plan, settings, seed)})",
            "print(picture.gates.shape, picture.leaf_means.shape)",
        ]
    return lines


def _picture_arguments(plan: SoftTreesSettings, settings: SoftTreesSettings, seed: str) -> str:
    """Which tree, and for which draw."""
    tree = min(settings.tree, plan.trees) - 1 if plan.method == "vsgbm" else 0
    draw = settings.draw - 1 if settings.draw else None
    return f"draw={draw}, tree={tree}{seed}"


def plan_kept(plan: SoftTreesSettings) -> int | None:
    """How many functions a fit of the plan keeps; None where they are drawn anew."""
    if plan.method == "sglb":
        return plan.members
    return int(soft_trees_arguments(plan)["n_draws"]) if plan.method == "xbart" else None


def soft_trees_curves_csv(run: SoftTreesRun) -> str:
    """One line a place and method: mean, variances, truth; numbers with nine digits."""
    names = ["method", "x", "mean", "total", "data", "knowledge", "true_mean", "has_rows"]
    truth = run.data.true_mean
    truth = np.full(len(run.data.x), np.nan) if truth is None else truth
    rows = (
        (view.label, *row)
        for view in run.views
        for row in zip(
            view.x,
            view.loc,
            view.total,
            view.data,
            view.knowledge,
            truth,
            run.data.support,
            strict=True,
        )
    )
    return csv_text(names, rows)


def soft_trees_functions_csv(view: SoftTreesView) -> str:
    """One line a place, one column a drawn function."""
    names = ["x", *(f"draw_{i + 1}" for i in range(len(view.functions)))]
    return csv_text(names, zip(view.x, *view.functions, strict=True))


def soft_trees_rows_csv(data: SoftTreesData) -> str:
    """The training rows."""
    return csv_text(["x", "y"], zip(data.X[:, 0], data.y, strict=True))


def soft_trees_parameters_csv(fit: SoftTreesFit) -> str:
    """One line a parameter of a soft tree: mean and std of its posterior, standardised scale."""
    from gbuq_core.experiments.soft_trees.look import covariance_view
    from gbuq_core.experiments.soft_trees.opening import whole_fit

    fit, rows = whole_fit(fit), []
    for tree in range(len(fit.frames)):
        view = covariance_view(fit, tree)
        rows += [
            (tree + 1, label, mean, scale)
            for label, mean, scale in zip(view.labels, view.mean, view.scale, strict=True)
        ]
    return csv_text(["tree", "parameter", "mean", "std"], rows)


_HOW = (
    "Spreads and RMSE are in standard deviations of y. Agreement is the share of the functions' "
    f"variation that all functions have in common. RMSE (to the true mean), NLL (in nats) and "
    f"intervals are measured on {N_FRESH:,} new rows. A dash means that the score does not exist: "
    "own points have no known truth, and step and wavelet have no places without rows. Seconds are "
    "the training time."
)


def score_section(scores: Sequence[SoftTreesScore]) -> Section:
    """A line a score and a column a method, so that it fits a phone."""
    lines: list[tuple[str, ...]] = [("Score", *(score.label for score in scores))]
    for title, name in (
        ("Spread where there are rows", "inside"),
        ("Spread where there are none", "outside"),
        ("Ratio of the two", "fan_out"),
        ("Agreement where there are rows", "agreement"),
        ("RMSE to the true mean", "rmse"),
        ("NLL (nats)", "nll"),
    ):
        lines.append((title, *(digits(getattr(score, name)) for score in scores)))
    lines.append(("In the 90 % interval", *(percent(score.coverage, 1) for score in scores)))
    lines.append(("Seconds", *(digits(score.seconds) for score in scores)))
    lines.append(("Megabytes", *(megabytes(score.memory_bytes) for score in scores)))
    return Section(heading="Scorecard", table=lines, caption=_HOW)


Table = Callable[[SoftTreesRun], str]


def _tables(run: SoftTreesRun) -> Mapping[str, Table]:
    def table_of(make: Callable[[Any], str], part: Any) -> Table:
        return lambda run: make(part)

    soft = [
        both for both in zip(run.fits, run.views, strict=True) if both[0].method in SOFT_METHODS
    ]
    return {
        "Curves": soft_trees_curves_csv,
        "Rows": lambda run: soft_trees_rows_csv(run.data),
        **{f"Functions of {v.label}": table_of(soft_trees_functions_csv, v) for _, v in soft},
        **{f"Parameters of {f.label}": table_of(soft_trees_parameters_csv, f) for f, _ in soft},
    }


def _rows_of(plan: SoftTreesSettings) -> tuple[object, ...]:
    """What a picture's rows depend on; own points move, their board does not."""
    return (OWN,) if plan.data == OWN else (plan.data, plan.rows, plan.noise, plan.seed)


def _figure(
    settings: SoftTreesSettings,
    seen: Sequence[SeenMethod],
    values: SimpleNamespace,
    knobs: Sequence[LiveKnob],
    keep: Keep | None,
) -> Curves:
    """The functions; while nothing moves, other settings of the picture's knobs are there, too."""
    behind = () if keep is None else counts_ahead(settings)
    panels = []
    for each in seen:
        panel = LinesPanel(each.method, each.view, each.note)
        if keep and each.view is not None and behind and (each.fit.opening is None or each.fresh):
            more, moments = keep(
                f"soft-trees:ahead:{each.method}",
                [each.fit],
                (behind, settings.draw_seed),
                partial(moments_by_draws, each.fit, settings, behind),
            )
            panel = panel._replace(more=more[: LINES[-1]], moments=moments)
        panels.append(panel)
    # the bands of a process are exact
    drawn = any(METHODS[each.method].family != "process" for each in seen)
    own = settings.data == OWN and from_values(SoftTreesSettings, vars(values)).data == OWN
    return functions_figure(
        data_of(settings),
        panels,
        settings,
        place=own,
        focus=values.focus,
        height=_HEIGHT,
        knobs=[knob for knob in knobs if knob.key in _BAR and (drawn or knob.key != "draws")],
    )


def _run(
    settings: SoftTreesSettings,
    fits: Sequence[SoftTreesFit],
    views: Sequence[SoftTreesView],
    keep: Keep,
) -> SoftTreesRun:
    """What belongs to these settings, scored."""
    settings = replace(settings, methods=tuple(fit.method for fit in fits), draw=0, tree=1)
    run = SoftTreesRun(settings, data_of(settings), tuple(fits), tuple(views))
    scores = [
        keep(
            f"soft-trees:score:{fit.method}",
            [fit, view],
            None,
            partial(score_soft_trees, fit, view, settings),
        )
        for fit, view in zip(fits, views, strict=True)
    ]
    return run._replace(scores=tuple(scores))


def _reading(run: SoftTreesRun) -> str:
    notes = dict.fromkeys(note for view in run.views for note in view.notes)
    own = "The controls above the picture and under View update it without retraining."
    return " ".join([*notes, own])


SOFT_TREES = Compared(
    name="soft-trees",
    question="How many functions fit these points?",
    lede="Each thin line is a **function** that the model, a soft tree (VST), considers possible. "
    "Take rows away: where do the lines still agree, and where do they spread?",
    settings=SoftTreesSettings,
    methods=METHODS,
    plan=plan_soft_trees,
    why_not=why_not,
    fit=fit_soft_trees,
    opening=OPENING,
    view=view_soft_trees,
    depends=lambda _, settings: drawn_by(settings),
    place="soft-trees-functions",
    rows=_rows_of,
    whole=lambda settings, values: values.inside,
    figure=_figure,
    followed=(*sliders(SoftTreesSettings), "draw_seed"),
    wait=0.9,
    join_views=_run,
    inside=INSIDE,
    look=inside_sections,
    words=lambda run: describe_soft_trees(run, run.scores),
    claims=lambda run: check_claims(run, run.scores) if run.scores else (),
    reading=_reading,
    invitation="Choose a method in All settings to see its functions.",
    answer=lambda run: answer_soft_trees(run.scores),
    scores=lambda run: score_section(run.scores),
    silence=lambda run: "The paper says nothing about these methods on these data.",
    seeds=STUDY,
    trials=TRIALS,
    code=lambda run: soft_trees_code(run.settings),
    tables=_tables,
    title="Soft trees",
    lead="Functions that fit the same rows, drawn from soft trees with a posterior and from other "
    "models. After Cinquin et al., Variational boosted soft trees (arXiv 2302.10706).",
    equations=r"""
Cinquin, Rukat, Schmidt, Wistuba and Bekasov, [Variational boosted soft
trees](https://arxiv.org/abs/2302.10706), sections 4.1 and 4.2. A gate sends a point to the right
with a probability. The probability of a leaf is the product of those along its path:

$$
g_i(x)=\operatorname{sigmoid}\!\left(\beta\,(w_i^\top x+b_i)\right),\qquad
p(y\mid x,\theta)=\sum_{\ell}\pi_\ell(x)\,
\mathcal N\!\left(y\mid \mu_\ell(x),\sigma_\ell^2(x)\right)
$$

All parameters together have a Gaussian posterior. Its covariance is a diagonal plus a factor of low
rank. Training maximises the evidence lower bound:

$$
q(\theta)=\mathcal N\!\left(\mu,\operatorname{diag}(\sigma^2)+VV^\top\right),\qquad
\mathrm{ELBO}=\mathbb E_q\!\left[\log p(y\mid X,\theta)\right]
-\mathrm{KL}\!\left(q\,\|\,p\right)
$$

A sampled function is the mean prediction of one draw of the parameters. Knowledge uncertainty is
the variance of these functions. Data uncertainty is the mean of the variances that they predict.
SGLB's functions are its members. XBART's functions are the sweeps that it keeps. A Gaussian process
draws its functions directly.
""",
    departures="Variational soft trees",
)
