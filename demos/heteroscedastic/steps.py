"""Lesson: what does a forest know about its noise, and about places without rows?

"MACAU: uncertainty from leaf models" (doi 10.5121/csit.2023.131920), section 4.1, figure 1 and
table 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from demos.asking import Between, Drawing, Largest
from demos.heteroscedastic.parts import (
    auroc_strip,
    backdrop_of,
    band_of,
    both,
    charts_of,
    crps_strip,
    each_interval,
    held_by_place,
    heteroscedastic_run,
    interval_lines,
    means_of_trees,
    over_x,
    told_by_distance,
    tree_lines,
    wide,
)
from demos.lesson import ComputedStep, Lesson, Step
from gbuq_core.experiments.heteroscedastic.claims import BLIND, CHANCE, check_claims, follow_rays
from gbuq_core.experiments.heteroscedastic.data import Array
from gbuq_core.experiments.heteroscedastic.fit import (
    HeteroscedasticRun,
    HeteroscedasticView,
    view_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    METHODS,
    SUPPORT,
    HeteroscedasticSettings,
)
from gbuq_core.experiments.heteroscedastic.scores import (
    HeteroscedasticScore,
    describe_heteroscedastic,
    score_all,
)
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import enumerated

_BASE = HeteroscedasticSettings()
_TWO = ("macau_linear", "macau_basic")
NOISE = replace(
    _BASE, methods=("macau_linear", "forest", "catboost"), show_total=True, show_knowledge=False
)
PARTS = replace(_BASE, methods=_TWO, score="data")
BEYOND = replace(_BASE, score="knowledge")
NOVELTY = replace(_BASE, methods=(*_TWO, "isolation"))
ALIKE = replace(_BASE, methods=("macau_linear",), subsample=0.8, score="knowledge")
TINY = replace(ALIKE, subsample=0.1, min_child_samples=1, max_leaves=255)
AVERAGE = replace(
    _BASE,
    methods=("macau_linear", "forest", "conformal_forest"),
    level=0.8,
    conformal=True,
    show_total=True,
    show_data=False,
    show_knowledge=False,
)
TABLE = replace(_BASE, methods=(*_TWO, "forest", "quantile", "gnll", "catboost"))
MORE = ("conformal_forest", "conformal_linear", "isolation")  # a page shows six
SEEDS = (1, 2, 3)
PLAYED, STILL = 24, 12  # trees that are played; that stand behind others
DISTANCES = np.linspace(0.0, 10.0, 9)
THIRDS, FINE = 3, 10  # parts of x that coverage is told and drawn for
_NOVELTIES = ("novelty", "conditional_novelty", "inference_novelty")
_NEAR = (-2.0, 10.0)  # of a novelty: what is usual, and a little more


def _scores(run: HeteroscedasticRun) -> dict[str, HeteroscedasticScore]:
    return {score.method: score for score in score_all(run)}


def _colour(method: str) -> str:
    return METHOD_STYLES[method].colour


def _tree_by_tree(sheet: PanelSheet, n_trees: int) -> PanelSheet:
    """The same charts with one tree in orange at a time."""
    return replace(
        sheet,
        frame_label="tree",
        frame_values=list(range(1, n_trees + 1)),
        frames_per_second=2.0,
        start_frame=0,
    )


def noise_that_grows() -> ComputedStep:
    """Which stds follow the noise?"""
    run = heteroscedastic_run(NOISE)
    behind, scores = backdrop_of(run, near=True), _scores(run)
    widths = np.array([wide(level) for level in LEVELS])
    strips = []
    for fit, view in zip(run.fits, run.views, strict=True):
        views = [view_heteroscedastic(fit, replace(run.settings, level=level)) for level in LEVELS]
        ends = [[each.lower for each in views], [each.upper for each in views]]
        lines = [*behind.lines(widths), *interval_lines(behind, view, ends)]
        strips.append(behind.strip(view.label, lines))
    noise = np.where(run.views[0].support, np.sqrt(run.views[0].true_variance), np.nan)
    curves = [("noise", noise, "text", True)]
    curves += [
        (view.label, view.scale, _colour(view.method), view.method == "catboost")
        for view in run.views
    ]
    strips.append(over_x(behind, "Std of y", curves, "std"))
    sheet = replace(
        charts_of(strips, describe_heteroscedastic(run)),
        frame_label="interval for",
        frame_values=[f"{100 * level:.0f} %" for level in LEVELS],
        frames_per_second=1.0,
    )
    level = LEVELS[-1]
    errors = enumerated([f"{score.label} {score.std_error:.2f}" for score in scores.values()])
    held = enumerated(
        [f"{each.label} {100 * each.coverage[-1].observed:.0f} %" for each in scores.values()]
    )
    notes = (
        "Play the levels of the interval. The RMSE of each std on new rows, where that of the "
        f"noise is {scores['forest'].mean_noise:.2f} on average: {errors}.",
    )
    text = (
        "Rows have one feature x. Their mean rises in waves (dashed), and the noise around it "
        "changes."
    )
    right = band_of(run, level)
    answer = (
        f"The noise has a std of {run.settings.noise_slope:g} x. Intervals of "
        f"{100 * level:.0f} % hold: {held}. A forest's spread says how uncertain its mean is, not "
        "how far y lies from it."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def data_and_knowledge() -> ComputedStep:
    """The law of total variance, tree by tree."""
    run = heteroscedastic_run(PARTS)
    behind, scores = backdrop_of(run), _scores(run)
    strips, stds = [], []
    noise = np.where(run.views[0].support, np.sqrt(run.views[0].true_variance), np.nan)
    for fit, view in zip(run.fits, run.views, strict=True):
        trees = means_of_trees(fit, behind.grid, PLAYED)
        colour = _colour(view.method)
        lines = [*behind.lines(), *tree_lines(behind, trees, colour, played=True)]
        strips.append(behind.strip(view.label, lines))
        parts = [
            ("noise", noise, "text", True),
            ("data", np.sqrt(view.data), colour, False),
            ("knowledge", np.sqrt(view.knowledge), colour, True),
        ]
        stds.append(over_x(behind, f"Parts of {view.label}", parts, "std", y_limits=(0.0, 1.6)))
    sheet = _tree_by_tree(charts_of([*strips, *stds], describe_heteroscedastic(run)), PLAYED)
    gap = max(float(np.abs(v.total - v.data - v.knowledge).max()) for v in run.views)
    plan = run.fits[0].plan
    seen = round(plan.subsample * plan.rows)
    notes = (
        f"MACAU is a random forest of {plan.trees} trees, each fitted to {seen} of the rows. A "
        "plain leaf takes the mean and variance of its rows, another one those of a Bayesian line. "
        f"The two parts add up to the total to within {gap:.1g}. The RMSE of the mean is "
        f"{scores['macau_linear'].rmse:.2f} with lines and {scores['macau_basic'].rmse:.2f} "
        "without.",
    )
    text = (
        "Each leaf predicts a mean and a variance. Data uncertainty is the mean of the "
        "variances, knowledge uncertainty the variance of the means. Play the trees."
    )
    right = Between(1.0 - scores["macau_linear"].data_share, (0.15, 0.7))
    answer = (
        f"{100 * (1.0 - scores['macau_linear'].data_share):.0f} % for linear leaves; the rest is "
        "noise. A plain leaf takes changes of the mean for noise: its std is "
        f"{scores['macau_basic'].noise_ratio:.2f} times the truth, with a line "
        f"{scores['macau_linear'].noise_ratio:.2f}."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def out_of_the_rows() -> ComputedStep:
    """Does knowledge uncertainty rise where the rows end?"""
    run = heteroscedastic_run(BEYOND)
    behind, scores = backdrop_of(run), _scores(run)
    strips = []
    for fit, view in zip(run.fits[:2], run.views[:2], strict=True):
        trees = means_of_trees(fit, behind.grid, STILL)
        lines = tree_lines(behind, trees, _colour(view.method), played=False)
        strips.append(behind.strip(f"Trees of {view.label}", [*behind.lines(), *lines]))
    stds = [
        (view.label, np.sqrt(view.knowledge), _colour(view.method), view.method == "macau_basic")
        for view in run.views
    ]
    strips.append(over_x(behind, "Knowledge uncertainty", stds, "std"))
    strips.append(_told_strip(run))
    others = [
        heteroscedastic_run(replace(run.settings, methods=("catboost",), seed=seed))
        for seed in SEEDS
    ]
    seeds = np.array([_scores(other)["catboost"].auroc_of("knowledge") for other in others])
    rays = {view.method: follow_rays(view.x, np.sqrt(view.knowledge)) for view in run.views}
    ends = "; ".join(
        f"{METHODS[key].label} "
        + " and ".join(f"from {ray.first:.2g} to {ray.last:.2g}" for ray in both_sides)
        for key, both_sides in rays.items()
    )
    notes = (
        "The last chart shows the AUROC by distance from the rows. The std of knowledge outwards, "
        f"on the left and on the right: {ends}.",
    )
    known = [scores[key].auroc_of("knowledge") for key in run.settings.methods]
    text = (
        "Below 0 and above 10 there are no rows. No model can know the right prediction there; a "
        "good one reports that it does not know."
    )
    right = Largest((*known, BLIND))
    answer = (
        f"AUROC for foreign rows: {', '.join(f'{value:.2f}' for value in known)}; 0.5 is chance. "
        "A line in a leaf goes on, so trees part outside the rows. Constants stay flat: other "
        f"seeds give CatBoost {', '.join(f'{value:.2f}' for value in seeds)}."
    )
    return ComputedStep(
        text,
        right,
        answer,
        _tree_by_tree(charts_of(strips, describe_heteroscedastic(run)), STILL),
        notes,
    )


def _told_strip(run: HeteroscedasticRun) -> Strip:
    """AUROC of knowledge for foreign rows at a distance."""
    middles = 0.5 * (DISTANCES[1:] + DISTANCES[:-1])
    lines = [
        StripLine(
            METHODS[measure.method].label,
            told_by_distance(measure, "knowledge", DISTANCES),
            _colour(measure.method),
            dash=measure.method == "macau_basic",
        )
        for measure in run.measures
    ]
    lines.append(StripLine("chance", np.full(len(middles), 0.5), "text", dash=True))
    return Strip(
        title="Detected by knowledge",
        x=middles,
        lines=lines,
        x_label="distance from the rows",
        y_label="AUROC",
        y_limits=(0.0, 1.05),
        mode="frame",
    )


def three_novelties() -> ComputedStep:
    """Novelty scores, and one that does not work with plain leaves."""
    run = heteroscedastic_run(NOVELTY)
    behind, scores = backdrop_of(run), _scores(run)
    linear, basic, forest = run.views
    beyond = {}
    for measure in run.measures:
        for near, far in zip(measure.of_test.curves, measure.of_foreign.curves, strict=True):
            if near.key in (*_NOVELTIES, "isolation"):
                usual = np.quantile(near.values, 0.95)
                beyond[measure.method, near.key] = float((far.values > usual).mean())
    places = np.arange(np.ceil(behind.x[0]), np.floor(behind.x[-1]) + 1.0)
    strips = []
    for key in _NOVELTIES:
        curves = [
            (view.label, _values(view, key), _colour(view.method), view is basic)
            for view in (linear, basic)
        ]
        title = (linear.curve(key) or linear.curves[0]).label
        unit = "|z|" if key == "inference_novelty" else "z"
        strips.append(over_x(behind, title, curves, unit, y_limits=_NEAR, frame_x=places))
    isolation = [(forest.label, _values(forest, "isolation"), _colour("isolation"), False)]
    strips.append(over_x(behind, forest.label, isolation, "score", frame_x=places))
    above = ", ".join(
        f"{METHODS[method].label}, {key.replace('_', ' ')} {100 * share:.0f} %"
        for (method, key), share in beyond.items()
    )
    notes = (
        "Each of MACAU's three scores is a z-score within a leaf, averaged over the trees. "
        "Conditional novelty takes only the features on the path to the leaf: here there is only "
        "one. The charts are cut off at 10. Foreign rows above what 95 % of the others have: "
        f"{above}.",
    )
    plain = [
        scores[key].auroc_of(name)
        for key, name in (
            ("macau_basic", "novelty"),
            ("macau_basic", "inference_novelty"),
            ("isolation", "isolation"),
        )
    ]
    with_line = scores["macau_linear"].auroc_of("inference_novelty")
    text = (
        "Novelty compares x with the rows of its leaf. Inference novelty compares the prediction "
        "with the leaf's usual ones. A plain leaf predicts one value."
    )
    right = Largest(tuple(-value for value in plain))
    answer = (
        f"AUROC for foreign rows with plain leaves: novelty {plain[0]:.2f}, inference novelty "
        f"{plain[1]:.2f}; isolation forest {plain[2]:.2f}. A leaf that predicts one value has no "
        f"unusual one. With linear leaves inference novelty has {with_line:.2f}."
    )
    sheet = replace(
        charts_of(strips, describe_heteroscedastic(run)),
        frame_label="x =",
        frame_values=[f"{place:g}" for place in places],
        start_frame=int(np.searchsorted(places, SUPPORT[1])),
    )
    return ComputedStep(text, right, answer, sheet, notes)


def _values(view: HeteroscedasticView, key: str) -> Array:
    curve = view.curve(key)
    assert curve is not None
    return curve.values


def alike_or_tiny() -> ComputedStep:
    """How two knobs of a forest change its knowledge uncertainty and its mean."""
    presets = (replace(_BASE, methods=("macau_linear",)), ALIKE, TINY)
    runs = [heteroscedastic_run(settings) for settings in presets]
    behind = backdrop_of(runs[0])
    titles = (
        f"Subsample {_BASE.subsample:g}, leaves of {_BASE.min_child_samples}",
        f"Subsample {ALIKE.subsample:g}",
        f"Leaves of {TINY.min_child_samples}",
    )
    strips, stds = [], []
    inks = ((_colour("macau_linear"), False), ("text", False), ("text", True))
    for run, title, (ink, dash) in zip(runs, titles, inks, strict=True):
        trees = means_of_trees(run.fits[0], behind.grid, STILL)
        lines = tree_lines(behind, trees, _colour("macau_linear"), played=False)
        strips.append(behind.strip(title, [*behind.lines(), *lines]))
        stds.append((title, np.sqrt(run.views[0].knowledge), ink, dash))
    strips.append(over_x(behind, "Knowledge uncertainty", stds, "std"))
    base, more, tiny = (_scores(run)["macau_linear"] for run in runs)
    far = [float(np.sqrt(run.views[0].knowledge[-1])) for run in runs]
    known, inferred = (
        ", ".join(f"{score.auroc_of(key):.2f}" for score in (base, more, tiny))
        for key in ("knowledge", "inference_novelty")
    )
    notes = (
        f"The charts show {STILL} of {_BASE.trees} trees and their mean. AUROC of knowledge for "
        f"foreign rows in the three forests: {known}; of inference novelty: {inferred}. With the "
        f"larger subsample the RMSE of the mean is {more.rmse:.2f}.",
    )
    text = (
        f"So far each tree saw {100 * _BASE.subsample:.0f} % of the rows. In the second chart it "
        f"sees {100 * ALIKE.subsample:.0f} %; in the third, leaves may have one row."
    )
    right = Between(far[1] / far[0], (0.8, 1.25))
    answer = (
        f"Its std at the right end goes from {far[0]:.2g} to {far[1]:.2g}: two trees share most "
        f"rows and agree. With leaves of one row it is {far[2]:.2g}, with an RMSE of "
        f"{tiny.rmse:.2f} instead of {base.rmse:.2f}."
    )
    sheet = _tree_by_tree(charts_of(strips, describe_heteroscedastic(runs[1])), STILL)
    return ComputedStep(text, right, answer, sheet, notes)


def on_average() -> ComputedStep:
    """Does conformal prediction hold its level everywhere?"""
    settings = AVERAGE
    runs = [heteroscedastic_run(replace(settings, conformal=on)) for on in (False, True)]
    run, level = runs[1], settings.level
    behind = backdrop_of(run, near=True)
    strips, lines, overall, thirds = [], [], [], []
    edges = np.linspace(*SUPPORT, FINE + 1)
    for i, view in enumerate(run.views):
        views = [each.views[i] for each in runs]
        ends = [[each.lower for each in views], [each.upper for each in views]]
        strips.append(
            behind.strip(
                view.label,
                [*behind.lines(wide(level)), *interval_lines(behind, view, ends)],
            )
        )
        factors = (None, view.factor)
        held = np.stack([held_by_place(run, i, level, FINE, factor) for factor in factors])
        shown = 100 * np.column_stack([held, held[:, -1]])  # a step needs its right end
        dash = view.method == "conformal_forest"
        lines.append(StripLine(view.label, shown, _colour(view.method), dash, step=True))
        overall.append(float(held_by_place(run, i, level, 1, view.factor)[0]))
        thirds.append(held_by_place(run, i, level, THIRDS, view.factor))
    promised = np.full(len(edges), 100 * level)
    lines.append(StripLine("promised", promised, "text", dash=True))
    strips.append(
        Strip(
            title="Fresh rows held, by tenths of x",
            x=edges,
            lines=lines,
            x_label="x",
            y_label="%",
            y_limits=(0.0, 102.0),
            mode="frame",
        )
    )
    sheet = replace(
        charts_of(strips, describe_heteroscedastic(run)),
        frame_label="stretched",
        frame_values=["no", "yes"],
        frames_per_second=1.0,
    )
    labels = [view.label.replace(",", "") for view in run.views]  # as they are listed
    factors_told = enumerated(
        [f"{label} {view.factor:.2f}" for label, view in zip(labels, run.views, strict=True)]
    )
    held_by_all = enumerated(
        [f"{label} {100 * share:.0f} %" for label, share in zip(labels, overall, strict=True)]
    )
    notes = (
        f"The factors are {factors_told}. On all new rows together the intervals hold: "
        f"{held_by_all}.",
    )
    widths = [float(np.ptp(shares)) for shares in thirds]
    worst, best = int(np.argmax(widths)), int(np.argmin(widths))
    held_in = [enumerated([f"{100 * share:.0f}" for share in shares]) for shares in thirds]
    text = (
        f"One factor a method stretches its intervals until they hold {100 * level:.0f} % of "
        "1,000 unseen rows. A conformal forest has one width for all rows."
    )
    right = Largest(tuple(float(np.ptp(shares)) for shares in thirds))
    answer = (
        f"In the left, middle and right third, {labels[worst]} holds {held_in[worst]} %, "
        f"{labels[best]} {held_in[best]} %. One factor cannot move coverage from place to place: "
        "the std itself has to follow the noise."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def beside_the_table() -> ComputedStep:
    """Table 1 here and in the paper, method by method."""
    run = both(heteroscedastic_run(TABLE), heteroscedastic_run(replace(TABLE, methods=MORE)))
    by_method = _scores(run)
    scores = [by_method[method] for method in run.settings.methods]
    behind = backdrop_of(run)
    strips = [each_interval(run, behind), crps_strip(scores), auroc_strip(scores)]
    words = describe_heteroscedastic(run, tuple(scores))
    sheet = replace(
        charts_of(strips, words, columns=3, height=240),
        frame_label="method",
        frame_values=[score.label for score in scores],
        frames_per_second=0.8,
        start_frame=0,
    )
    claims = check_claims(run, tuple(scores))
    fails = " ".join(claim.paper for claim in claims if claim.verdict == "does not hold")
    pairs = [cell for score in scores for cell in score.auroc if not np.isnan(cell.paper)]
    near = sum(abs(cell.value - cell.paper) <= CHANCE for cell in pairs)
    notes = (
        f"The true distribution has a CRPS of {scores[0].truth_crps:.3f} on these rows. A dot on "
        f"the dashed line has the paper's value. Of {len(pairs)} AUROCs, {near} are within "
        f"{CHANCE:g} of the table's. What does not hold: {fails or 'nothing.'}",
    )
    held = sum(claim.verdict == "holds" for claim in claims)
    both_known = [score for score in scores if not np.isnan(score.crps + score.paper_crps)]
    farthest = max(both_known, key=lambda score: abs(score.crps - score.paper_crps))
    text = (
        f"The paper's table has {len(scores)} methods that are fitted here. CRPS scores the "
        "prediction and its noise together; lower is better. Play the methods."
    )
    right = Between(-held / len(claims), (-0.999, -0.5))
    answer = (
        f"{held} of {len(claims)} hold. The largest difference in CRPS is that of "
        f"{farthest.label}: {farthest.crps:.2f} here and {farthest.paper_crps:.2f} in the table."
    )
    return ComputedStep(text, right, answer, sheet, notes)


LESSON = Lesson(
    name="heteroscedastic",
    title="What does a forest know about its noise, and about places without rows?",
    lead="Seven pictures of one feature, about ten minutes. All numbers are computed as you read.",
    page="heteroscedastic",
    source="After the paper on MACAU, section 4.1, figure 1 and table 1 "
    "(doi 10.5121/csit.2023.131920).",
    steps=(
        Step(
            "Noise that grows",
            "Where is the upper end of an interval that holds 95 % of new rows?",
            Drawing(),
            NOISE,
            noise_that_grows,
        ),
        Step(
            "Data and knowledge",
            "How much of the total would more rows remove?",
            ("Under 15 %", "15 to 70 %", "Over 70 %"),
            PARTS,
            data_and_knowledge,
        ),
        Step(
            "Out of the rows",
            "Whose knowledge uncertainty notices?",
            ("MACAU (linear)", "MACAU (basic)", "CatBoost", "None"),
            BEYOND,
            out_of_the_rows,
        ),
        Step(
            "Three novelties",
            "Which score then misses foreign rows?",
            ("Novelty", "Inference novelty", "Isolation forest"),
            NOVELTY,
            three_novelties,
        ),
        Step(
            "Trees too much alike",
            "What do more rows per tree do to knowledge uncertainty?",
            ("Lower it", "Nothing", "Raise it"),
            ALIKE,
            alike_or_tiny,
        ),
        Step(
            "Right on average",
            "Whose level fails in places?",
            ("MACAU (linear)", "Random forest", "Conformal forest"),
            AVERAGE,
            on_average,
        ),
        Step(
            "Beside the table",
            "How many of the paper's statements hold here?",
            ("All", "More than half", "Half or fewer"),
            TABLE,
            beside_the_table,
        ),
    ),
)
