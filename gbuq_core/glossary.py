"""The one place for names, one-sentence definitions and units; pages take their labels from here.

All texts are plain: no Markdown, no formulae, safe to show anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

UNCERTAINTY_KINDS = ("total", "data", "knowledge")
VIEWS = ("std", "variance")

STD_CAVEAT = (
    "Standard deviations do not add up: the variances do, total = data + knowledge, "
    "so the total std is smaller than the sum of the other two."
)


class Term(NamedTuple):
    """A word of this field: its label in sentence case, its meaning, its unit if it has one."""

    label: str
    definition: str
    unit: str = ""


_TERMS = {
    "total": Term(
        "Total uncertainty",
        "How uncertain the prediction is as a whole: data plus knowledge uncertainty.",
    ),
    "data": Term(
        "Data uncertainty",
        "Noise or class overlap in the data, which more rows like these do not reduce.",
    ),
    "knowledge": Term(
        "Knowledge uncertainty",
        "How much the members of the ensemble disagree: independent models disagree where they saw "
        "few rows, which more rows reduce, and truncations of one model need not.",
    ),
    "unfamiliarity": Term(
        "Unfamiliarity",
        "How unlike the training rows a row is, from 0 to 1, whatever model scores it; a tenth of "
        "ordinary rows is above 0.9.",
    ),
    "times_beyond": Term(
        "Times beyond",
        "How many times as far from the training rows a row is as the farthest ordinary one.",
    ),
    "member": Term("Member", "One model of the ensemble, with predictions of its own."),
    "ensemble": Term("Ensemble", "Several models of the same data whose disagreement is measured."),
    "virtual_ensemble": Term(
        "Virtual ensemble",
        "One boosted model cut off after several numbers of trees; each cut is a member.",
    ),
    "truncation_step": Term(
        "Truncation step K", "How many trees apart two members of a virtual ensemble are.", "trees"
    ),
    "truncation_start": Term(
        "Truncation start",
        "The share of the trees before the first member of a virtual ensemble.",
    ),
    "mean_clock": Term(
        "Mean clock",
        "The number of trees that the mean is taken from; the least squared error on unseen rows "
        "chooses it.",
        "trees",
    ),
    "scale_clock": Term(
        "Scale clock",
        "The number of trees that the noise is taken from; the likelihood on unseen rows chooses "
        "it, with one factor for every std.",
        "trees",
    ),
    "diffusion_temperature": Term(
        "Diffusion temperature",
        "Sets the Langevin noise of SGLB: the larger this number, the smaller the noise.",
    ),
    "cycle": Term(
        "Cycle",
        "One period of a cyclical schedule: exploration with large steps, then sampling.",
        "trees",
    ),
    "affinity": Term(
        "Affinity", "The number of trees in which two rows fall into the same leaf.", "trees"
    ),
    "neighbours": Term("Neighbours", "The training rows with the highest affinity to a row."),
    "posterior_draw": Term(
        "Posterior draw", "One function drawn from a model's posterior; a draw, not a member."
    ),
    "leaf_index": Term("Leaf index", "The number of the leaf that a row reaches in a tree."),
    "novelty": Term(
        "Novelty",
        "A row's distance from the training rows of its leaves, calibrated on those rows.",
        "z-score",
    ),
    "conditional_novelty": Term(
        "Conditional novelty",
        "Novelty over only those features that lead to the row's leaves.",
        "z-score",
    ),
    "inference_novelty": Term(
        "Inference novelty",
        "How unusual a prediction is among its leaves' predictions for their training rows.",
        "z-score",
    ),
    "foreign_rows": Term(
        "Foreign rows",
        "Rows from a region without training rows, also called out of distribution (OOD).",
    ),
    "conformal": Term(
        "Conformal interval",
        "An interval whose width is set on held-out rows to hold the stated share of new rows.",
        "units of y",
    ),
    "loc": Term("Location", "The centre of the predicted distribution.", "units of y"),
    "scale": Term("Scale", "The standard deviation of the predicted distribution.", "units of y"),
    "rejection_curve": Term(
        "Rejection curve",
        "The error that remains when a person handles the most uncertain rows.",
    ),
    "calibration": Term(
        "Calibration", "Whether predicted probabilities match the frequencies that are observed."
    ),
    "coverage": Term(
        "Coverage", "The share of rows whose true value lies inside the predicted interval."
    ),
    "sharpness": Term(
        "Sharpness",
        "How narrow the predicted distributions are, whether right or wrong.",
        "units of y",
    ),
    "pit": Term(
        "Probability integral transform",
        "The predicted probability of a value below the observed one; uniform if calibrated.",
    ),
    "rmse": Term(
        "RMSE", "Root mean squared error of the predicted mean; lower is better.", "units of y"
    ),
    "error_rate": Term("Error rate", "Share of rows given a wrong class; lower is better."),
    "nll": Term(
        "NLL",
        "Negative log of the probability of what was observed, per row and unit of y, at the "
        "resolution of the data; lower is better.",
        "nats",
    ),
    "crps": Term(
        "CRPS",
        "Continuous ranked probability score, the absolute error of a distribution; "
        "lower is better.",
        "units of y",
    ),
    "mace": Term(
        "MACE",
        "Mean absolute calibration error: average gap between nominal and observed coverage.",
    ),
    "prr": Term(
        "PRR",
        "Prediction-rejection ratio: how well uncertainty ranks errors; 100 ranks like the errors "
        "themselves, 0 like chance.",
        "%",
    ),
    "auroc": Term(
        "AUROC",
        "The chance that a random positive row scores above a random negative one; 0.5 is chance.",
    ),
}
GLOSSARY: Mapping[str, Term] = MappingProxyType(_TERMS)
