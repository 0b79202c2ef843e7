"""Boosted ensembles: SGB, SGLB, virtual, cyclical and stacked, by this project and by CatBoost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gbuq_core.knobs import Knob
from gbuq_core.methods.papers import CYCLICAL, GREY, SGLB, STACKING
from gbuq_core.methods.record import PARTS, Builder, Method, both_tasks

_MOST_TREES = 100_000
_TREES = Knob("n_trees", "Trees", "integer", 1000, 1, _MOST_TREES)
_SHARED = (
    _TREES,
    Knob("depth", "Depth", "integer", 6, 1, 12),
    Knob("learning_rate", "Learning rate", "number", 0.1, 0.0, 1.0, low_open=True),
    Knob(
        "random_strength",
        "Random strength",
        "number",
        1.0,
        0.0,
        1e6,
        help="Noise on the scores of splits, strong in the first trees and fading.",
    ),
)
_CYCLICAL_TREES = replace(_TREES, low=2)  # of the shortest cycle
_CYCLICAL_RATE = replace(_SHARED[2], default=0.05)
_SUBSAMPLE = Knob("subsample", "Subsample of each tree", "number", 0.5, 0.0, 1.0, low_open=True)
_CYCLICAL = (_CYCLICAL_TREES, _SHARED[1], _CYCLICAL_RATE, _SHARED[3])
_BINS = Knob("max_bins", "Bins of a numeric feature", "integer", 128, 2, 255)
_MEMBERS = Knob("n_members", "Members", "integer", 10, 1, 1000, help="Independent models.")
_VIRTUAL = (
    Knob(
        "truncation_step",
        "Truncation step K",
        "integer",
        50,
        1,
        _MOST_TREES,
        unit="trees",
        help="A virtual ensemble's members have K, 2K, ... trees.",
    ),
    Knob(
        "truncation_start",
        "Truncation start",
        "number",
        0.5,
        0.0,
        1.0,
        help="The share of the trees before the first member.",
    ),
)
_LANGEVIN = (
    Knob(
        "temperature",
        "Diffusion temperature",
        "ladder",
        "catboost",
        0.0,
        low_open=True,
        choices=("posterior", 1.0, 10.0, 100.0, 1000.0, 10_000.0, "catboost"),
        help="A lower value adds more noise to the training. catboost sets it to the number of "
        "rows. posterior sets it to 1, which samples from the posterior. At posterior and at "
        "numbers the noise follows each row's predicted uncertainty. At catboost, and in CatBoost "
        "itself, it has one size for all rows.",
    ),
    Knob(
        "leaf_noise",
        "Noise in leaves",
        "choice",
        None,
        choices=(None, True, False),
        help="Adds Langevin noise to the leaf values, not only to the choice of splits. Automatic "
        "is off at the temperature catboost, as in CatBoost's own code, and on at all others.",
    ),
)
_CYCLES = (
    Knob(
        "cycle_length",
        "Cycle length C",
        "integer",
        200,
        2,
        _MOST_TREES,
        unit="trees",
        help="Gradients are scaled from the largest alpha down to the smallest in each cycle.",
    ),
    Knob(
        "burn_in_cycles",
        "Burn-in, first cycles left out",
        "integer",
        0,
        0,
        _MOST_TREES // 2 - 1,
        help="The first cycles give no member.",
    ),
    Knob(
        "alpha_max",
        "Largest alpha",
        "number",
        10.0,
        0.0,
        1000.0,
        low_open=True,
        help="At the start of a cycle.",
    ),
    Knob("alpha_min", "Smallest alpha", "number", 1.0, 0.0, 1000.0, help="1 is plain SGLB."),
    Knob(
        "noise_free_exploration",
        "No noise while exploring",
        "switch",
        False,
        help="A variant of the cyclical paper's appendix.",
    ),
)
_MASK = (
    Knob(
        "mask_prob",
        "Rows kept while exploring",
        "number",
        0.66,
        0.0,
        1.0,
        low_open=True,
        help="The chance of a row to have a gradient in this cycle.",
    ),
    Knob(
        "exploration_fraction",
        "Exploring part of a cycle",
        "number",
        0.9,
        0.0,
        1.0,
        help="cbSGLB hides rows during this part.",
    ),
)

_MIXTURE = (*PARTS, "members")


def _stacked(task: str) -> Builder:
    return Builder(
        of=f"gbuq_core:Stacked{task}",
        fixed={
            "estimator": Builder(of=f"gbuq_core:BoostedEnsemble{task}", fixed={"capacity": "auto"})
        },
        within=("n_members", "n_trees", "depth", "learning_rate"),
    )


def _ensembles(**fixed: Any) -> dict[str, Builder]:
    # Without stopping: what the papers compare.
    return both_tasks("gbuq_core:BoostedEnsemble", **fixed, stopping=None)


# By their names; a knob has the same limits in all of these methods, and the ensembles check them.
KNOBS = {
    knob.key: knob
    for knob in (_MEMBERS, _BINS, *_SHARED, *_VIRTUAL, *_LANGEVIN, *_CYCLES, *_MASK, _SUBSAMPLE)
}

RECORDS = (
    Method(
        key="sgb",
        label="SGB",
        about="Independent boosted models, each tree on a random half of the rows.",
        paper=SGLB,
        section="section 3",
        colour="#7f7f7f",
        builders=_ensembles(method="sgb", ensemble="independent"),
        yields=_MIXTURE,
        classes_yield=_MIXTURE,
        knobs=(
            _MEMBERS,
            *_SHARED,
            _SUBSAMPLE,
        ),
    ),
    Method(
        key="sglb",
        label="SGLB",
        about="An ensemble of boosted models trained with Langevin noise.",
        paper=SGLB,
        section="section 3",
        colour="#0072b2",
        builders=_ensembles(method="sglb", ensemble="independent"),
        yields=_MIXTURE,
        classes_yield=_MIXTURE,
        knobs=(_MEMBERS, *_SHARED, *_LANGEVIN),
    ),
    Method(
        key="virtual_sglb",
        label="virtual SGLB",
        about="One boosted model trained with Langevin noise, whose truncations are the members.",
        paper=SGLB,
        section="section 3, equation 15",
        colour="#56b4e9",
        builders=_ensembles(method="sglb", ensemble="virtual"),
        yields=_MIXTURE,
        classes_yield=_MIXTURE,
        knobs=(*_SHARED, *_VIRTUAL, *_LANGEVIN),
    ),
    Method(
        key="csglb",
        label="cSGLB",
        about="One long boosted model with cyclical gradients, and a member at the end of every "
        "cycle.",
        paper=CYCLICAL,
        section="algorithm 1, equation 7",
        colour="#e69f00",
        builders=_ensembles(method="csglb"),
        yields=_MIXTURE,
        classes_yield=_MIXTURE,
        knobs=(
            *_CYCLICAL,
            *_CYCLES,
            *_MASK[1:],
            *_LANGEVIN,
        ),
    ),
    Method(
        key="cbsglb",
        label="cbSGLB",
        about="cSGLB that sees a random part of the rows while it explores.",
        paper=CYCLICAL,
        section="algorithm 1, section 5.1",
        colour="#d55e00",
        builders=_ensembles(method="cbsglb"),
        yields=_MIXTURE,
        classes_yield=_MIXTURE,
        knobs=(
            *_CYCLICAL,
            *_CYCLES,
            *_MASK,
            *_LANGEVIN,
        ),
    ),
    Method(
        key="stacked",
        label="Stacked",
        about="SGLB with two clocks, the rows like each row, and a small Gaussian process, weighed "
        "by what they say of rows that none of them has seen.",
        paper=STACKING,
        section="equation 4",
        colour="#0072b2",
        dash="longdash",
        builders={
            "regression": _stacked("Regressor"),
            "classification": _stacked("Classifier"),
        },
        yields=PARTS,
        classes_yield=PARTS,
        knobs=(_MEMBERS, *_SHARED[:3]),
    ),
    Method(
        key="virtual_catboost",
        label="virtual CatBoost",
        about="Virtual SGLB, trained by CatBoost's own code.",
        paper=SGLB,
        section="section 3, equation 15",
        colour=GREY,
        dash="longdashdot",
        builders=_ensembles(method="sglb", ensemble="virtual", engine="catboost"),
        yields=_MIXTURE,
        classes_yield=_MIXTURE,
        knobs=(*_SHARED, *_VIRTUAL, _LANGEVIN[0]),
        packages=("catboost",),
    ),
)
