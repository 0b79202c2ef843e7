"""Neighbours: which training rows does a prediction come from? (IBUG; Brophy and Lowd 2022).

Numbers of IBUG and of what it is compared with, claims, what is stored, words, tables, code. The
fit is in `neighbours_fit`, the pictures and their words in `neighbours_picture`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gbuq_core.distribution import Distribution, NormalDistribution
from gbuq_core.experiments.claims import Claim as Verdict
from gbuq_core.experiments.claims import Threshold
from gbuq_core.experiments.experiment import Keep, Rows, Single, Work
from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.python_text import arguments_text, import_lines
from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.figures.canvas.live import EVERY, MAP
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import pack_table
from gbuq_core.figures.standalone import Section
from gbuq_core.ibug import FAMILIES, Posterior, cdf, moments
from gbuq_core.ibug.results import FamilyScores
from gbuq_core.methods import METHODS
from gbuq_core.metrics import coverage, crps_gaussian, crps_gaussian_values, pit_coverage, rmse
from gbuq_core.metrics.neighbour_tuning import CANDIDATES
from gbuq_core.presentation import digits, short
from gbuq_core.settings import bare, needed, plan_of, sliders, with_fit
from gbuq_core.study.neighbours_fit import (
    ALL_TREES,
    BASELINES,
    BEST_FAMILY,
    HELD_OUT,
    KS,
    NO_FITS,
    ORDERS,
    SHARES,
    VALIDATION_FRACTION,
    Array,
    BaselineFit,
    Mask,
    NeighboursData,
    NeighboursFit,
    NeighboursLook,
    NeighboursRun,
    NeighboursSearch,
    NeighboursSettings,
    NeighboursView,
    average_with,
    baseline_of,
    data_of,
    describe_near,
    fit_baseline,
    fit_neighbours,
    look_at,
    needed_fits,
    neighbours_arguments,
    one_thread,
    rank_families,
    run_neighbours,
    scored_by,
    search_key,
    search_neighbours,
    view_neighbours,
    why_no_baseline,
)
from gbuq_core.study.neighbours_picture import (
    LeafNumbers,
    ScaleTable,
    TreeTable,
    answer_neighbours,
    course_figure,
    describe_choice,
    describe_neighbours,
    family_figure,
    held_out_figure,
    is_small,
    leaf_table,
    neighbours_maps,
    reasons_sheet,
    say,
    scale_name,
    scale_table,
    title_of,
    training_figure,
    tree_name,
    tree_table,
)
from gbuq_core.study.study import STORED, Claim, Row, columns_csv, judge, score_sections

# --- Numbers --------------------------------------------------------------------------------------

LEVEL = 0.9  # of the intervals
_HALF_WIDTH = float(ndtri(0.5 + LEVEL / 2.0))  # in stds of a normal
_REACH = 8.0  # stds to either side over which a family's score is integrated
_MOST_POINTS, _FEWEST_POINTS, _BUDGET = 257, 65, 40_000_000


def score_neighbours(
    fit: NeighboursFit,
    search: NeighboursSearch,
    view: NeighboursView,
    baselines: Mapping[str, BaselineFit] = NO_FITS,
    family: str = "normal",
) -> dict[str, dict[str, Any]]:
    """Numbers on the test rows: of "ibug", of "family" if it is none of normals, of baselines.

    Of NLL (nats), RMSE, CRPS, width and errors of the scale (units of y) lower is better; NaN where
    the truth is not known.
    """
    own = BaselineFit(
        "ibug", view.loc, view.scale, view.grid_loc, view.grid_scale, fit.seconds, fit.memory_bytes
    )
    numbers = {"ibug": _score(fit.data, own, "IBUG")}
    if family != "normal":
        numbers["family"] = numbers["ibug"] | _score_family(fit, search, view, family)
    for key in view.settings.compare:
        baseline = baseline_of(fit, own, baselines, key)
        if baseline is not None:
            numbers[key] = _score(fit.data, baseline, BASELINES[key])
    return numbers


def _score(data: NeighboursData, fitted: BaselineFit, label: str) -> dict[str, Any]:
    y, loc, scale = data.y_test, fitted.loc, fitted.scale
    inside = data.in_support  # where rows can lie
    return {
        "label": label,
        "rmse": rmse(y, loc),
        "nll": float(data.log_scores(NormalDistribution(loc, scale)).mean()),
        "crps": crps_gaussian(y, loc, scale),
        **_share_inside(coverage(y, loc, scale, [LEVEL])),
        "width": 2.0 * _HALF_WIDTH * float(scale.mean()),
        **_scale_error(data, fitted.grid_scale, "inside", inside),
        **_scale_error(data, fitted.grid_scale, "outside", None if inside is None else ~inside),
        "seconds": fitted.seconds,
        "bytes": math.nan if fitted.memory_bytes is None else fitted.memory_bytes,
    }


def _share_inside(share: Any) -> dict[str, Any]:
    """The share of rows in their central intervals, and its exact binomial band at 95 %."""
    low, high = 100 * share.low[0], 100 * share.high[0]
    band = f"{low:.0f}\u2013{high:.0f}\u00a0%"
    return {"coverage": float(share.observed[0]), "band": band}


def _scale_error(
    data: NeighboursData, scale: Array | None, where: str, at: Mask | None
) -> dict[str, float]:
    """Root mean squared error of the scale against the true noise, and the mean scale."""
    if scale is None or at is None or data.true_std is None or not at.any():
        return {f"scale_error_{where}": math.nan, f"mean_scale_{where}": math.nan}
    error = rmse(data.true_std[at], scale[at])
    return {f"scale_error_{where}": error, f"mean_scale_{where}": float(scale[at].mean())}


def family_posterior(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView, family: str
) -> Posterior:
    """The family fitted to the neighbours of every test row."""
    if view.k > search.width:
        search = search_neighbours(fit, view.settings)
    return scored_by(fit, view.settings).predict_posterior(
        search.near_test, family, n_neighbors=view.k, calibrate=view.settings.calibrate
    )


def family_law(view: NeighboursView, posterior: Posterior) -> Distribution:
    """The law of the neighbours' family; it is imported once something has been fitted."""
    from gbuq_core.ibug.family_distribution import FamilyDistribution

    return FamilyDistribution(view.loc, view.scale, posterior)


def _score_family(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView, family: str
) -> dict[str, Any]:
    """What another family than the normal changes."""
    posterior, y = family_posterior(fit, search, view, family), fit.data.y_test
    law = family_law(view, posterior)
    crps, width = integrate_posterior(posterior, y, view.loc, view.scale)
    numbers: dict[str, Any] = {}
    if posterior.centres is not None:  # kernels stand on the neighbours, not on loc and scale
        numbers["rmse"] = rmse(y, moments(posterior)[0])
        for where in ("inside", "outside"):
            numbers |= _scale_error(fit.data, None, where, None)
    return numbers | {
        "label": f"IBUG, {FAMILIES[family].label}",
        "nll": float(fit.data.log_scores(law).mean()),
        "crps": float(crps.mean()),
        **_share_inside(pit_coverage(np.clip(cdf(posterior, y), 0.0, 1.0), [LEVEL])),
        "width": float(width.mean()),
    }


def integrate_posterior(
    posterior: Posterior, y: Array, loc: Array, scale: Array
) -> tuple[Array, Array]:
    """CRPS of every row and the width of its central 90 % interval, by numerical integration.

    The distribution function is taken at places up to 8 stds from ``loc``, or as far as y lies:
    257 of them, and fewer under kernels of many neighbours. ``CRPS = int (F(t) - 1[t >= y])^2 dt``
    by trapezoids, in units of y.
    """
    kernels = 1 if posterior.centres is None else posterior.centres.shape[1]
    wanted = _BUDGET // (len(y) * kernels)
    n_points = int(np.clip(wanted, _FEWEST_POINTS, _MOST_POINTS))
    # Symmetric in y: half of the places on either side of it, so that the jump is at a node.
    low = np.minimum(loc - _REACH * scale, y - scale)
    high = np.maximum(loc + _REACH * scale, y + scale)
    if posterior.centres is not None:
        low = np.minimum(low, posterior.centres.min(axis=1) - 5.0 * posterior.scale)
        high = np.maximum(high, posterior.centres.max(axis=1) + 5.0 * posterior.scale)
    step = np.linspace(0.0, 1.0, n_points // 2 + 1)
    below = low[:, None] + (y - low)[:, None] * step
    above = y[:, None] + (high - y)[:, None] * step
    under, over = (np.clip(cdf(posterior, at), 0.0, 1.0) for at in (below, above))
    crps: Array = np.asarray(
        np.trapezoid(under**2, below, axis=1) + np.trapezoid((1.0 - over) ** 2, above, axis=1)
    )
    places, mass = np.hstack([below, above[:, 1:]]), np.hstack([under, over[:, 1:]])
    ends = [_crossing(places, mass, level) for level in (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)]
    return crps, ends[1] - ends[0]


def _crossing(places: Array, mass: Array, level: float) -> Array:
    """Where each row's distribution function reaches a level, (n_samples,)."""
    rows = np.arange(len(places))
    right = np.clip((mass < level).sum(axis=1), 1, places.shape[1] - 1)
    left = right - 1
    rise = mass[rows, right] - mass[rows, left]
    share = np.where(rise > 0.0, (level - mass[rows, left]) / np.where(rise > 0.0, rise, 1.0), 0.0)
    width = places[rows, right] - places[rows, left]
    return places[rows, left] + np.clip(share, 0.0, 1.0) * width


SCORECARD = {
    "Scorecard": (
        Row("RMSE", "rmse"),
        Row("NLL (nats)", "nll"),
        Row("CRPS", "crps"),
        Row("Rows in the 90 % interval", "coverage", "percent1"),
        Row("95 % band of that share", "band"),
        Row("Mean width of the interval", "width"),
        Row("Error of the scale, where rows are", "scale_error_inside"),
        Row("Error of the scale, elsewhere", "scale_error_outside"),
        Row("Mean scale, where rows are", "mean_scale_inside"),
        Row("Mean scale, elsewhere", "mean_scale_outside"),
        Row("Seconds", "seconds"),
        Row("Megabytes", "bytes", "MB"),
    )
}
_CAPTION = (
    "Scores on {rows}. Lower is better, except that the interval should hold 90 % of the rows. The "
    "band is the 95 % confidence interval of that share. RMSE, CRPS, width and scale are in "
    "{units}.",
    "The error of the scale is its root mean squared difference from the true noise.{truth}",
    "Seconds count training and tuning, megabytes what is kept besides the model.{costs}",
    "{ibug} takes its mean from the trees.",
    "You switched IBUG's calibration off; kNN and virtual SGLB stay calibrated.{set_apart}",
    "{refused}",
)


def scorecard_section(run: NeighboursRun) -> Section:
    """The scores, and how to read them."""
    data, plan, n = run.fit.data, run.fit.plan, len(run.view.scale)
    fits = needed_fits(run.settings.compare)
    refused = ((BASELINES[key], why_no_baseline(plan, key)) for key in fits)
    told = {
        "rows": f"{n:,} fresh rows" if data.n_inputs else f"the {n} held-out rows",
        "units": data.unit if data.n_inputs else f"the target's unit ({data.unit})",
        "truth": "" if data.n_inputs else math.nan,
        "costs": "" if run.fit.model is not None else math.nan,
        "ibug": METHODS["ibug"].label,
        "set_apart": "" if fits and not run.settings.calibrate else math.nan,
        "refused": " ".join(f"{label}: {why}" for label, why in refused if why),
    }
    scores = {"": {"corner": "Score"}, **run.scores}
    (section,) = score_sections(scores, SCORECARD, say(_CAPTION, told))
    return section


# --- Claims ---------------------------------------------------------------------------------------

# What counts as agreeing; the paper uses words, the numbers are ours.
FEW_TREES = (0.05, 0.02, 0.01)  # of all trees; performance drops at "roughly 1-5 %" in section 5.6
ORDER_TREES = 0.1  # of all trees, where the orders are compared
PAPERS_TREES = 2000  # of most of the models in table 5

_TUNED = Threshold("loss against the best k", 0.02, 0.1, unit=" nats", decimals=3)
# Means over the test rows beside their standard errors, as the paper tells ties from wins.
NO_WORSE, BETTER = Threshold("standard errors", 1.0, 2.0), Threshold("standard errors", -1.0, 1.0)
_IF_NO_WORSE = "Holds if it is at most one standard error worse, partly up to two."
_IF_BETTER = "Holds if it is more than one standard error better, partly if it is a tie."
_TUNING = (
    "k tuned on validation rows gives good probabilistic predictions (algorithm 3).",
    "Tuning chose k = {tuned:d}, {scoring} {tuned_score:4} on the test rows. Of the {n_tried:d} "
    "values tried, k = {best:d} would have scored best there ({best_score:4}) and k = {worst:d} "
    "worst ({worst_score:4}).",
)
_FAMILY = (
    "The family chosen on validation rows predicts better than assuming normality (section 5.4; "
    "shown on two data sets)."
)


def _compared(
    key: str, text: str, here: str, number: str, of: str = "", holds: Threshold = BETTER
) -> Claim:
    """A claim on the difference of two scores."""
    rule = _IF_BETTER if holds is BETTER else _IF_NO_WORSE
    return Claim(key, text, here, number, holds, (of,), form=f"{{{number}_text}}", rule=rule)


# Brophy and Lowd (2022), sections 3.3, 4.1, 4.2 and 5.2 to 5.6.
CLAIMS = (
    Claim(
        "noise",
        "The k nearest training rows quantify the range of outcomes, so that IBUG suits data "
        "uncertainty (section 3.3).",
        "where rows are, the scale's rank correlation with the true noise is {agreement:.2f}. Its "
        "root mean squared error is {scale_error}; the best constant scale would have {flat}.",
        "agreement",
        Threshold("rank correlation", 0.8, 0.5, decimals=2),
        chip="The scale follows the noise",
    ),
    *(  # a CRPS has the unit of y, and a scale that is off by 2 % costs 0.02 nats
        Claim("k", *_TUNING, f"loss_{scoring}", loss, chip="Tuning finds a good k", name="loss")
        for scoring, loss in (("nll", _TUNED), ("crps", _TUNED._replace(unit=" of the best CRPS")))
    ),
    _compared(
        "calibration",
        "Variance calibration maintains or improves performance in all cases (section 5.5).",
        "NLL {calibrated:.3f} with it and {uncalibrated:.3f} without: {calibration_text}.",
        "calibration",
        holds=NO_WORSE,
    ),
    Claim(
        "stable",
        "With ever fewer first trees NLL often remains relatively stable until 1-5 % of them are "
        "left (section 5.6).",
        "NLL {every:.3f} with all {n_trees:d} trees; with the first of them {fewer}. With "
        "{fewest:d}: {few_text}{papers}.",
        "few_loss",
        Threshold(f"loss with {100 * FEW_TREES[0]:g} % of the trees", 0.02, 0.1, unit=" nats"),
        chip="Stable with few trees",
        name="loss",
    ),
    _compared(
        "order",
        "Taking the first trees generally works best (section 4.1).",
        "with {some:d} of {n_trees:d} trees NLL is {orders}. The first trees against the {rival} "
        "ones: {order_text}.",
        "order",
    ),
    _compared(
        "family",
        _FAMILY,
        "the validation rows choose the normal distribution itself, so nothing changes.",
        "same_family",
    ),
    _compared(
        "family",
        _FAMILY,
        "{family_label} was chosen: NLL {family_nll:.3f} on the test rows against "
        "{normal_nll:.3f}: {family_text}.",
        "family",
    ),
    *(
        _compared(
            key,
            "IBUG generally outperforms {label} (section 5.2 and appendix C.2).",
            "CRPS {ibug:4} against {crps:4}: {behind_text}.",
            "behind",
            key,
        )
        for key in ("knn", "knn_cb")
    ),
    _compared(
        "averaged",
        "IBUG and virtual SGLB averaged give the most accurate probabilistic predictions on "
        "average (table 1).",
        "CRPS {crps:4}. The best of the others is {best} with {best_crps:4}: {averaged_text}.",
        "averaged",
        "ibug_cbu",
    ),
)


def check_neighbours_claims(
    fit: NeighboursFit,
    search: NeighboursSearch,
    view: NeighboursView,
    baselines: Mapping[str, BaselineFit] = NO_FITS,
) -> tuple[Verdict, ...]:
    """Hold the paper's statements against these rows; nothing is fitted."""
    return judge(CLAIMS, measure_neighbours(fit, search, view, baselines))


def measure_neighbours(
    fit: NeighboursFit,
    search: NeighboursSearch,
    view: NeighboursView,
    baselines: Mapping[str, BaselineFit] = NO_FITS,
) -> dict[str, dict[str, Any]]:
    """The numbers of the claims."""
    numbers = _measure_noise(fit, view)
    with one_thread(fit.plan.library):
        numbers |= _measure_k(fit, search, view)
        if fit.n_trees > 1:
            numbers |= _measure_trees(fit, view)
    numbers |= _measure_family(fit, search, view)
    return {"": numbers, **_measure_baselines(fit, view, baselines)}


def _measure_noise(fit: NeighboursFit, view: NeighboursView) -> dict[str, Any]:
    data, scale = fit.data, view.grid_scale
    if data.true_std is None or data.in_support is None or scale is None:
        return {}
    true, inside = data.true_std[data.in_support], scale[data.in_support]
    agreement = rank_correlation(inside, true)
    return {"agreement": agreement, "scale_error": rmse(true, inside), "flat": float(true.std())}


def _measure_k(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView
) -> dict[str, Any]:
    """What the tuned k loses against the others, and what calibration does."""
    model, y, scoring = scored_by(fit, view.settings), fit.data.y_test, view.settings.scoring
    trees: dict[str, Any] = {"n_trees_sampled": search.n_trees, "tree_order": search.order}
    near = model.find_neighborhood(fit.data.X_test, fit.most_k, **trees)

    def score_of(law: Distribution) -> float:
        return float((fit.data.log_scores(law) if scoring == "nll" else law.crps(y)).mean())

    score = {k: score_of(_predict(model, near, k, view)) for k in CANDIDATES if k <= fit.most_k}
    # A search serves both scorings, so that its own choice may be that of the other one.
    tuning = model.tuning_for(**trees)
    assert tuning is not None  # the fit held rows out
    tuned = int(tuning.n_neighbors[tuning.best])
    best, worst = (choose(score, key=lambda k: score[k]) for choose in (min, max))
    lost = score[tuned] - score[best]
    on, off = (
        fit.data.log_scores(model.predict_distribution(near, view.k, calibrate=calibrate))
        for calibrate in (True, False)
    )
    return {
        "scoring": scoring.upper(),
        "tuned": tuned,
        "tuned_score": score[tuned],
        "n_tried": len(score),
        "best": best,
        "best_score": score[best],
        "worst": worst,
        "worst_score": score[worst],
        f"loss_{scoring}": lost if scoring == "nll" else lost / score[best],
        "calibrated": float(on.mean()),
        "uncalibrated": float(off.mean()),
        **behind("calibration", on, off),
    }


def _measure_trees(fit: NeighboursFit, view: NeighboursView) -> dict[str, Any]:
    """Few trees against all, and the three orders, each with its own tuned k."""
    model = scored_by(fit, view.settings)
    counts = [max(1, round(share * fit.n_trees)) for share in FEW_TREES]
    few = max(1, round(ORDER_TREES * fit.n_trees))

    def nll_of(n_trees: int, order: str) -> Array:
        near = model.find_neighborhood(
            fit.data.X_test, fit.most_k, n_trees_sampled=n_trees, tree_order=order
        )
        return fit.data.log_scores(_predict(model, near, "tune", view))

    every = nll_of(fit.n_trees, "first")
    by_order = {order: nll_of(few, order) for order in ORDERS}
    fewer = {n: nll_of(n, "first") for n in dict.fromkeys(counts)}
    means = {order: float(values.mean()) for order, values in by_order.items()}
    rival = min((order for order in ORDERS if order != "first"), key=lambda order: means[order])
    papers = (  # what makes the comparison unlike the paper's
        f". Most of the paper's models have {PAPERS_TREES:,} trees, so 5 % of them is still "
        f"{PAPERS_TREES // 20:,} trees"
    )
    return {
        "n_trees": fit.n_trees,
        "every": float(every.mean()),
        "fewer": ", ".join(f"{values.mean():.3f} ({n})" for n, values in fewer.items()),
        "fewest": counts[0],
        "few_loss": float((fewer[counts[0]] - every).mean()),
        "papers": papers if fit.n_trees < PAPERS_TREES // 4 else "",
        "some": few,
        "orders": ", ".join(f"{value:.3f} ({order})" for order, value in means.items()),
        "rival": rival,
        **behind("few", fewer[counts[0]], every),
        **behind("order", by_order["first"], by_order[rival]),
    }


def _measure_family(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView
) -> dict[str, Any]:
    chosen = rank_families(fit, search, view).best
    if chosen == "normal":
        return {"same_family": 0.0, "same_family_text": "normal"}
    normal = fit.data.log_scores(NormalDistribution(view.loc, view.scale))
    own = fit.data.log_scores(family_law(view, family_posterior(fit, search, view, chosen)))
    means = {"family_nll": float(own.mean()), "normal_nll": float(normal.mean())}
    return {"family_label": FAMILIES[chosen].label, **means, **behind("family", own, normal)}


def _measure_baselines(
    fit: NeighboursFit, view: NeighboursView, baselines: Mapping[str, BaselineFit]
) -> dict[str, dict[str, Any]]:
    y = fit.data.y_test
    own = BaselineFit("ibug", view.loc, view.scale, None, None, 0.0, 0)
    crps = {"IBUG": crps_gaussian_values(y, view.loc, view.scale)}
    for key, baseline in baselines.items():
        crps[BASELINES[key]] = crps_gaussian_values(y, baseline.loc, baseline.scale)
    means = {label: float(values.mean()) for label, values in crps.items()}
    numbers: dict[str, dict[str, Any]] = {}
    for key in ("knn", "knn_cb"):
        if key in baselines:
            label = BASELINES[key]
            gap = behind("behind", crps["IBUG"], crps[label])
            numbers[key] = {"label": label, "ibug": means["IBUG"], "crps": means[label], **gap}
    if "cbu" in baselines:
        both = average_with(own, baselines["cbu"])
        averaged = crps_gaussian_values(y, both.loc, both.scale)
        best = min(means, key=lambda label: means[label])
        gap = behind("averaged", averaged, crps[best])
        of_best = {"best": best, "best_crps": means[best]}
        numbers["ibug_cbu"] = {"crps": float(averaged.mean()), **of_best, **gap}
    return numbers


def _predict(model: Any, near: Any, k: int | str, view: NeighboursView) -> Distribution:
    return model.predict_distribution(near, k, calibrate=view.settings.calibrate)


def behind(name: str, first: Array, second: Array) -> dict[str, Any]:
    """How much worse the first scores (n,) are than the second: in standard errors, and in words.

    >>> behind("it", np.array([0.0, 0.0]), np.array([1.0, 1.5]))
    {'it': -5.0, 'it_text': '1.2 better (standard error 0.25)'}
    """
    away = first - second
    mean, error = float(away.mean()), float(away.std(ddof=1) / math.sqrt(len(away)))
    size, word = short(abs(mean), 2), "worse" if mean > 0.0 else "better"
    errors = 0.0 if mean == 0.0 else math.copysign(math.inf, mean)
    if mean == 0.0:
        text = "no difference"
    elif abs(mean) <= error:
        text = f"a tie ({size} {word}, standard error {short(error, 2)})"
    else:
        text = f"{size} {word} (standard error {short(error, 2)})"
    return {name: mean / error if error > 0.0 else errors, f"{name}_text": text}


def _run(settings: NeighboursSettings) -> NeighboursRun:
    plan = plan_of(settings)
    baselines = {key: fit_baseline(plan, key, settings.scoring) for key in settings.compare}
    return run_neighbours(settings)._replace(fitted=baselines)


def _bare(settings: NeighboursSettings) -> NeighboursSettings:
    """Without what is only looked at, and with the baselines that statements are about."""
    able = (key for key in needed_fits(settings.compare) if not why_no_baseline(settings, key))
    return replace(bare(settings), compare=tuple(able))


SEEDS = SeedStudy(
    name="neighbours",
    folder=STORED,
    fit=_run,
    claims=lambda run: check_neighbours_claims(run.fit, run.search, run.view, run.fitted),
    bare=_bare,
    first=NeighboursSettings(),
)


# --- What is stored -------------------------------------------------------------------------------


FIRST = NeighboursSettings()
_SAME_X = 1e-9  # an x of the address is off a place of the grid by its rounding


class NeighboursOpening(NamedTuple):
    """All that the page asks of its first fit."""

    data: NeighboursData
    fit: NeighboursFit
    search: NeighboursSearch
    view: NeighboursView
    look: NeighboursLook
    ranked: FamilyScores
    leaves: LeafNumbers
    scales: ScaleTable
    trees: TreeTable
    scores: dict[str, dict[str, Any]]  # without what the fits cost
    measured: dict[str, dict[str, Any]]  # the numbers of the claims


def stored_x(settings: NeighboursSettings) -> float:
    """The x of the settings if the stored leaves are known there, else the first one."""
    (x,) = data_of(plan_of(FIRST)).axes or ()
    return settings.x if np.abs(x - settings.x).min() < _SAME_X else FIRST.x


def look_stored(opening: NeighboursOpening, settings: NeighboursSettings) -> NeighboursLook:
    """The look at a `stored_x`: affinities are counts of equal leaves, which are stored."""
    if settings.x == FIRST.x:
        return opening.look
    from gbuq_core.ibug.search import Neighborhood

    leaves, search, y = opening.leaves, opening.search, opening.data.y
    (x,) = opening.data.axes or ()
    at = int(np.abs(x - settings.x).argmin())
    codes = leaves.places[:, at : at + 1]
    affinities = (leaves.rows == codes).sum(axis=0, dtype=np.int32)
    order = np.argsort(-affinities, kind="stable").astype(np.int32)  # ties by ascending index
    near = Neighborhood(
        leaves.loc[at : at + 1].astype(np.float64),
        order[None],
        affinities[order][None],
        y[order][None],
        search.n_trees,
        0,
        search.order,
    )
    look = describe_near(
        opening.fit, search, settings, opening.view, near, codes[:, 0].astype(np.int64)
    )
    shared = (leaves.places == codes).sum(axis=0, dtype=np.int64)
    return replace(look, map_affinity=shared)


def _depends(settings: NeighboursSettings) -> NeighboursSettings:
    """All settings but what is marked in the picture, and an x whose leaves are stored."""
    x = FIRST.x if settings.x == stored_x(settings) else settings.x
    return replace(needed(settings), x=x, scales=FIRST.scales, scales_of=FIRST.scales_of)


def _make(plan: NeighboursSettings) -> NeighboursOpening:
    _, fit, search, view, look, *_ = run_neighbours(FIRST)
    data = data_of(plan)
    scores = score_neighbours(fit, search, view, family=look.family)
    free = {"seconds": math.nan, "bytes": math.nan}
    return NeighboursOpening(
        data,
        fit._replace(
            data=data,
            model=None,
            source=None,
            grid_leaves=None,
            seconds=math.nan,
            memory_bytes=None,
        ),
        search._replace(near_test=None, grid_targets=None),
        view,
        look,
        rank_families(fit, search, view),
        leaf_table(fit),
        scale_table(fit, search, FIRST, KS),
        tree_table(fit, FIRST, SHARES),
        {key: {**each, **free} for key, each in scores.items()},
        measure_neighbours(fit, search, view),
    )


OPENING = Opening(
    name="neighbours",
    folder=STORED,
    kind=NeighboursOpening,
    make=_make,
    plans=lambda: [plan_of(FIRST)],
    first=FIRST,
    depends=_depends,
    afresh=lambda plan: {"data": data_of(plan)},
)


# --- Code, tables, the page -----------------------------------------------------------------------

_DRAWN = """\
from gbuq_core.synthetic import {make}

{given}train = {make}(n={rows}, {noise}, random_state={seed})
fresh = {make}(n=1000, {noise}, random_state=[{seed}, 1])
X, y, X_test, y_test = train.X, train.y, fresh.X, fresh.y"""
_MADE = {
    "wave": ("make_wave", "", "noise={noise!r}"),
    "heteroscedastic": ("make_heteroscedastic", "slope = 0.1 * {noise!r}\n", "noise_slope=slope"),
    "ripples": ("make_ripples", "noise = 0.5 * {noise!r}\n", "noise=noise"),
}
_TABLES = {
    "diabetes": """\
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True, scaled=False)
""",
    "wine": """\
from sklearn.datasets import load_wine

measured = load_wine().data
X, y = measured[:, 1:], measured[:, 0]  # alcohol is the first column
""",
}
_MOST_LISTED = 50  # neighbours in the page to take away
_SPLIT = """\
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
        _rows_code(settings),
    ]
    lines += ["", *_model_lines(settings), *_use_lines(settings)]
    return "\n".join(lines).replace("'", '"') + "\n"


def _rows_code(settings: NeighboursSettings) -> str:
    """Lines that make the rows."""
    if settings.data in _TABLES:
        return _TABLES[settings.data] + _SPLIT.format(seed=settings.seed, held_out=HELD_OUT)
    known = vars(settings)
    make, *parts = _MADE[settings.data]
    given, noise = (part.format(**known) for part in parts)
    return _DRAWN.format(**{**known, "make": make, "given": given, "noise": noise})


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
    family = "ranked.best" if settings.family == BEST_FAMILY else repr(settings.family)
    return [
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
        f"quantiles = model.predict_quantiles(one, [0.05, 0.5, 0.95], {family}, {choices})",
        "print(quantiles)",
    ]


def row_columns(run: NeighboursRun) -> dict[str, Any]:
    """The test rows: features, target, prediction, scale, and the truth if it is known."""
    data, view = run.fit.data, run.view
    columns: dict[str, Any] = dict(zip(data.feature_names, data.X_test.T, strict=True))
    columns |= {data.target_name: data.y_test, "prediction": view.loc, "scale": view.scale}
    if data.test_mean is not None:
        columns |= {"true_mean": data.test_mean, "true_std": data.test_std}
    return columns


def place_columns(run: NeighboursRun) -> dict[str, Any]:
    """The places of the grid: prediction, scale, truth, affinity with the chosen place."""
    data, view = run.fit.data, run.view
    assert data.grid is not None
    return {
        **dict(zip(data.feature_names, data.grid.T, strict=True)),
        "prediction": view.grid_loc,
        "scale": view.grid_scale,
        "true_mean": data.true_mean,
        "true_std": data.true_std,
        "in_support": data.in_support,
        "affinity": run.look.map_affinity,
    }


def neighbour_columns(run: NeighboursRun) -> dict[str, npt.NDArray[Any]]:
    """The neighbours by column: number from 1, trees shared, target, class if any, features.

    >>> from gbuq_core.study.neighbours_fit import run_neighbours
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


def near_columns(run: NeighboursRun) -> dict[str, Any]:
    """The neighbours, and how many trees there are that each could share."""
    return neighbour_columns(run) | {"trees": np.full(run.look.k, run.look.n_trees)}


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
    families, reasons = family_figure(run), reasons_sheet(run)
    heading = f"{title_of(run)}: what the neighbours say"
    return [
        (Section(heading=heading, curves=families), _ranking_section(run)),
        Section(heading="Why this scale", sheet=reasons, caption=reasons.alt),
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


def _claims(run: NeighboursRun) -> tuple[Verdict, ...]:
    if (opening := _opening_of(run.fit)) is not None:
        return judge(CLAIMS, opening.measured)
    return check_neighbours_claims(run.fit, run.search, run.view, run.fitted)


def _reading(run: NeighboursRun) -> str:
    return (
        f"{run.fit.data.title}: {run.settings.info.about} The knobs at the picture update it "
        "without retraining. The scale is data uncertainty: it does not tell that rows are missing."
    )


def _texts(values: npt.NDArray[Any]) -> list[str]:
    return [value if isinstance(value, str) else f"{value:.6g}" for value in values.tolist()]


def _tables(run: NeighboursRun) -> Mapping[str, Callable[[NeighboursRun], str]]:
    tables = {"Predictions": row_columns, "Neighbours": near_columns}
    if run.fit.data.n_inputs:
        tables["Picture"] = place_columns
    return {name: partial(_csv, columns) for name, columns in tables.items()}


def _csv(columns_of: Callable[[NeighboursRun], dict[str, Any]], run: NeighboursRun) -> str:
    return columns_csv(columns_of(run))


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
    seeds=SEEDS,
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
