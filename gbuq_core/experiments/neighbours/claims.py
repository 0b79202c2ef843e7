"""The IBUG paper's statements, held against what came out on the page's data.

Brophy and Lowd (2022), sections 3.3, 4.1, 4.2 and 5.2 to 5.6. Differences are means over the test
rows beside their standard errors, as the paper tells ties from wins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from gbuq_core.distribution import Distribution, NormalDistribution
from gbuq_core.experiments.claims import Claim, Threshold, judged, verdict_of
from gbuq_core.experiments.neighbours.fit import (
    Array,
    NeighboursFit,
    NeighboursSearch,
    NeighboursView,
    rank_families,
    scored_by,
)
from gbuq_core.experiments.neighbours.look import NeighboursRun, run_neighbours
from gbuq_core.experiments.neighbours.plan import (
    BASELINES,
    ORDERS,
    NeighboursSettings,
    one_thread,
)
from gbuq_core.experiments.neighbours.scores import (
    BaselineFit,
    average_with,
    family_law,
    family_posterior,
    fit_baseline,
    needed_fits,
    why_no_baseline,
)
from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.ibug import FAMILIES
from gbuq_core.metrics import crps_gaussian_values, rmse
from gbuq_core.metrics.neighbour_tuning import CANDIDATES
from gbuq_core.presentation import short
from gbuq_core.settings import bare, plan_of

# What counts as agreeing; the paper uses words, the numbers are ours.
FOLLOWS, HARDLY_FOLLOWS = 0.8, 0.5  # rank correlation of scale and true noise
NEAR_BEST, FAIRLY_NEAR = 0.02, 0.1  # nats, or shares of a CRPS, from the best k in hindsight
STABLE, FAIRLY_STABLE = 0.02, 0.1  # nats lost with few trees
FEW_TREES = (0.05, 0.02, 0.01)  # of all trees; performance drops at "roughly 1-5 %" in section 5.6
ORDER_TREES = 0.1  # of all trees, where the orders are compared
PAPERS_TREES = 2000  # of most of the models in table 5

_NOISE = Threshold("rank correlation", FOLLOWS, HARDLY_FOLLOWS, decimals=2)
_TUNED = Threshold("loss against the best k", NEAR_BEST, FAIRLY_NEAR, unit=" nats", decimals=3)
_STABLE = Threshold(
    f"loss with {100 * FEW_TREES[0]:g} % of the trees", STABLE, FAIRLY_STABLE, unit=" nats"
)
_NO_WORSE = "Holds if it is at most one standard error worse, partly up to two."
_BETTER = "Holds if it is more than one standard error better, partly if it is a tie."


class Gap(NamedTuple):
    """The mean of paired differences and its standard error."""

    mean: float
    error: float


def gap_between(first: Array, second: Array) -> Gap:
    """How much larger the first scores (n,) are than the second, on the same rows."""
    away = first - second
    return Gap(float(away.mean()), float(away.std(ddof=1) / math.sqrt(len(away))))


def no_worse(gap: Gap) -> str:
    """The verdict on "no worse", given how much worse: ties are within one standard error."""
    error = gap.error if math.isfinite(gap.error) else 0.0
    return verdict_of(-gap.mean, -error, -2.0 * error)


def better(gap: Gap) -> str:
    """The verdict on "better", given how much worse: a tie, within one standard error, nearly."""
    error = gap.error if math.isfinite(gap.error) else 0.0
    if gap.mean < -error:
        return "holds"
    return "partly" if gap.mean <= error else "does not hold"


def check_neighbours_claims(
    fit: NeighboursFit,
    search: NeighboursSearch,
    view: NeighboursView,
    baselines: Mapping[str, BaselineFit] | None = None,
) -> tuple[Claim, ...]:
    """Hold the paper's statements against these rows; nothing is fitted."""
    baselines = {} if baselines is None else baselines
    claims = _claim_of_noise(fit, view)
    with one_thread(fit.plan.library):
        claims.append(_claim_of_k(fit, search, view))
        claims.append(_claim_of_calibration(fit, search, view))
        if fit.n_trees > 1:
            claims += _claims_of_trees(fit, view)
    claims.append(_claim_of_family(fit, search, view))
    claims += _claims_of_baselines(fit, view, baselines)
    return tuple(claims)


def _claim_of_noise(fit: NeighboursFit, view: NeighboursView) -> list[Claim]:
    data, scale = fit.data, view.grid_scale
    if data.true_std is None or data.in_support is None or scale is None:
        return []
    true, scale_inside = data.true_std[data.in_support], scale[data.in_support]
    agreement = rank_correlation(scale_inside, true)
    if math.isnan(agreement):
        return []
    error, flat = rmse(true, scale_inside), float(true.std())
    return [
        judged(
            "The k nearest training rows quantify the range of outcomes, so that IBUG suits data "
            "uncertainty (section 3.3).",
            f"where rows are, the scale's rank correlation with the true noise is "
            f"{agreement:.2f}. Its root mean squared error is {short(error)}; the best constant "
            f"scale would have {short(flat)}.",
            agreement,
            _NOISE,
            key="noise",
            chip="The scale follows the noise",
        )
    ]


def _claim_of_k(fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView) -> Claim:
    model, y = scored_by(fit, view.settings), fit.data.y_test
    trees: dict[str, Any] = {"n_trees_sampled": search.n_trees, "tree_order": search.order}
    near = model.find_neighborhood(fit.data.X_test, fit.most_k, **trees)
    by_nll = view.settings.scoring == "nll"

    def score_of(law: Distribution) -> float:
        return float((fit.data.log_scores(law) if by_nll else law.crps(y)).mean())

    score = {k: score_of(_predict(model, near, k, view)) for k in CANDIDATES if k <= fit.most_k}
    # A search serves both scorings, so that its own choice may be that of the other one.
    tuning = model.tuning_for(**trees)
    assert tuning is not None  # the fit held rows out
    tuned = int(tuning.n_neighbors[tuning.best])
    best, worst = (choose(score, key=lambda k: score[k]) for choose in (min, max))
    lost = score[tuned] - score[best]
    if not by_nll:  # a CRPS has the unit of y, and a scale that is off by 2 % costs 0.02 nats
        lost /= score[best]
    return judged(
        "k tuned on validation rows gives good probabilistic predictions (algorithm 3).",
        f"Tuning chose k = {tuned}, {view.settings.scoring.upper()} {short(score[tuned], 4)} on "
        f"the test rows. Of the {len(score)} values tried, k = {best} would have scored best there "
        f"({short(score[best], 4)}) and k = {worst} worst ({short(score[worst], 4)}).",
        lost,
        _TUNED if by_nll else _TUNED._replace(unit=" of the best CRPS"),
        key="k",
        chip="Tuning finds a good k",
        name="loss",
    )


def _claim_of_calibration(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView
) -> Claim:
    model = scored_by(fit, view.settings)
    trees: dict[str, Any] = {"n_trees_sampled": search.n_trees, "tree_order": search.order}
    near = model.find_neighborhood(fit.data.X_test, view.k, **trees)
    with_it, without = (
        fit.data.log_scores(model.predict_distribution(near, view.k, calibrate=on))
        for on in (True, False)
    )
    gap = gap_between(with_it, without)
    return Claim(
        "Variance calibration maintains or improves performance in all cases (section 5.5).",
        f"NLL {with_it.mean():.3f} with it and {without.mean():.3f} without: {_gap_text(gap)}.",
        no_worse(gap),
        _NO_WORSE,
        _gap_text(gap),
        "calibration",
    )


def _claims_of_trees(fit: NeighboursFit, view: NeighboursView) -> list[Claim]:
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
    lost = gap_between(fewer[counts[0]], every)
    means = {order: float(values.mean()) for order, values in by_order.items()}
    rival = min((order for order in ORDERS if order != "first"), key=lambda order: means[order])
    behind = gap_between(by_order["first"], by_order[rival])
    trees = f"{few} of {fit.n_trees} trees"
    return [
        judged(
            "With ever fewer first trees NLL often remains relatively stable until 1-5 % of them "
            "are left (section 5.6).",
            f"NLL {every.mean():.3f} with all {fit.n_trees} trees; with the first of them "
            + ", ".join(f"{values.mean():.3f} ({n})" for n, values in fewer.items())
            + f". With {counts[0]}: {_gap_text(lost)}{_few_text(fit.n_trees)}.",
            lost.mean,
            _STABLE,
            key="stable",
            chip="Stable with few trees",
            name="loss",
        ),
        Claim(
            "Taking the first trees generally works best (section 4.1).",
            f"with {trees} NLL is "
            + ", ".join(f"{value:.3f} ({order})" for order, value in means.items())
            + f". The first trees against the {rival} ones: {_gap_text(behind)}.",
            better(behind),
            _BETTER,
            _gap_text(behind),
            "order",
        ),
    ]


def _claim_of_family(fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView) -> Claim:
    chosen = rank_families(fit, search, view).best
    if chosen == "normal":
        here = "the validation rows choose the normal distribution itself, so nothing changes."
        return Claim(_FAMILY_CLAIM, here, "partly", _BETTER, "normal", "family")
    normal = fit.data.log_scores(NormalDistribution(view.loc, view.scale))
    posterior = family_posterior(fit, search, view, chosen)
    own = fit.data.log_scores(family_law(view, posterior))
    gap = gap_between(own, normal)
    return Claim(
        _FAMILY_CLAIM,
        f"{FAMILIES[chosen].label} was chosen: NLL {own.mean():.3f} on the test rows against "
        f"{normal.mean():.3f}: {_gap_text(gap)}.",
        better(gap),
        _BETTER,
        _gap_text(gap),
        "family",
    )


_FAMILY_CLAIM = (
    "The family chosen on validation rows predicts better than assuming normality (section 5.4; "
    "shown on two data sets)."
)


def _claims_of_baselines(
    fit: NeighboursFit, view: NeighboursView, baselines: Mapping[str, BaselineFit]
) -> list[Claim]:
    y, claims = fit.data.y_test, []
    own = BaselineFit("ibug", view.loc, view.scale, None, None, 0.0, 0)
    crps = {"IBUG": crps_gaussian_values(y, view.loc, view.scale)}
    for key, baseline in baselines.items():
        crps[BASELINES[key]] = crps_gaussian_values(y, baseline.loc, baseline.scale)
    for key in ("knn", "knn_cb"):
        if key in baselines:
            gap = gap_between(crps["IBUG"], crps[BASELINES[key]])
            claims.append(
                Claim(
                    f"IBUG generally outperforms {BASELINES[key]} (section 5.2 and appendix C.2).",
                    f"CRPS {short(crps['IBUG'].mean(), 4)} against "
                    f"{short(crps[BASELINES[key]].mean(), 4)}: {_gap_text(gap)}.",
                    better(gap),
                    _BETTER,
                    _gap_text(gap),
                    key,
                )
            )
    if "cbu" in baselines:
        both = average_with(own, baselines["cbu"])
        averaged = crps_gaussian_values(y, both.loc, both.scale)
        best = min(crps, key=lambda label: float(crps[label].mean()))
        gap = gap_between(averaged, crps[best])
        claims.append(
            Claim(
                "IBUG and virtual SGLB averaged give the most accurate probabilistic predictions "
                "on average (table 1).",
                f"CRPS {short(averaged.mean(), 4)}. The best of the others is {best} with "
                f"{short(crps[best].mean(), 4)}: {_gap_text(gap)}.",
                better(gap),
                _BETTER,
                _gap_text(gap),
                "averaged",
            )
        )
    return claims


def _predict(model: Any, near: Any, k: int | str, view: NeighboursView) -> Distribution:
    return model.predict_distribution(near, k, calibrate=view.settings.calibrate)


def _few_text(n_trees: int) -> str:
    """What makes the comparison unlike the paper's."""
    if n_trees >= PAPERS_TREES // 4:
        return ""
    return (
        f". Most of the paper's models have {PAPERS_TREES:,} trees, so 5 % of them is still "
        f"{PAPERS_TREES // 20:,} trees"
    )


def _gap_text(gap: Gap) -> str:
    """A difference in words, with its standard error.

    >>> _gap_text(Gap(0.02, 0.001)), _gap_text(Gap(-0.001, 0.01))
    ('0.02 worse (standard error 0.001)', 'a tie (0.001 better, standard error 0.01)')
    """
    size, word = abs(gap.mean), "worse" if gap.mean > 0.0 else "better"
    if gap.mean == 0.0:
        return "no difference"
    if size <= gap.error:
        return f"a tie ({short(size, 2)} {word}, standard error {short(gap.error, 2)})"
    return f"{short(size, 2)} {word} (standard error {short(gap.error, 2)})"


def _run(settings: NeighboursSettings) -> NeighboursRun:
    plan = plan_of(settings)
    baselines = {key: fit_baseline(plan, key, settings.scoring) for key in settings.compare}
    return run_neighbours(settings)._replace(fitted=baselines)


def _bare(settings: NeighboursSettings) -> NeighboursSettings:
    """Without what is only looked at, and with the baselines that statements are about."""
    able = (key for key in needed_fits(settings.compare) if not why_no_baseline(settings, key))
    return replace(bare(settings), compare=tuple(able))


STUDY = SeedStudy(
    name="neighbours",
    fit=_run,
    claims=lambda run: check_neighbours_claims(run.fit, run.search, run.view, run.fitted),
    bare=_bare,
    first=NeighboursSettings(),
)
