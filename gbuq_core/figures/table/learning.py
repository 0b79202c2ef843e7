"""Would more rows help? Error, NLL and uncertainty against the number of rows learnt from."""

from __future__ import annotations

import math

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    around,
    axis,
    band,
    entry,
    line,
    panel,
    plain_dots,
    reading,
)
from gbuq_core.figures.table.rejection import KIND_COLOURS
from gbuq_core.figures.theme import MethodStyle
from gbuq_core.metrics import LearningCurve, Verdict
from gbuq_core.presentation import NONE, digits, percent

_HEADROOM = 0.12
_BAND = 0.22
_NLL = "#7f7f7f"

VERDICTS = {"more": "Collect more rows", "noise": "Inherent noise", "undecided": "Not decided"}


def learning_figure(
    curve: LearningCurve,
    style: MethodStyle,
    alt: str,
    group: int = 0,
    as_variance: bool = False,
    height: int = 420,
) -> Curves:
    """Draw error, NLL, and noise with knowledge; bands are plus and minus one standard error.

    Knowledge is left out where the method does not tell it. The error goes on, dashed, to what is
    expected of twice as many rows.
    """
    sizes = curve.sizes.astype(np.float64)
    error_name = "wrong classes (%)" if curve.is_class else "RMSE"
    scale = 100.0 if curve.is_class else 1.0
    error = scale * curve.mean("error", group)
    error_se = scale * curve.standard_error("error", group)
    nll, nll_se = curve.mean("nll", group), curve.standard_error("nll", group)
    kinds = {"noise": curve.mean("noise", group), "knowledge": curve.mean("knowledge", group)}
    if np.isnan(kinds["knowledge"]).all():
        del kinds["knowledge"]
    unit = "nats" if curve.is_class else "variance" if as_variance else "std"
    if unit == "std":
        kinds = {name: np.sqrt(np.maximum(values, 0.0)) for name, values in kinds.items()}
    looks = {
        "noise": (KIND_COLOURS["data"], 2.0, "7 4"),
        "knowledge": (KIND_COLOURS["knowledge"], 2.0, ""),
    }
    parts = {name: line(sizes, values, *looks[name]) for name, values in kinds.items()}
    ahead = _ahead(curve.verdict(group), curve, group)
    errors = _with_band(sizes, error, error_se, style.colour)
    likelihoods = _with_band(sizes, nll, nll_se, _NLL)
    spans = [error - error_se, error + error_se]
    likely = [nll - nll_se, nll + nll_se]
    (spans if not curve.is_class else likely).append(ahead)
    expected = line([sizes[-1], 2.0 * sizes[-1]], ahead, "text", 1.6, "2 3")
    (errors if not curve.is_class else likelihoods).append(expected)
    return draw_curves(
        "learning-curve",
        alt,
        height,
        axis((0.0, 2.0 * sizes[-1]), "rows learnt from"),
        [
            panel(around(*spans, room=_HEADROOM), error_name, errors, 0.38),
            panel(around(*likely, room=_HEADROOM), "NLL (nats)", likelihoods, 0.32),
            panel(_from_zero(*kinds.values()), unit, list(parts.values()), 0.3),
        ],
        [
            entry(error_name, errors[1]),
            entry("NLL", likelihoods[1]),
            *(entry(name, part) for name, part in parts.items()),
            entry("expected of twice as many rows", expected),
        ],
        reading(sizes, "rows:", [(error_name, error), ("NLL", nll), *kinds.items()]),
    )


def describe_verdict(verdict: Verdict, is_class: bool, n_most: int, one_model: bool = False) -> str:
    """The numbers behind a verdict, in plain text."""
    if math.isnan(verdict.gain):
        return "Too few rows were left out of this group in each repeat to say anything."
    what, write = ("log loss", _nats) if is_class else ("RMSE", _off)
    more = verdict.word == "more"
    agreeing = "lowered it" if more else f"brought less than {write(verdict.worth)}"
    verb = "fell" if verdict.gain >= 0.0 else "rose"
    interval = f"{_bare(verdict.low, is_class)} to {write(verdict.high)}"
    sentences = [
        f"From {n_most // 2:,} to {n_most:,} rows, the {what} {verb} by "
        f"{write(abs(verdict.gain))} (90 % interval of the fall {interval}).",
        f"This doubling {agreeing} in {verdict.n_agreeing} of {verdict.n_repeats} repeats.",
    ]
    if more:
        sentences.append(
            f"If each doubling goes on bringing {digits(verdict.ratio, 2)} times as much as the "
            f"one before, {2 * n_most:,} rows take off another {write(verdict.expected)} "
            f"({_bare(verdict.expected_low, is_class)} to {write(verdict.expected_high)})."
        )
        return " ".join(sentences)
    sentences.append(
        f"One more doubling is expected to take off {_bare(verdict.expected_low, is_class)} to "
        f"{write(verdict.expected_high)}."
    )
    share = percent(verdict.knowledge_share, 0)
    if verdict.word != verdict.plain:
        sentences.append(
            f"The plain difference alone would say: {VERDICTS[verdict.plain].lower()}."
        )
    if verdict.word == "noise":
        sentences.append(
            f"Knowledge uncertainty is {share} of the total: what is left of the error is noise "
            "that these columns do not explain."
        )
        if one_model:
            sentences.append(
                "All members come from one model, so they disagree less than independent models "
                "would: the flat curve speaks for noise, the small share hardly does."
            )
    elif verdict.expected_high < verdict.worth:
        unknown = math.isnan(verdict.knowledge_share)
        sentences.append(
            "The curve is flat, but this method does not tell knowledge uncertainty, so noise is "
            "not shown to be the reason."
            if unknown
            else f"The curve is flat, but knowledge uncertainty is still {share} of the total."
        )
    else:
        sentences.append("The interval is too wide to tell a gain from none.")
    return " ".join(sentences)


def say_fall(fall: float, is_class: bool) -> str:
    """How much a doubling takes off: a share of the RMSE, or nats of the log loss.

    >>> say_fall(0.02, False), say_fall(0.02, True), say_fall(math.nan, True)
    ('2.0 %', '0.0200 nats', '–')
    """
    if math.isnan(fall):
        return NONE
    return _nats(fall) if is_class else _off(fall)


def describe_rule(is_class: bool) -> str:
    """How a verdict is reached, with its thresholds."""
    worth = "0.01 nats of log loss" if is_class else "2 % of the RMSE"
    return (
        "Collect more rows: the last doubling of the rows lowered the "
        f"{'log loss' if is_class else 'error'} beyond chance (90 % interval), and the next one is "
        f"expected to bring at least {worth}. Inherent noise: the next one is expected to bring "
        "less than that, by the upper end of its interval, and knowledge uncertainty is at most "
        "20 % of the total; never where the method does not tell knowledge. Not decided: neither."
    )


def _ahead(verdict: Verdict, curve: LearningCurve, group: int) -> np.ndarray:
    """The deciding measure with all rows, and what is expected of twice as many."""
    name = "nll" if curve.is_class else "error"
    last = float(curve.mean(name, group)[-1])
    if math.isnan(verdict.expected):
        return np.array([last, last])
    after = last - verdict.expected if curve.is_class else last * math.exp(-verdict.expected)
    return np.array([last, after])


def _with_band(x: np.ndarray, y: np.ndarray, error: np.ndarray, colour: str) -> list[Part]:
    error = np.where(np.isfinite(error), error, 0.0)
    return [
        band(x, y - error, y + error, colour, _BAND),
        line(x, y, colour, 2.2),
        plain_dots(x, y, colour, 1.0, 7),
    ]


def _from_zero(*values: np.ndarray) -> list[float]:
    every = np.concatenate(values)
    high = float(np.nanmax(every)) if np.isfinite(every).any() else 1.0
    return [0.0, (1.0 + _HEADROOM) * high or 1.0]


def _off(fall: float) -> str:
    """A fall of the logarithm of an error, as a share of the error."""
    return percent(-math.expm1(-fall), 1)


def _nats(fall: float) -> str:
    return f"{digits(fall)} nats"


def _bare(fall: float, is_class: bool) -> str:
    """Without the unit."""
    return digits(fall) if is_class else _off(fall).removesuffix(" %")
