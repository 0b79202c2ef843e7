"""Random forests as ensembles, and MACAU's models in their leaves."""

from __future__ import annotations

from gbuq_core.knobs import Knob
from gbuq_core.methods.papers import GREY, MACAU, SGLB
from gbuq_core.methods.record import NOVELTIES, PARTS, Method, both_tasks

FOREST_KNOBS = (
    Knob("n_trees", "Trees", "integer", 100, 1, 10_000),
    Knob("max_leaves", "Leaves of a tree, at most", "integer", 31, 2, 32_768),
    Knob("min_child_samples", "Rows in a leaf, at least", "integer", 20, 1, 1_000_000),
    Knob(
        "subsample",
        "Subsample of each tree",
        "number",
        0.8,
        0.0,
        0.999,
        low_open=True,
        help="The share of the rows that a tree of a forest sees. Small shares make trees differ, "
        "which smooths their mean.",
    ),
)
_LEAF_MODEL = Knob("leaf_model", "Model in a leaf", "choice", "linear", choices=("linear", "basic"))
_TAIL = Knob(
    "tail",
    "Novelty beyond the rows",
    "choice",
    "rise",
    choices=("rise", "clip"),
    help="The authors' z-scores end at 5.2, ours go on rising.",
)
GROUP_KNOBS = (
    Knob("n_groups", "Members", "integer", 10, 2, 1000),
    Knob("trees_per_group", "Trees of a member", "integer", 100, 1, 100_000),
    Knob("max_depth", "Depth", "integer", 10, 1, 64),
)

_FORESTS, _MACAU = "gbuq_core.baselines:ForestEnsemble", "gbuq_core.macau:Macau"
_ALL = (*PARTS, *NOVELTIES, "members")
_OF_CLASSES = (*PARTS, *NOVELTIES)  # a tree's share of a class comes with a variance: no member

RECORDS = (
    Method(
        key="vrf",
        label="vRF",
        about="One random forest whose groups of trees are the members.",
        paper=SGLB,
        section="appendix C",
        colour=GREY,
        dash="dash",
        builders=both_tasks(_FORESTS, independent=False),
        yields=("knowledge", "members"),
        classes_yield=(*PARTS, "members"),
        knobs=GROUP_KNOBS,
    ),
    Method(
        key="forests",
        label="ten forests",
        about="Ten random forests, each of which is a member.",
        paper=SGLB,
        section="appendix C",
        colour=GREY,
        dash="dot",
        builders=both_tasks(_FORESTS, independent=True),
        yields=("knowledge", "members"),
        classes_yield=(*PARTS, "members"),
        knobs=GROUP_KNOBS,
    ),
    Method(
        key="macau",
        label="MACAU",
        about="A random forest with a model of its own in every leaf.",
        paper=MACAU,
        section="section 3",
        colour="#8c564b",
        builders=both_tasks(_MACAU),
        yields=_ALL,
        classes_yield=_OF_CLASSES,
        knobs=(_LEAF_MODEL, *FOREST_KNOBS, _TAIL),
        packages=("lightgbm",),
        forms=("macau_linear", "macau_basic"),
    ),
    Method(
        key="macau_linear",
        label="MACAU (linear)",
        about="A random forest with a Bayesian linear model in every leaf.",
        paper=MACAU,
        section="section 3.1",
        colour="#8c564b",
        dash="longdash",
        builders=both_tasks(_MACAU, leaf_model="linear"),
        yields=_ALL,
        classes_yield=_OF_CLASSES,
        knobs=(*FOREST_KNOBS, _TAIL),
        packages=("lightgbm",),
    ),
    Method(
        key="macau_basic",
        label="MACAU (basic)",
        about="A random forest with the mean and the variance of every leaf.",
        paper=MACAU,
        section="section 3.1",
        colour="#b5836b",
        dash="dash",
        builders=both_tasks(_MACAU, leaf_model="basic"),
        yields=_ALL,
        classes_yield=_OF_CLASSES,
        knobs=(*FOREST_KNOBS, _TAIL),
        packages=("lightgbm",),
    ),
)
