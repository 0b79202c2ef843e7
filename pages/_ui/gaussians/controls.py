"""The race's knobs and what they mean to the experiment."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.figures.gaussians.charts import CHARTS
from gbuq_core.figures.gaussians.picture import SCALES, SHOWN, GaussiansView
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.knobs import Knob, narrow
from gbuq_core.sampling import SAMPLERS, TARGETS
from pages._ui.knobs import Preset, query_string, while_one_of
from pages._ui.live import COLOURS, live_knobs, map_knob
from pages._ui.present import Step
from pages._ui.url_state import PageState

_DEFAULT, _VIEW_DEFAULT = GaussiansSettings(), GaussiansView()
_BY_LABEL = {kind.label: key for key, kind in SAMPLERS.items()}
_TARGETS = {target.label: key for key, target in TARGETS.items()}
_CHARTS = {
    "modes": "modes visited",
    "schedules": "step sizes",
    "x": "marginals of x",
    "y": "marginals of y",
}
_CHART_OF = {text: key for key, text in _CHARTS.items()}


def _with(*samplers: str) -> tuple[str, tuple[Any, ...]]:
    """Shown while one of these samplers races."""
    labels = {SAMPLERS[sampler].label for sampler in samplers}
    return while_one_of("samplers", labels, _BY_LABEL, len(_BY_LABEL))


def _of(sampler: str, name: str, key: str, **changes: Any) -> Knob:
    """A knob of a sampler's record, in the steps of this page, while that sampler races."""
    record = SAMPLERS[sampler]
    knob = record.knob(name)
    own = {
        "key": key,
        "label": f"{knob.label}, {record.label}",
        "default": getattr(_DEFAULT, key),
        "needs": _with(sampler),
    }
    return narrow(knob, **{**own, **changes})


_DATA = (
    Knob(
        "target", "Target", "choice", TARGETS[_DEFAULT.target].label, choices=tuple(_TARGETS),
        group="data",
    ),
    Knob(
        "gradient_noise", "Noise of the gradient (std)", "ladder", _DEFAULT.gradient_noise,
        group="data", choices=(0.0, 0.3, 1.0, 3.0, 10.0),
        help="In practice minibatches make gradients noisy. This noise stands for them.",
    ),
    Knob(
        "seed", "Seed", "integer", _DEFAULT.seed, 0, 30, step=1, group="data",
        help="Sets the starts and the noise. They are the same for all samplers.",
    ),
)  # fmt: skip
_METHOD = (
    Knob(
        "samplers", "Samplers", "choices",
        tuple(SAMPLERS[sampler].label for sampler in _DEFAULT.samplers),
        choices=tuple(_BY_LABEL), group="method",
        help="N-SGLD adds more noise. clr-SGLD cycles the step size; cg-SGLD cycles the gradient's "
        "scale.",
    ),
)  # fmt: skip
_KNOBS = (
    Knob(
        "steps", "Steps", "ladder", _DEFAULT.steps,
        choices=(1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
        help="The length of each chain.",
    ),
    Knob(
        "chains", "Chains", "ladder", _DEFAULT.chains, choices=(1, 2, 5, 10, 20, 50),
        help="Each chain has its own start. The maps show all chains of a sampler together.",
    ),
    Knob(
        "cycles", "Cycles", "ladder", _DEFAULT.cycles, choices=(1, 2, 5, 10, 20, 30, 50, 100),
        needs=_with("clr", "cg"),
    ),
    _of("sgld", "learning_rate", "rate_sgld", choices=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2)),
    _of(
        "nsgld", "learning_rate", "rate_nsgld",
        choices=(0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1),
    ),
    _of("nsgld", "noise_scale", "noise_nsgld", choices=(1.0, 1.5, 2.0, 3.0, 5.0, 10.0)),
    _of(
        "clr", "learning_rate", "rate_clr",
        choices=(0.01, 0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12),
    ),
    _of("clr", "exploration_fraction", "exploration_clr", high=0.9, step=0.05),
    _of(
        "cg", "learning_rate", "rate_cg",
        choices=(0.002, 0.005, 0.007, 0.01, 0.012, 0.015, 0.02),
    ),
    _of("cg", "alpha_max", "alpha_max", low=1.0, high=15.0, step=0.5),
    _of("cg", "alpha_min", "alpha_min", low=0.5, high=5.0, step=0.5),
    _of("cg", "exploration_fraction", "exploration_cg", high=0.9, step=0.05),
    Knob(
        "noise_free", "No noise while exploring", "switch", _DEFAULT.noise_free,
        needs=_with("clr", "cg"),
        help="As in cSG-MCMC (appendix A). Without exploration it changes nothing.",
    ),
    _of(
        "sgld", "noise_scale", "noise", label="Noise scale, SGLD and cyclical",
        choices=(0.0, 0.1, 0.2, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0), needs=_with("sgld", "clr", "cg"),
    ),
)  # fmt: skip
SLOW = Knob("slow", "One cycle in slow motion", "switch", False, group="page")
CYCLE = Knob(
    "cycle", "Cycle", "integer", 1, 1, 100, step=1, group="page",
    help="Which cycle is shown. The start of the chain belongs to the first one.",
)  # fmt: skip
_VIEW = (
    Knob("shown", "Colours show", "choice", _VIEW_DEFAULT.shown, choices=SHOWN, group="view"),
    Knob(
        "scale", "Colour scale", "choice", _VIEW_DEFAULT.scale, choices=SCALES, group="view",
        help="A trapped chain is far denser than the target. Its own scale shows by how much.",
    ),
    Knob("log", "Logarithmic colours", "switch", _VIEW_DEFAULT.log, group="view"),
    Knob("trail", "Path of chain 1", "switch", _VIEW_DEFAULT.trail, group="view"),
    Knob(
        "outlines", "Borders of the modes", "switch", _VIEW_DEFAULT.outlines, group="view",
        help="A sample within 3 standard deviations of a mode counts as in that mode.",
    ),
    Knob(
        "charts", "Charts", "choices", tuple(_CHARTS[chart] for chart in _VIEW_DEFAULT.charts),
        choices=tuple(_CHART_OF), group="view",
    ),
)  # fmt: skip

MAP = map_knob(_BY_LABEL)

STATE = PageState(
    key="gaussians",
    knobs=(*_DATA, *_METHOD, *_KNOBS, *_VIEW, COLOURS, MAP, SLOW, CYCLE),
    presets=(
        Preset(
            "Paper settings",
            {"noise": 0.4},
            help="50,000 steps, 30 cycles, and the noise scales of the paper's appendix B.1: 5 for "
            "N-SGLD and 0.4 for the others, which is less than the density asks for. clr-SGLD then "
            "visits about 17 modes instead of 23; cg-SGLD still visits about 23.",
        ),
        Preset(
            "Stable steps",
            {"rate_clr": 0.05, "alpha_max": 5.0},
            help="Steps just below the longest one that does not overshoot.",
        ),
    ),
    picture=("gaussians",),
    story=(
        Step("Four samplers start together. Which of them leave the mode they start near?"),
        Step("Exact gradients, without noise. Who still moves on?", {"gradient_noise": 0.0}),
        Step(
            "Only 5,000 steps each. Which of them had needed the time?",
            {"steps": 5000, MAP.key: SAMPLERS["cg"].label},
        ),
    ),
)


def settings_of(values: SimpleNamespace) -> GaussiansSettings:
    """The experiment's settings for the knobs' values."""
    named = [field.name for field in fields(GaussiansSettings)]
    same = {name: getattr(values, name) for name in named if name not in ("samplers", "target")}
    return GaussiansSettings(
        samplers=tuple(_BY_LABEL[label] for label in values.samplers),
        target=_TARGETS[values.target],
        **same,
    )


def view_of(values: SimpleNamespace) -> GaussiansView:
    """How the race is shown."""
    chosen = {_CHART_OF[text] for text in values.charts}
    charts = tuple(chart for chart in CHARTS if chart in chosen)
    return GaussiansView(
        values.shown, values.scale, values.log, charts, values.trail, values.outlines
    )


def knobs_of(values: SimpleNamespace) -> list[LiveKnob]:
    """The knobs of the picture's bar."""
    return live_knobs(STATE, values)


def query_of(settings: GaussiansSettings, view: GaussiansView | None = None) -> str:
    """The part of a link after the question mark that restores these settings.

    >>> query_of(GaussiansSettings(alpha_max=5.0, samplers=("cg",)))
    'samplers=cg-SGLD&alpha_max=5'
    """
    view = _VIEW_DEFAULT if view is None else view
    values = {
        **vars(settings),
        **view._asdict(),
        "samplers": tuple(SAMPLERS[sampler].label for sampler in settings.samplers),
        "target": TARGETS[settings.target].label,
        "charts": tuple(_CHARTS[chart] for chart in view.charts),
    }
    return query_string(STATE.knobs, values)
