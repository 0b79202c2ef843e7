"""The Neighbours page in words, from its numbers; what IBUG cannot know included."""

from __future__ import annotations

from gbuq_core.experiments.neighbours.data import NeighboursData
from gbuq_core.experiments.neighbours.fit import NeighboursFit, NeighboursSearch, NeighboursView
from gbuq_core.experiments.neighbours.look import NeighboursLook, runs_flat
from gbuq_core.metrics import rmse
from gbuq_core.presentation import short

_HIGHER = 1.5  # times the scale elsewhere that counts as marking a region


def describe_neighbours(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView, look: NeighboursLook
) -> str:
    """The picture in words, from its numbers.

    Examples
    --------
    >>> from gbuq_core.experiments.neighbours.look import run_neighbours
    >>> from gbuq_core.experiments.neighbours.plan import NeighboursSettings
    >>> run = run_neighbours(NeighboursSettings(rows=200, trees=20))
    >>> describe_neighbours(run.fit, run.search, run.view, run.look)[:45]
    'Growing noise: LightGBM with 20 trees on 200 '
    """
    data = fit.data
    return " ".join(
        [
            f"{data.title}: {fit.plan.base.label} with {fit.n_trees:,} trees on "
            f"{len(data.y):,} rows. {describe_setting(fit, search, view)}",
            _describe_look(data, look),
            *([describe_empty(data, view)] if data.n_inputs else []),
            f"On {len(data.y_test):,} {'fresh' if data.n_inputs else 'held-out'} rows: RMSE "
            f"{short(view.test_rmse)}, NLL {short(view.test_nll)} nats, "
            f"CRPS {short(view.test_crps)}.",
        ]
    )


def describe_setting(fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView) -> str:
    """k, the trees that count and the calibration in words."""
    k, least, gamma, delta = view.setting
    text = f"k = {k}, {'the best on the validation rows' if view.tuned else 'as set'}"
    trees = f"{search.n_trees:,} trees count" if search.n_trees > 1 else "one tree counts"
    if search.n_trees < fit.n_trees:
        trees += f" (the {search.order} ones)"
    if not view.settings.calibrate:
        how = "The neighbours' std is not calibrated"
    elif gamma == 1.0 and delta == 0.0:
        how = "Calibration does not change the neighbours' std"
    elif delta == 0.0:
        how = f"Calibration multiplies the neighbours' std by {gamma:g}"
    else:
        how = f"Calibration adds {delta:g} to the neighbours' std"
    return f"{text}; {trees}. {how}. The std used is at least {short(least)}."


def _describe_look(data: NeighboursData, look: NeighboursLook) -> str:
    spread = float(look.targets.std())
    text = (
        f"At {look.title} the prediction is {short(look.loc, 4)} with a scale of "
        f"{short(look.scale)}. The targets of its {look.k} neighbours range from "
        f"{short(look.targets.min(), 4)} to {short(look.targets.max(), 4)} (std {short(spread)}). "
        f"The first neighbour shares a leaf in {look.affinities[0]:,} of {look.n_trees:,} trees, "
        f"the last in {look.cut:,}."
    )
    if look.n_tied:
        text += (
            f" {look.n_tied:,} more training rows share as many trees as the last; ties go to the "
            "lower row number."
        )
    text += (
        " With half or double that k the std changes by at most 20 %."
        if runs_flat(look)
        else " The std depends on k: with half or double that k it changes by more than 20 %."
    )
    if look.target is not None:
        away = abs(look.target - look.loc) / look.scale
        text += (
            f" The observed target is {short(look.target, 4)}, {short(away, 2)} scales from the "
            "prediction."
        )
    if look.class_shares:
        most, share = max(look.class_shares.items(), key=lambda pair: pair[1])
        text += f" {100 * share:.0f} % of the neighbours are {most}. The model did not see that."
    return text


def describe_empty(data: NeighboursData, view: NeighboursView) -> str:
    """What the scale does where no rows are; IBUG has no knowledge uncertainty to rise there.

    Examples
    --------
    >>> from gbuq_core.experiments.neighbours.look import run_neighbours
    >>> from gbuq_core.experiments.neighbours.plan import NeighboursSettings
    >>> run = run_neighbours(NeighboursSettings(rows=200, trees=20))
    >>> describe_empty(run.fit.data, run.view).startswith("One model has no members")
    True
    """
    fitted = ", calibrated on errors where rows are" if view.settings.calibrate else ""
    none = (
        "One model has no members that could disagree, so its knowledge uncertainty is 0 by "
        "construction. IBUG's scale is the std of k neighbours' targets, "
        f"sqrt(mean((y_i - mean y)^2)){fitted}."
    )
    if view.grid_scale is None or view.grid_loc is None or data.in_support is None:
        return none
    if data.true_std is None or data.true_mean is None or data.in_support.all():
        return none
    out, near = ~data.in_support, data.in_support
    error = rmse(data.true_mean[out], view.grid_loc[out])
    scale, inside = float(view.grid_scale[out].mean()), float(view.grid_scale[near].mean())
    if scale >= _HIGHER * inside:
        says = "The scale is higher there, because the nearest rows' targets spread more"
    else:
        says = "The scale does not show that rows are missing"
    return (
        f"{none} Where there are no training rows, the scale averages {short(scale)} "
        f"({short(inside)} where there are) and the true noise "
        f"{short(data.true_std[out].mean())}. The root mean squared error of the prediction there "
        f"is {short(error)}. {says}."
    )
