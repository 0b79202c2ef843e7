"""A new experiment: its record; `tests/app/apps/toy.py` is its page."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.experiment import Experiment
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.standalone import Section
from gbuq_core.settings import setting, sliders


class Method(NamedTuple):
    label: str = "Means"


METHODS = {"means": Method()}


@dataclass(frozen=True, kw_only=True)
class ToySettings:
    rows: int = setting(10, "Rows", group="data", choices=(5, 10, 20))
    seed: int = setting(0, "Seed", group="data", low=0, high=9, step=1)
    methods: tuple[str, ...] = setting(
        ("means",), "Methods", group="method", each=True, named={"Means": "means"}
    )


class ToyFit(NamedTuple):
    plan: ToySettings
    seconds: float
    error: np.ndarray


class ToyRun(NamedTuple):
    settings: ToySettings
    fits: tuple[ToyFit, ...]


def fit_toy(plan):
    rows = np.random.default_rng(plan.seed).normal(size=(plan.rows, 3, 4))
    return ToyFit(plan, 0.01, np.abs(rows.mean(axis=0)))


def draw_toy(run, fits, knobs):
    truth = Panel(title="Truth", values=np.zeros((3, 4)), unit="y")
    panels = [truth, *(Panel(title="Means: error", values=fit.error, unit="y") for fit in fits)]
    return PanelSheet(panels=panels, columns=2, name="toy", alt="Twelve means.", knobs=knobs)


def score_toy(run):
    worst = (f"{fit.error.max():.3f}" for fit in run.fits)
    return Section(heading="Scorecard", table=[("Score", "Means"), ("Largest error", *worst)])


TOY = Experiment(
    name="toy",
    question="How far off is a mean?",
    lede="Take rows away.",
    settings=ToySettings,
    methods=METHODS,
    why_not=lambda plan: "",
    fit=fit_toy,
    view=lambda fit, settings: fit,
    depends=lambda fit, settings: None,
    gather=lambda settings, fits: ToyRun(settings, tuple(fits)),
    sheet=draw_toy,
    followed=sliders(ToySettings),
    answer=lambda run: "".join(f"At most {fit.error.max():.3f}." for fit in run.fits),
    claims=lambda run: (),
    seeds=SeedStudy(
        name="toy",
        fit=fit_toy,
        claims=lambda run: (),
        quicker=lambda settings, share: settings,
    ),
    scores=score_toy,
    code=lambda run: f"rows = {run.settings.rows}",
    tables=lambda run: {"Data": lambda run: "error\n"},
    title="A toy",
    lead="Means of normal rows.",
    equations="$$\\sigma/\\sqrt n$$",
    departures="Boosting",
)
