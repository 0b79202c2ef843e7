"""The Neighbours page in words, from its numbers; what IBUG cannot know included."""

from __future__ import annotations

from gbuq_core.experiments.neighbours.data import NeighboursData
from gbuq_core.experiments.neighbours.fit import NeighboursFit, NeighboursSearch, NeighboursView
from gbuq_core.experiments.neighbours.look import NeighboursLook, runs_flat
from gbuq_core.experiments.neighbours.plan import LIBRARIES
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
            f"{data.title}: {LIBRARIES[fit.plan.library].label} with {fit.n_trees:,} trees on "
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
        how = "the neighbours' std is not calibrated"
    elif gamma == 1.0 and delta == 0.0:
        how = "calibration leaves the neighbours' std as it is"
    elif delta == 0.0:
        how = f"calibration multiplies the neighbours' std by {gamma:g}"
    else:
        how = f"calibration adds {delta:g} to the neighbours' std"
    return f"{text}; {trees}; {how}, which is at least {short(least)}."


def _describe_look(data: NeighboursData, look: NeighboursLook) -> str:
    spread = float(look.targets.std())
    text = (
        f"At {look.title} the prediction is {short(look.loc, 4)} with a scale of "
        f"{short(look.scale)}: its {look.k} neighbours' targets range from "
        f"{short(look.targets.min(), 4)} to {short(look.targets.max(), 4)} (std {short(spread)}), "
        f"the nearest shares {look.affinities[0]:,} of {look.n_trees:,} trees and the last "
        f"{look.cut:,}."
    )
    if look.n_tied:
        text += (
            f" {look.n_tied:,} more training rows share as many trees as the last; the lower row "
            "number decides."
        )
    text += (
        " From half to double k the std stays within a fifth of that."
        if runs_flat(look)
        else " The std depends on k: with half or double k it differs by more than a fifth."
    )
    if look.target is not None:
        away = abs(look.target - look.loc) / look.scale
        text += f" Observed was {short(look.target, 4)}, {short(away, 2)} scales away."
    if look.class_shares:
        most, share = max(look.class_shares.items(), key=lambda pair: pair[1])
        text += f" Of the neighbours {100 * share:.0f} % are {most}, which the model was not told."
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
        "One model has no members that could disagree, so knowledge uncertainty is 0 by "
        "construction: IBUG's scale is the std of k neighbours' targets, "
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
        says = "the scale is higher there, as the nearest rows' targets spread more"
    else:
        says = "the scale does not tell that rows are missing"
    return (
        f"{none} Where there are no training rows the scale averages {short(scale)} "
        f"({short(inside)} where there are), the true noise "
        f"{short(data.true_std[out].mean())}, and the prediction is off by {short(error)} (root "
        f"mean square): {says}."
    )
