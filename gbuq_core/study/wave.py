"""Start's wave: three uncertainties on a line, refitted whenever a slider moves.

An ensemble of SGLB models (Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting
via ensembles", eq. 6 and 11-12), small enough to be fitted within a few hundredths of a second.
Read from top to bottom: settings, fit, numbers, claims, picture, words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import ndtr

from gbuq_core.experiments.claims import Threshold
from gbuq_core.experiments.python_text import arguments_text, call_lines
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    entry,
    line,
    panel,
    reading,
    rounded,
)
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import format_bytes, seconds_text
from gbuq_core.settings import arguments, setting
from gbuq_core.study.members import Fit, Predictive, View, decompose, timed_fit
from gbuq_core.study.study import Claim, Row, Run, Study
from gbuq_core.synthetic import WaveData, make_wave
from gbuq_core.synthetic.wave import (
    LEAST_RARE_WIDTH,
    MOST_RARE_FROM,
    MOST_RARE_WIDTH,
    RARE_END,
    RARE_FROM,
    RARE_WIDTH,
)

# --- Settings -------------------------------------------------------------------------------------

# The temperature of posterior sampling, 1, is for models as free as their trees. The sine is
# smoother: at 1 knowledge uncertainty is 1.7 times the prediction's error where rows are plentiful
# and 1.5 times where they are rare. At 2.5 it is 1.5 and 1.2 (means of four seeds).
ENSEMBLE: Mapping[str, Any] = MappingProxyType(
    {
        "stopping": None,
        "method": "sglb",
        "n_members": 20,
        "n_trees": 100,
        "depth": 4,
        "learning_rate": 0.2,
        "temperature": 2.5,
        "l2": 1.0,
    }
)
METHODS = {"sglb": METHOD_STYLES["sglb"]}


@dataclass(frozen=True, kw_only=True)
class WaveSettings:
    """Everything that the picture depends on."""

    rows: int = setting(
        2000, "Training rows", arg="n",
        choices=(
            *(100, 125, 160, 200, 250, 320, 400, 500, 640, 800, 1000, 1250, 1600, 2000, 2500),
            *(3200, 4000, 5000, 6400, 8000, 10000, 12800),
        ),
        help="New rows fall everywhere except where rows are rare: one row a position there.",
    )  # fmt: skip
    # Rows are rare between `rare` and `rare_width` further.
    rare: float = setting(
        RARE_FROM, "Rows are rare from x =", low=0.0, high=MOST_RARE_FROM, step=0.1, group="data",
        fits=True, arg="rare_from",
        help="From here on each position has one row. The orange bar in the picture moves the "
        "stretch, too.",
    )  # fmt: skip
    rare_width: float = setting(
        RARE_WIDTH, "Over a width of", low=LEAST_RARE_WIDTH, high=MOST_RARE_WIDTH, step=0.1,
        group="data", fits=True, arg="rare_width",
        help=f"The stretch of rare rows ends at {RARE_END:g} at the latest. The ends of the orange "
        "bar in the picture change its width, too.",
    )  # fmt: skip
    seed: int = setting(0, "Seed", low=0, high=2**31 - 1, arg="random_state", offered=False)
    methods: tuple[str, ...] = setting(
        tuple(METHODS), "Models", group="method", each=True, offered=False,
        named={style.label: key for key, style in METHODS.items()},
    )  # fmt: skip

    @property
    def rare_ends(self) -> tuple[float, float]:
        """Both ends of the stretch where rows are rare.

        >>> WaveSettings(rare=5.0, rare_width=2.0).rare_ends
        (5.0, 6.0)
        """
        return round(self.rare, 1), min(round(self.rare + self.rare_width, 1), RARE_END)


def make_data(settings: WaveSettings) -> WaveData:
    """The rows of settings, with the truth."""
    return make_wave(**arguments(settings))


# --- Fit ------------------------------------------------------------------------------------------


def fit(plan: WaveSettings) -> Fit:
    """Fit the ensemble and predict the 70 places."""
    from gbuq_core.boosting import BoostedEnsembleRegressor

    data, model = make_data(plan), BoostedEnsembleRegressor(**ENSEMBLE, random_state=plan.seed)
    seconds = timed_fit(model, data)
    at = decompose(model.predict_members(data.grid))  # of (20 members, 70 places, 2)
    return Fit(plan, None, seconds, int(model.memory_bytes_), {"grid": at})


def view(fit: Fit, settings: WaveSettings) -> View:
    """The prediction, as it is."""
    return View(fit, fit.at("grid"))


def measure(fit: Fit, settings: WaveSettings) -> Predictive | None:
    """The stacked law around the ensemble, which takes too long for other than stored seeds."""
    if replace(settings, seed=0) != WaveSettings():
        return None
    from gbuq_core.boosting import BoostedEnsembleRegressor
    from gbuq_core.stacking import StackedRegressor

    data, trees = make_data(settings), BoostedEnsembleRegressor(**ENSEMBLE)
    trees.set_params(random_state=settings.seed)
    law = StackedRegressor(trees, random_state=settings.seed).fit(data.X, data.y)
    parts = law.predict_uncertainty(data.grid)
    return Predictive(law.predict_distribution(data.grid).loc, *parts)


# --- Numbers --------------------------------------------------------------------------------------

N_STD = 2.0  # half the width of the bands, in standard deviations
NOMINAL = float(ndtr(N_STD) - ndtr(-N_STD))
HARDLY_LARGER = 1.1  # times as much knowledge uncertainty as where rows are plentiful
MOST_DOTS = 1000


def score(run: Run) -> dict[str, dict[str, Any]]:
    """Estimate beside truth where rows are plentiful, rare and where there are none, as root means.

    ``error`` is how far the predicted mean really is from the true one.
    """
    data, at = run.data, run.views[0].at
    scores: dict[str, dict[str, Any]] = _by_region(at, data)
    plenty, rare, beyond = scores.values()
    noise, half = np.sqrt(data.variance), N_STD * np.sqrt(at.total)
    inside = ndtr((at.mean + half - data.mean) / noise) - ndtr((at.mean - half - data.mean) / noise)
    coverage = float(inside[data.in_support].mean())
    times = {"rare": rare["knowledge"] / plenty["knowledge"]}
    times["beyond"] = beyond["knowledge"] / plenty["knowledge"]
    notices = {
        f"{name}_told": f"the model is {ratio:.1f} times less sure"
        if ratio >= HARDLY_LARGER
        else "it does not notice"
        for name, ratio in times.items()
    }
    x = data.grid[:, 0]
    scores[""] = {
        **_named(scores),
        **{f"times_{name}": ratio for name, ratio in times.items()},
        **notices,
        **_of_law(run),
        "off": abs(plenty["data"] / plenty["noise"] - 1.0),
        "coverage": coverage,
        "apart": abs(coverage - NOMINAL),
        "nominal": NOMINAL,
        "rows": float(run.settings.rows),
        "dots": float(min(MOST_DOTS, run.settings.rows)),
        "rare_from": f"{x[data.is_rare][0]:g}",
        "rare_to": f"{x[data.is_rare][-1]:g}",
        "end": f"{x[data.in_support][-1]:g}",
        "cost": _cost(run.fits[0]),
        "corner": "Rows",
    }
    return scores


def _by_region(at: Predictive, data: WaveData) -> dict[str, dict[str, Any]]:
    squares = {
        "data": at.data,
        "noise": data.variance,
        "knowledge": at.knowledge,
        "error": (at.mean - data.mean) ** 2,
    }
    regions = {
        "plenty": ("plentiful", data.in_support & ~data.is_rare),
        "rare": ("rare", data.is_rare),
        "beyond": ("none", ~data.in_support),
    }
    return {
        key: {"label": label}
        | {name: float(np.sqrt(square[where].mean())) for name, square in squares.items()}
        for key, (label, where) in regions.items()
    }


def _named(scores: Mapping[str, Mapping[str, Any]], begins: str = "") -> dict[str, Any]:
    """The numbers of all regions together, each with the name of its region."""
    return {
        f"{begins}{name}_{key}": value
        for key, numbers in scores.items()
        for name, value in numbers.items()
    }


def _of_law(run: Run) -> dict[str, Any]:
    """The numbers of the stacked law, where it was asked."""
    law = run.measured.get("sglb")
    if law is None:
        return {}
    named = _named(_by_region(law, run.data), "law_")
    return named | {"law_times": named["law_knowledge_beyond"] / named["law_knowledge_plenty"]}


def _cost(fit: Fit) -> str:
    if fit.memory_bytes is None:
        return ""
    return (
        f" {ENSEMBLE['n_members']} SGLB models were fitted in {seconds_text(fit.seconds)} and take "
        f"{format_bytes(fit.memory_bytes)}."
    )


# --- Claims: the paper uses words, the numbers are ours -------------------------------------------

_LARGER = Threshold("ratio of the two", 1.5, HARDLY_LARGER)
_CAPTURED = Threshold("error of the std", 0.1, 0.2, unit=" %", times=100.0)
_TRUE = Threshold("difference", 0.02, 0.05, unit=" points", times=100.0, decimals=1)


def _claim_of_knowledge(key: str, text: str, where: str, chip: str = "", law: str = "") -> Claim:
    ratio = "law_times" if law else f"times_{where}"
    here = (
        "its std is {knowledge_HERE} there, and {knowledge_plenty} where rows are plentiful. The "
        "prediction is off by {error_HERE} there, and by {error_plenty} where rows are plentiful."
    )
    here = here.replace("HERE", where)
    for name in ("knowledge", "error"):
        here = here.replace(f"{{{name}_", f"{{{law}{name}_")
    return Claim(key, text, here, ratio, _LARGER, chip=chip, form=f"{{{ratio}:times}}")


CLAIMS = (
    _claim_of_knowledge(
        "rare",
        "Knowledge uncertainty is larger where rows are rare.",
        "rare",
        "KU is larger where rows are rare",
    ),
    _claim_of_knowledge(
        "none",
        "Knowledge uncertainty of trees alone is larger where there are no rows.",
        "beyond",
        "KU is larger beyond the rows",
    ),
    Claim(
        "noise",
        "Data uncertainty is the noise.",
        "where rows are plentiful its std is {data_plenty}, and that of the true noise "
        "{noise_plenty}. Where rows are rare they are {data_rare} and {noise_rare}.",
        "off",
        _CAPTURED,
        chip="DU repeats the noise",
        name="off by",
    ),
    Claim(
        "inside",
        "The outer edge holds {nominal:tenth} of new values where there are rows.",
        "it holds {coverage:tenth}.",
        "apart",
        _TRUE,
        name="off by",
    ),
    _claim_of_knowledge(
        "law",
        "Knowledge uncertainty of the stacked law is larger where there are no rows.",
        "beyond",
        law="law_",
    ),
)


# --- Picture --------------------------------------------------------------------------------------

# Of y and of its variance: fixed, so that a slider moves the picture and not its scale. The wide
# ones are for rows that are rare elsewhere than usual: the noisy stretch may have few.
USUAL_AXES, WIDE_AXES = ((-1.2, 3.2), (0.0, 0.24)), ((-1.4, 3.2), (0.0, 0.5))
_COLOUR = METHODS["sglb"].colour
_DATA, _KNOWLEDGE = 0.22, 0.62  # opacities
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}


def is_wide(settings: WaveSettings) -> bool:
    """Whether rows are rare elsewhere than usual, where the noise may be larger."""
    return settings.rare_ends != WaveSettings().rare_ends


def wave_figure(run: Run, wide: bool | None = None) -> Curves:
    """The prediction with its uncertainty as bands, and the same as stacked variances.

    Above, the inner pale band is data uncertainty and the stronger rim outside it is knowledge
    uncertainty, so that the outer edge is the total. Below, both are variances on top of each
    other, because variances add up: total = data + knowledge.
    """
    data, at, x = run.data, run.views[0].at, run.data.grid[:, 0]
    y_range, variance_range = (
        WIDE_AXES if (is_wide(run.settings) if wide is None else wide) else USUAL_AXES
    )
    inner, outer = (N_STD * np.sqrt(part) for part in (at.data, at.total))
    edges = ((-outer, -inner, _KNOWLEDGE), (-inner, inner, _DATA), (inner, outer, _KNOWLEDGE))
    few = rounded(data.X[:MOST_DOTS, 0]), rounded(data.y[:MOST_DOTS])
    rows = {"kind": "dots", "x": few[0], "y": few[1], "colour": "text", "opacity": 0.25}
    mean, truth = line(x, at.mean, _COLOUR, 2.2), line(x, data.mean, **_TRUTH)
    bands = [band(x, at.mean + low, at.mean + high, _COLOUR, fill) for low, high, fill in edges]
    stacked = [
        band(x, np.zeros_like(x), at.data, _COLOUR, _DATA),
        band(x, at.data, at.total, _COLOUR, _KNOWLEDGE),
        line(x, data.variance, **_TRUTH),
    ]
    end = {"kind": "hatch", "from": float(x[data.in_support][-1]), "to": float(x[-1])}
    read = (
        ("prediction", at.mean),
        ("truth", data.mean),
        ("data, standard deviation", np.sqrt(at.data)),
        ("knowledge, standard deviation", np.sqrt(at.knowledge)),
        ("true noise", np.sqrt(data.variance)),
    )
    return draw_curves(
        f"uncertainty-{run.settings.rows}-rows",
        WAVE.describe(run),
        440,
        axis((x[0], x[-1]), "x"),
        [
            panel(y_range, "y", [*bands, rows, mean, truth, end], 0.68),
            panel(variance_range, "variance of y", [*stacked, end], 0.32),
        ],
        [
            entry("knowledge", stacked[1]),
            entry("data", stacked[0]),
            entry("prediction", mean),
            entry("truth", truth),
            {"name": "rows", "kind": "dots", "colour": "text", "opacity": 0.5},
            {"name": "no rows", "kind": "hatch", "colour": "text"},
        ],
        reading(x, "x", read),  # uncertainties as standard deviations, like the bands
    )


# --- Words ----------------------------------------------------------------------------------------


def copied(settings: WaveSettings) -> str:
    """Python that computes the run with the library's public names, for copying."""
    options, usual = arguments(settings), arguments(WaveSettings())
    stretch = ("rare_from", "rare_width")
    moved = {name: round(options[name], 1) for name in stretch if options[name] != usual[name]}
    rows = {name: options[name] for name in ("n", "random_state")} | moved
    model = call_lines("BoostedEnsembleRegressor", {**ENSEMBLE, "random_state": settings.seed})
    return "\n".join(
        [
            "from gbuq_core import BoostedEnsembleRegressor",
            "from gbuq_core.synthetic import make_wave",
            "",
            f"wave = make_wave({arguments_text(rows)})",
            f"model = {model[0]}",
            *model[1:-1],
            ").fit(wave.X, wave.y)",
            "",
            "prediction = model.predict(wave.grid)",
            "total, data, knowledge = model.predict_uncertainty(wave.grid)  # variances",
            "",
        ]
    )


def columns(run: Run) -> dict[str, Any]:
    """Of the CSV file."""
    data, at = run.data, run.views[0].at
    parts = {"total": at.total, "data": at.data, "knowledge": at.knowledge}
    uncertainty = {f"{part}_uncertainty": values for part, values in parts.items()}
    truth = {"true_mean": data.mean, "true_variance": data.variance}
    return {"x": data.grid[:, 0], "prediction": at.mean, **uncertainty, **truth}


WAVE = Study(
    name="wave",
    question="How uncertain is a prediction, and why?",
    lede="gbuq shows which predictions not to trust, and why. The pale band is noise in the "
    "**data**, the dark rim is what the model does not **know**. Where is it wide?",
    settings=WaveSettings,
    methods=METHODS,
    data=make_data,
    fit=fit,
    view=view,
    viewed=(),
    measure=measure,
    picture=lambda run, knobs: wave_figure(run),
    curves=True,
    score=score,
    claims=CLAIMS,
    scorecard={
        "Estimate beside truth": (
            Row("Data", "data"),
            Row("True noise", "noise"),
            Row("Knowledge", "knowledge"),
            Row("Error", "error"),
        )
    },
    caption="The dots are {dots:.0f} of {rows:,.0f} rows. The table gives standard deviations in "
    "units of y; the error is the distance from the predicted mean to the true mean. The outer "
    f"edge is {N_STD:g} total standard deviations from the mean. Where there are rows, it holds "
    "{coverage:tenth} of new values; {nominal:tenth} would be right.{cost}",
    answer="Where rows are rare, {rare_told}. Where there are none, {beyond_told}.",
    said="A prediction from {rows:,.0f} training rows over x from 0 to 6.9, beside the true curve. "
    "Standard deviations, in units of y: where rows are plentiful, data uncertainty is "
    "{data_plenty} (the true noise is {noise_plenty}) and knowledge uncertainty "
    "{knowledge_plenty} (the prediction is off by {error_plenty}). From {rare_from} to {rare_to}, "
    "where rows are rare, they are {data_rare} ({noise_rare}) and {knowledge_rare} "
    "({error_rare}). Beyond {end}, where there are none, knowledge uncertainty is "
    "{knowledge_beyond} while the prediction is off by {error_beyond}. The outer band holds "
    "{coverage:tenth} of new values at positions with rows; {nominal:tenth} would be right.",
    said_of=(),
    files={"Data": columns},
    copied=copied,
    first=("rows",),
    story=(
        ("2,000 training rows. Where is the dark rim wide, and where is the pale band?", {}),
        ("100 rows. Is there any place that the model is sure of?", {"rows": 100}),
        (
            "10,000 rows. What is left between 3 and 4.5, where each position has one row?",
            {"rows": 10000, "rare": RARE_FROM, "rare_width": RARE_WIDTH},
        ),
    ),
    departures="Boosting",
    title="Three uncertainties on a line",
    lead="",
    equations="",
)
