"""Lesson: which training rows a prediction comes from, and what they know of its uncertainty.

Brophy and Lowd, "Instance-based uncertainty estimation for gradient-boosted regression trees"
(IBUG, 2022), sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from demos.asking import Between, Largest, both_of
from demos.lesson import ComputedStep, Lesson, Step
from demos.neighbours.parts import (
    described_maps,
    over_k,
    played_families,
    same_colours,
    scale_panel,
    score_of,
    viewed,
    with_strips,
)
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.ibug import FAMILIES
from gbuq_core.metrics import auroc
from gbuq_core.study.neighbours_fit import (
    ORDERS,
    NeighboursSettings,
    affinity_by_trees,
    rank_families,
    run_neighbours,
    search_neighbours,
    view_neighbours,
)
from gbuq_core.study.neighbours_picture import IBUG, describe_neighbours, reasons_sheet
from gbuq_core.synthetic import ripples_truth

NOISY_SPOT, QUIET, HOLE = (0.5, -0.5), (-0.5, -0.5), (-0.35, 0.35)
SPOT = NeighboursSettings(data="ripples", rows=2000, x1=NOISY_SPOT[0], x2=NOISY_SPOT[1])
STILL = replace(SPOT, x1=QUIET[0], x2=QUIET[1])
FEW = replace(SPOT, k=3, calibrate=False)
CALIBRATED = replace(SPOT, k=5)
LAST = replace(SPOT, tau=5, order="last")
SKEWED = NeighboursSettings(data="diabetes", family="best", diabetes_row=13)
EMPTY = replace(SPOT, x1=HOLE[0], x2=HOLE[1])
MOST_FRAMES_K = 61
COVERED_K = (3, 5, 7, 9, 11, 15, 21, 31, 41, 61, 91, 121, 151)
COUNTS = (1, 2, 5, 10, 20, 50, 100)
_ORDER_COLOURS = dict(zip(ORDERS, (OKABE_ITO[0], OKABE_ITO[1], OKABE_ITO[3]), strict=True))


def shared_leaves() -> ComputedStep:
    """Affinity is a count of shared leaves."""
    run = run_neighbours(SPOT)
    look, data = run.look, run.fit.data
    grown = affinity_by_trees(run.fit, look.x)
    trees = np.arange(1, len(grown) + 1)
    sheet = described_maps(run)
    shape = data.grid_shape
    share = (grown / trees[:, None]).reshape(len(grown), *shape)
    # Only the neighbours' dots: those of all rows would hide the boxes.
    growing = replace(sheet.panels[2], values=share, points=sheet.panels[1].points)
    sheet = replace(
        sheet, panels=[*sheet.panels[:2], growing], frame_label="tree", frame_values=trees.tolist()
    )
    alike = int((look.row_affinities >= 0.5 * look.n_trees).sum())
    near_by_distance = np.argsort(np.hypot(*(data.X - look.x).T), kind="stable")[: look.k]
    both = len(np.intersect1d(near_by_distance, look.indices))
    notes = (
        "The third map plays, for each place, the share of the trees so far in which it lies in "
        f"the ring's box. The first box holds {100 * float((grown[0] > 0).mean()):.0f} % of the "
        "square, and all boxes add up to a hill. Even the least alike row shares "
        f"{look.row_affinities.min()} of {look.n_trees} trees with the ring; the neighbours share "
        f"{look.affinities[0]} down to {look.cut}.",
    )
    still = [replace(reasons_sheet(run).strips[0], mode="frame")]  # of all trees
    text = (
        f"Each of {look.n_trees} trees cuts the square into boxes. The affinity of two rows "
        "counts the trees in which they share one. The ring is a new row."
    )
    right = Between(alike / len(data.y), (0.02, 0.2))
    answer = (
        f"{alike} of {len(data.y):,}. The {look.k} with the highest affinity, in orange, are the "
        f"neighbours; {both} are also among the nearest. A box ends where y changes."
    )
    return ComputedStep(text, right, answer, with_strips(sheet, still), notes)


def two_places() -> ComputedStep:
    """The scale is the spread of the neighbours' targets, for better or worse."""
    noisy, run = run_neighbours(SPOT), run_neighbours(STILL)
    truths = [ripples_truth([place]) for place in (NOISY_SPOT, QUIET)]
    noise = [float(np.sqrt(truth.variance[0])) for truth in truths]
    slope = float(ripples_truth(run.look.features).mean.std())
    far = float(np.hypot(*(run.look.features - run.look.x).T).max())
    notes = (
        f"Here {run.look.k} neighbours count, and a small correction follows. The last chart shows "
        "the scale for every k.",
    )
    text = (
        "A prediction's scale is the standard deviation of its neighbours' targets. The true "
        f"noise is {noise[0]:.2g} in the noisy spot and {noise[1]:.2g} here."
    )
    right = Between(float(run.look.scale) / noise[1], (0.8, 1.25))
    answer = (
        f"It is {run.look.scale:#.2g} here and {noisy.look.scale:#.2g} in the spot. Neighbours "
        f"lie up to {far:.2g} away, where the true mean differs (std {slope:.2g}). IBUG counts "
        "that as noise, so its map shows the ripples."
    )
    sheet, ks = over_k(run, [k for k in COVERED_K if k <= MOST_FRAMES_K])
    alike, scale = reasons_sheet(run).strips[:2]
    strips = [replace(alike, mode="frame"), replace(scale, frame_x=np.array(ks, float))]
    return ComputedStep(text, right, answer, with_strips(sheet, strips), notes)


def how_many() -> ComputedStep:
    """Few neighbours are unreliable, many are not alike."""
    run = run_neighbours(FEW)
    ks = np.arange(2, MOST_FRAMES_K + 1)
    settings = run.settings
    search = search_neighbours(run.fit, replace(settings, k=MOST_FRAMES_K))
    views = [view_neighbours(run.fit, search, replace(settings, k=int(k))) for k in ks]
    tuning = search.tuning
    best = int(tuning.n_neighbors[tuning.best])
    nll = np.array([view.test_nll for view in views])
    tried = np.full(len(ks), np.nan)
    places = np.searchsorted(ks, tuning.n_neighbors[tuning.n_neighbors <= ks[-1]])
    tried[places] = tuning.nll[: len(places)]
    sheet = described_maps(run)
    scales = np.array([view.grid_scale for view in views])
    top = float(run.fit.data.true_std.max())
    panels = [
        replace(sheet.panels[0], limits=(0.0, top)),
        replace(scale_panel(sheet, "Estimated scale", scales), limits=(0.0, top)),
    ]
    strip = Strip(
        title="NLL without calibration",
        x=ks,
        lines=[
            StripLine("fresh rows", nll, IBUG.colour),
            StripLine("validation rows, the k that are tried", tried, "text", dots=True),
        ],
        x_label="k, neighbours that count",
        y_label="nats",
        y_limits=(float(np.nanmin([nll, tried])) - 0.1, 1.0),
        marks=[best],
        mark_label=f"chosen: k = {best}",
        frame_x=ks,
    )
    at = {k: views[k - 2] for k in (3, best, MOST_FRAMES_K)}
    errors = {k: score_of(run, view)["scale_error_inside"] for k, view in at.items()}
    notes = (
        f"A fifth of the rows is kept aside: IBUG tries {len(tuning.n_neighbors)} values of k on "
        "them, and fits the trees again to all rows. The error of the scale against the true "
        f"noise is {errors[3]:#.2g}, {errors[best]:#.2g} and {errors[MOST_FRAMES_K]:.2g}. "
        f"k = {int(ks[nll.argmin()])} would have been best for fresh rows, with {nll.min():.2f}.",
    )
    sheet = replace(
        sheet,
        panels=panels,
        columns=2,
        frame_label="k =",
        frame_values=ks.tolist(),
        start_frame=best - 2,
    )
    text = (
        f"Play k, the number of neighbours, from 2 to {MOST_FRAMES_K}. The chart scores the "
        "scales on fresh rows by NLL; lower is better."
    )
    right = Largest(tuple(at[k].test_nll for k in (3, best, MOST_FRAMES_K)))
    answer = (
        f"NLL: {at[3].test_nll:.2f} for 3, {at[best].test_nll:.2f} for the tuned {best}, "
        f"{at[MOST_FRAMES_K].test_nll:.2f} for {MOST_FRAMES_K}. Three rows sometimes agree by "
        "chance: the scale is then near zero, and one wrong prediction costs much. Many "
        "neighbours are not alike."
    )
    return ComputedStep(text, right, answer, with_strips(sheet, [strip]), notes)


def one_number_for_all() -> ComputedStep:
    """Calibration corrects the level of the scale, not its map."""
    run = run_neighbours(CALIBRATED)
    search = search_neighbours(run.fit, replace(run.settings, k=COVERED_K[-1]))
    views = {
        calibrate: [
            view_neighbours(run.fit, search, replace(run.settings, k=k, calibrate=calibrate))
            for k in COVERED_K
        ]
        for calibrate in (False, True)
    }
    scores = {on: [score_of(run, view) for view in of_noise] for on, of_noise in views.items()}
    sheet = described_maps(run)
    panels = same_colours(
        [
            sheet.panels[0],
            *(
                scale_panel(sheet, name, np.array([view.grid_scale for view in views[on]]))
                for name, on in (("Not calibrated", False), ("Calibrated", True))
            ),
        ]
    )
    raw, done = (100.0 * np.array([s["coverage"] for s in scores[on]]) for on in (False, True))
    strip = Strip(
        title="Fresh rows within the 90 % interval",
        x=np.array(COVERED_K, float),
        lines=[
            StripLine("not calibrated", raw, "text"),
            StripLine("calibrated", done, IBUG.colour),
            StripLine("as promised", np.full(len(raw), 90.0), "text", dash=True),
        ],
        x_label="k, neighbours that count",
        y_label="%",
        frame_x=np.array(COVERED_K, float),
    )
    at = COVERED_K.index(5)
    before, after = scores[False][at], scores[True][at]
    held, holds = before["coverage"], after["coverage"]
    error, less = before["scale_error_inside"], after["scale_error_inside"]
    _, _, gamma, delta = run.view.setting
    how = f"adds {delta:g} to every scale" if delta else f"multiplies every scale by {gamma:g}"
    notes = (
        f"For k = {run.view.k} calibration {how}, and the NLL of fresh rows falls from "
        f"{before['nll']:.2f} to {after['nll']:.2f}. It makes a bad k less harmful: over "
        f"{len(COVERED_K)} values of k the coverage lies from {raw.min():.0f} to {raw.max():.0f} % "
        f"without calibration and from {done.min():.0f} to {done.max():.0f} % with it. It is not "
        "exactly 90 % because calibration minimises NLL.",
    )
    text = (
        "About 90 of 100 intervals at 90 % should hold their row. Calibration multiplies all "
        "scales by one number, or adds one. Play k."
    )
    right = Largest(
        both_of(
            abs(held - 0.9) - abs(holds - 0.9) - 0.02,
            (before["scale_error_inside"] - after["scale_error_inside"])
            / before["scale_error_inside"]
            - 0.05,
        )
    )
    answer = (
        f"With k = {run.view.k}, intervals hold {100 * holds:.0f} % instead of "
        f"{100 * held:.0f} %. The map's error goes from "
        f"{error:.2g} to {less:.2g}. One number corrects "
        "the level of the scale, not where it is high or low."
    )
    return ComputedStep(
        text,
        right,
        answer,
        with_strips(
            replace(
                sheet, panels=panels, frame_label="k =", frame_values=COVERED_K, start_frame=at
            ),
            [strip],
        ),
        notes,
    )


def trees_that_count() -> ComputedStep:
    """The first trees tell rows apart best."""
    run = run_neighbours(LAST)
    views = {order: [viewed(run, order=order, tau=count) for count in COUNTS] for order in ORDERS}
    everything = views["first"][-1]
    nll = {order: np.array([view.test_nll for view in path]) for order, path in views.items()}
    sheet = described_maps(run)
    at, more = COUNTS.index(LAST.tau), COUNTS.index(20)
    panels = same_colours(
        [
            scale_panel(
                sheet,
                f"{order.capitalize()} trees",
                np.array([view.grid_scale for view in views[order]]),
            )
            for order in ORDERS
        ]
    )
    strip = Strip(
        title="NLL of fresh rows",
        x=np.array(COUNTS, float),
        lines=[StripLine(order, nll[order], _ORDER_COLOURS[order]) for order in ORDERS],
        x_label="trees that count",
        y_label="nats",
        frame_x=np.array(COUNTS, float),
    )
    ks = {order: views[order][at].k for order in ORDERS}
    notes = (
        f"With {COUNTS[more]} trees the NLL is {nll['first'][more]:.2f}, "
        f"{nll['random'][more]:.2f} and {nll['last'][more]:.2f}: the order matters less. Tuning "
        f"took k = {ks['first']}, {ks['random']} and {ks['last']} for {COUNTS[at]} trees.",
    )
    text = (
        f"Counting leaves in all {run.fit.n_trees} trees takes time. Early trees predict y "
        "itself; late ones predict what the earlier ones left over. Play their number."
    )
    right = Largest(tuple(-float(nll[order][at]) for order in ("first", "random", "last")))
    answer = (
        f"NLL of fresh rows with {COUNTS[at]} trees: {nll['first'][at]:.2f} for the first, "
        f"{nll['random'][at]:.2f} for random, {nll['last'][at]:.2f} for the last ones; "
        f"{everything.test_nll:.2f} for all. A shared leaf of a late tree says less about y."
    )
    return ComputedStep(
        text,
        right,
        answer,
        with_strips(
            replace(sheet, panels=panels, frame_label="trees", frame_values=COUNTS, start_frame=at),
            [strip],
        ),
        notes,
    )


def skewed_neighbours() -> ComputedStep:
    """Nine families over the same targets, and the danger of choosing one."""
    run = run_neighbours(SKEWED)
    fit, look, k = run.fit, run.look, run.view.k
    ranked = rank_families(fit, run.search, run.view)
    fresh = fit.model.score_families(
        run.search.near_test, fit.data.y_test, n_neighbors=k, calibrate=run.settings.calibrate
    )
    chosen = dict(zip(ranked.families, ranked.nll, strict=True))
    held_out = dict(zip(fresh.families, fresh.nll, strict=True))
    label = {name: family.label.lower() for name, family in FAMILIES.items()}
    below = float(fit.data.y.min())
    under = look.y_grid <= below
    impossible = float(np.trapezoid(look.densities["normal"][under], look.y_grid[under]))
    sheet = PanelSheet(panels=[], alt=describe_neighbours(run), name="neighbours")
    played, names = played_families(run)
    strips = [played, *(replace(strip, mode="frame") for strip in reasons_sheet(run).strips[:2])]
    sheet = replace(
        sheet,
        frame_label="family",
        frame_values=names,
        frames_per_second=1.0,
        start_frame=names.index(label["normal"]),
    )
    notes = (
        "The target is how far diabetes progressed within a year. Eight families keep the "
        "prediction as their mean and the neighbours' spread; the kernel density takes both from "
        f"the neighbours. The normal puts {100 * impossible:.0f} % of its weight below {below:g}, "
        f"the lowest training target. On the validation rows the {label[ranked.best]} has an NLL "
        f"of {chosen[ranked.best]:.2f} nats and the normal {chosen['normal']:.2f}.",
    )
    text = (
        f"One held-out patient's {k} neighbours pile up on the left. IBUG fits nine families to "
        f"such targets and takes the best on {len(fit.model.y_validation_)} validation rows."
    )
    right = Between(held_out[ranked.best] - held_out[fresh.best], (1e-9,))
    answer = (
        f"It chose the {label[ranked.best]}. On {len(fit.data.y_test)} held-out rows that has an "
        f"NLL of {held_out[ranked.best]:.2f} nats, the normal {held_out['normal']:.2f}, the "
        f"{label[fresh.best]} {held_out[fresh.best]:.2f}. With nine candidates and few rows, the "
        "choice is partly luck."
    )
    return ComputedStep(text, right, answer, with_strips(sheet, strips), notes)


def nothing_there() -> ComputedStep:
    """A scale is not knowledge: the hole does not show in it."""
    run = run_neighbours(EMPTY)
    data, look, view = run.fit.data, run.look, run.view
    empty = ~data.in_support
    error = np.abs(view.grid_loc - data.true_mean)
    nearest = run.fit.model.find_neighborhood(data.grid, 2).affinities[:, 0]
    sheet, _ = over_k(run, COVERED_K)
    wrong = scale_panel(sheet, "Error of the prediction", error)
    wrong = replace(wrong, accent=None, unit=data.unit)  # the others are stds
    panels = [*same_colours([*sheet.panels[:2], wrong])]
    far = np.hypot(*(look.features - look.x).T)
    truth = ripples_truth([HOLE])
    notes = (
        "As a detector of the disc, the scale has an AUROC of "
        f"{auroc(empty, view.grid_scale):.2f}, where 0.5 is chance, and the affinity "
        f"{auroc(empty, -nearest):.2f}; IBUG does not use it. At the ring IBUG says "
        f"{look.loc:.2f} \u00b1 {look.scale:.2f}, and the truth is {truth.mean[0]:.2f}. Its "
        f"{look.k} neighbours are {far.min():.2g} to {far.max():.2g} away. One model has no "
        "members that could disagree, so its knowledge uncertainty is 0 by construction.",
    )
    text = (
        "No training row lies in the hatched disc. The noise there is small, but the model has "
        "never seen its ripples."
    )
    right = Between(
        float(view.grid_scale[empty].mean() / view.grid_scale[~empty].mean()), (0.9, 1.1)
    )
    answer = (
        f"It averages {view.grid_scale[empty].mean():.2g} in the disc and "
        f"{view.grid_scale[~empty].mean():.2g} elsewhere; the error is {error[empty].mean():.2g} "
        f"and {error[~empty].mean():.2g}. Neighbours from the rim agree. Affinity knows better: "
        f"the nearest row shares {nearest[empty].mean():.0f} trees, elsewhere "
        f"{nearest[~empty].mean():.0f}."
    )
    return ComputedStep(text, right, answer, replace(sheet, panels=panels), notes)


LESSON = Lesson(
    name="neighbours",
    title="Which training rows a prediction comes from",
    lead="Seven pictures of one method, about ten minutes. All numbers are computed as you read.",
    page="neighbours",
    source="After Brophy and Lowd, Instance-based uncertainty estimation for gradient-boosted "
    "regression trees, sections 3 and 4 (arXiv 2205.11412).",
    steps=(
        Step(
            "Shared leaves",
            "How many of all rows share half the trees with it?",
            ("Under 2 %", "2 to 20 %", "Over 20 %"),
            SPOT,
            shared_leaves,
        ),
        Step(
            "A quiet place",
            "What is the scale here?",
            ("Too small", "About right", "Too large"),
            STILL,
            two_places,
        ),
        Step(
            "How many neighbours", "Which k is worst?", ("3", "The tuned one", "61"), FEW, how_many
        ),
        Step(
            "One number for all",
            "What does calibration correct?",
            ("Coverage and map", "Coverage only", "The map only", "Neither"),
            CALIBRATED,
            one_number_for_all,
        ),
        Step(
            "Which trees count",
            "Which five trees do best alone?",
            ("The first", "Random ones", "The last"),
            LAST,
            trees_that_count,
        ),
        Step(
            "Skewed neighbours",
            "Is its choice also the best on held-out rows?",
            ("Yes", "No"),
            SKEWED,
            skewed_neighbours,
        ),
        Step(
            "Nothing there",
            "What is the scale in the disc?",
            ("Smaller", "About the same", "Larger"),
            EMPTY,
            nothing_there,
        ),
    ),
)
