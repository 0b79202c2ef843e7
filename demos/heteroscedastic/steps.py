"""Lesson: what does a forest know about its noise, and about places without rows?

"MACAU: uncertainty from leaf models" (doi 10.5121/csit.2023.131920), section 4.1, figure 1 and
table 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from demos.asking import Between, Drawing, Largest
from demos.heteroscedastic.parts import (
    backdrop_of,
    band_of,
    beside_strip,
    both,
    charts_of,
    each_interval,
    ends_of,
    factor_of,
    held_by_place,
    heteroscedastic_run,
    interval_lines,
    label_of,
    means_of_trees,
    over_x,
    paired,
    told_by_distance,
    tree_lines,
    wide,
)
from demos.lesson import ComputedStep, Lesson, Step
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import enumerated
from gbuq_core.study.heteroscedastic import (
    BLIND,
    CHANCE,
    HETEROSCEDASTIC,
    HIGH,
    LEVELS,
    LOW,
    METHODS,
    SCORES,
    HeteroscedasticSettings,
    follow_rays,
    known_along,
)
from gbuq_core.study.study import Numbers, Run

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


def _scores(run: Run) -> dict[str, Numbers]:
    """Of the methods, those that lose least to the truth first."""
    named = {key: numbers for key, numbers in run.numbers.items() if key}
    return dict(sorted(named.items(), key=lambda pair: pair[1].get("excess", np.inf)))


def _noise(run: Run) -> np.ndarray:
    """Its std where rows are."""
    known = known_along(run)
    return np.where(known.support, known.std, np.nan)


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
    for view in run.views:
        ends = zip(*(ends_of(view, run.settings, level) for level in LEVELS), strict=True)
        lines = [*behind.lines(widths), *interval_lines(behind, view, [*ends])]
        strips.append(behind.strip(label_of(view), lines))
    curves = [("noise", _noise(run), "text", True)]
    curves += [
        (label_of(v), np.sqrt(v.at.total), _colour(v.method), v.method == "catboost")
        for v in run.views
    ]
    strips.append(over_x(behind, "Std of y", curves, "std"))
    sheet = replace(
        charts_of(strips, HETEROSCEDASTIC.describe(run)),
        frame_label="interval for",
        frame_values=[f"{100 * level:.0f} %" for level in LEVELS],
        frames_per_second=1.0,
    )
    level = LEVELS[-1]
    errors = enumerated([f"{n['label']} {n['std_error']:.2f}" for n in scores.values()])
    last = f"covered_{100 * level:g}"
    held = enumerated([f"{n['label']} {100 * n[last]:.0f} %" for n in scores.values()])
    notes = (
        "Play the levels of the interval. The RMSE of each std on new rows, where that of the "
        f"noise is {scores['forest']['mean_noise']:.2f} on average: {errors}.",
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
    for view in run.views:
        trees = means_of_trees(view.fit, behind.grid, PLAYED)
        colour, label = _colour(view.method), label_of(view)
        lines = [*behind.lines(), *tree_lines(behind, trees, colour, played=True)]
        strips.append(behind.strip(label, lines))
        parts = [
            ("noise", _noise(run), "text", True),
            ("data", np.sqrt(view.at.data), colour, False),
            ("knowledge", np.sqrt(view.at.knowledge), colour, True),
        ]
        stds.append(over_x(behind, f"Parts of {label}", parts, "std", y_limits=(0.0, 1.6)))
    sheet = _tree_by_tree(charts_of([*strips, *stds], HETEROSCEDASTIC.describe(run)), PLAYED)
    parts = [view.at for view in run.views]
    gap = max(float(np.abs(at.total - at.data - at.knowledge).max()) for at in parts)
    plan = run.fits[0].plan
    seen = round(plan.subsample * plan.rows)
    notes = (
        f"MACAU is a random forest of {plan.trees} trees, each fitted to {seen} of the rows. A "
        "plain leaf takes the mean and variance of its rows, another one those of a Bayesian line. "
        f"The two parts add up to the total to within {gap:.1g}. The RMSE of the mean is "
        f"{scores['macau_linear']['rmse']:.2f} with lines and {scores['macau_basic']['rmse']:.2f} "
        "without.",
    )
    text = (
        "Each leaf predicts a mean and a variance. Data uncertainty is the mean of the "
        "variances, knowledge uncertainty the variance of the means. Play the trees."
    )
    right = Between(1.0 - scores["macau_linear"]["data_share"], (0.15, 0.7))
    answer = (
        f"{100 * (1.0 - scores['macau_linear']['data_share']):.0f} % for linear leaves; the rest "
        "is noise. A plain leaf takes changes of the mean for noise: its std is "
        f"{scores['macau_basic']['noise_ratio']:.2f} times the truth, with a line "
        f"{scores['macau_linear']['noise_ratio']:.2f}."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def out_of_the_rows() -> ComputedStep:
    """Does knowledge uncertainty rise where the rows end?"""
    run = heteroscedastic_run(BEYOND)
    behind, scores = backdrop_of(run), _scores(run)
    strips = []
    for view in run.views[:2]:
        trees = means_of_trees(view.fit, behind.grid, STILL)
        lines = tree_lines(behind, trees, _colour(view.method), played=False)
        strips.append(behind.strip(f"Trees of {label_of(view)}", [*behind.lines(), *lines]))
    stds = [
        (label_of(v), np.sqrt(v.at.knowledge), _colour(v.method), v.method == "macau_basic")
        for v in run.views
    ]
    strips.append(over_x(behind, "Knowledge uncertainty", stds, "std"))
    strips.append(_told_strip(run))
    others = [
        heteroscedastic_run(replace(run.settings, methods=("catboost",), seed=seed))
        for seed in SEEDS
    ]
    seeds = np.array([other.numbers["catboost"]["auroc_knowledge"] for other in others])
    x = known_along(run).x
    rays = {view.method: follow_rays(x, np.sqrt(view.at.knowledge)) for view in run.views}
    ends = "; ".join(
        f"{METHODS[key].label} "
        + " and ".join(f"from {ray.first:.2g} to {ray.last:.2g}" for ray in both_sides)
        for key, both_sides in rays.items()
    )
    notes = (
        "The last chart shows the AUROC by distance from the rows. The std of knowledge outwards, "
        f"on the left and on the right: {ends}.",
    )
    known = [scores[key]["auroc_knowledge"] for key in run.settings.methods]
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
        _tree_by_tree(charts_of(strips, HETEROSCEDASTIC.describe(run)), STILL),
        notes,
    )


def _told_strip(run: Run) -> Strip:
    """AUROC of knowledge for foreign rows at a distance."""
    middles = 0.5 * (DISTANCES[1:] + DISTANCES[:-1])
    lines = [
        StripLine(
            METHODS[method].label,
            told_by_distance(run, method, "knowledge", DISTANCES),
            _colour(method),
            dash=method == "macau_basic",
        )
        for method in run.measured
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
    for method, at in run.measured.items():
        for key, near in at["test"].scores.items():
            usual = np.quantile(near, 0.95)
            beyond[method, key] = float((at["foreign"].scores[key] > usual).mean())
    places = np.arange(np.ceil(behind.x[0]), np.floor(behind.x[-1]) + 1.0)
    strips = []
    for key in _NOVELTIES:
        curves = [
            (label_of(view), view.at.scores[key], _colour(view.method), view is basic)
            for view in (linear, basic)
        ]
        unit = "|z|" if key == "inference_novelty" else "z"
        strips.append(over_x(behind, SCORES[key], curves, unit, y_limits=_NEAR, frame_x=places))
    label, values = label_of(forest), forest.at.scores["isolation"]
    isolation = [(label, values, _colour("isolation"), False)]
    strips.append(over_x(behind, label, isolation, "score", frame_x=places))
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
        scores[key][f"auroc_{name}"]
        for key, name in (
            ("macau_basic", "novelty"),
            ("macau_basic", "inference_novelty"),
            ("isolation", "isolation"),
        )
    ]
    with_line = scores["macau_linear"]["auroc_inference_novelty"]
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
        charts_of(strips, HETEROSCEDASTIC.describe(run)),
        frame_label="x =",
        frame_values=[f"{place:g}" for place in places],
        start_frame=int(np.searchsorted(places, HIGH)),
    )
    return ComputedStep(text, right, answer, sheet, notes)


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
        stds.append((title, np.sqrt(run.views[0].at.knowledge), ink, dash))
    strips.append(over_x(behind, "Knowledge uncertainty", stds, "std"))
    base, more, tiny = (run.numbers["macau_linear"] for run in runs)
    far = [float(np.sqrt(run.views[0].at.knowledge[-1])) for run in runs]
    known, inferred = (
        ", ".join(f"{score[f'auroc_{key}']:.2f}" for score in (base, more, tiny))
        for key in ("knowledge", "inference_novelty")
    )
    notes = (
        f"The charts show {STILL} of {_BASE.trees} trees and their mean. AUROC of knowledge for "
        f"foreign rows in the three forests: {known}; of inference novelty: {inferred}. With the "
        f"larger subsample the RMSE of the mean is {more['rmse']:.2f}.",
    )
    text = (
        f"So far each tree saw {100 * _BASE.subsample:.0f} % of the rows. In the second chart it "
        f"sees {100 * ALIKE.subsample:.0f} %; in the third, leaves may have one row."
    )
    right = Between(far[1] / far[0], (0.8, 1.25))
    answer = (
        f"Its std at the right end goes from {far[0]:.2g} to {far[1]:.2g}: two trees share most "
        f"rows and agree. With leaves of one row it is {far[2]:.2g}, with an RMSE of "
        f"{tiny['rmse']:.2f} instead of {base['rmse']:.2f}."
    )
    sheet = _tree_by_tree(charts_of(strips, HETEROSCEDASTIC.describe(runs[1])), STILL)
    return ComputedStep(text, right, answer, sheet, notes)


def on_average() -> ComputedStep:
    """Does conformal prediction hold its level everywhere?"""
    settings = AVERAGE
    runs = [heteroscedastic_run(replace(settings, conformal=on)) for on in (False, True)]
    run, level = runs[1], settings.level
    behind = backdrop_of(run, near=True)
    strips, lines, overall, thirds = [], [], [], []
    edges = np.linspace(LOW, HIGH, FINE + 1)
    for i, view in enumerate(run.views):
        ends = zip(*(ends_of(view, each.settings, level) for each in runs), strict=True)
        lines_of = [*behind.lines(wide(level)), *interval_lines(behind, view, [*ends])]
        strips.append(behind.strip(label_of(view), lines_of))
        factors = (None, factor_of(view, level))
        held = np.stack([held_by_place(run, i, level, FINE, factor) for factor in factors])
        shown = 100 * np.column_stack([held, held[:, -1]])  # a step needs its right end
        dash = view.method == "conformal_forest"
        lines.append(StripLine(label_of(view), shown, _colour(view.method), dash, step=True))
        overall.append(float(held_by_place(run, i, level, 1, factors[1])[0]))
        thirds.append(held_by_place(run, i, level, THIRDS, factors[1]))
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
        charts_of(strips, HETEROSCEDASTIC.describe(run)),
        frame_label="stretched",
        frame_values=["no", "yes"],
        frames_per_second=1.0,
    )
    labels = [label_of(view).replace(",", "") for view in run.views]  # as they are listed
    factors_told = enumerated(
        [f"{label} {factor_of(v, level):.2f}" for label, v in zip(labels, run.views, strict=True)]
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
    scores = [run.numbers[method] for method in run.settings.methods]
    behind = backdrop_of(run)
    beside = [beside_strip("CRPS", "crps", scores), beside_strip("AUROC", "auroc", scores)]
    strips = [each_interval(run, behind), *beside]
    sheet = replace(
        charts_of(strips, HETEROSCEDASTIC.describe(run), columns=3, height=240),
        frame_label="method",
        frame_values=[numbers["label"] for numbers in scores],
        frames_per_second=0.8,
        start_frame=0,
    )
    claims = HETEROSCEDASTIC.judge(run)
    fails = " ".join(claim.paper for claim in claims if claim.verdict == "does not hold")
    pairs = [pair for numbers in scores for pair in paired(numbers, "auroc") if pair[0] == pair[0]]
    near = sum(abs(here - paper) <= CHANCE for paper, here in pairs)
    notes = (
        f"The true distribution has a CRPS of {scores[0]['truth_crps']:.3f} on these rows. A dot "
        f"on the dashed line has the paper's value. Of {len(pairs)} AUROCs, {near} are within "
        f"{CHANCE:g} of the table's. What does not hold: {fails or 'nothing.'}",
    )
    held = sum(claim.verdict == "holds" for claim in claims)
    both_known = [
        n for n in scores if not np.isnan(n.get("crps", np.nan) + n.get("paper_crps", np.nan))
    ]
    farthest = max(both_known, key=lambda numbers: abs(numbers["crps"] - numbers["paper_crps"]))
    text = (
        f"The paper's table has {len(scores)} methods that are fitted here. CRPS scores the "
        "prediction and its noise together; lower is better. Play the methods."
    )
    right = Between(-held / len(claims), (-0.999, -0.5))
    answer = (
        f"{held} of {len(claims)} hold. The largest difference in CRPS is that of "
        f"{farthest['label']}: {farthest['crps']:.2f} here and {farthest['paper_crps']:.2f} in the "
        "table."
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
