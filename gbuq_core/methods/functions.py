"""Methods that sample functions: variational soft trees, XBART, a Gaussian process."""

from __future__ import annotations

from dataclasses import replace

from gbuq_core.knobs import Knob
from gbuq_core.methods.papers import GREY, RASMUSSEN, SOFT_TREES
from gbuq_core.methods.record import PARTS, Builder, Method

_DRAWS = Knob("n_draws", "Functions behind the bands", "integer", 100, 1, 10_000)
_SOFT = (
    Knob(
        "depth",
        "Depth of soft trees",
        "integer",
        3,
        0,
        6,
        help="Depth 0 is a single leaf: Bayesian linear regression.",
    ),
    Knob("leaf", "Each leaf predicts", "choice", "linear", choices=("linear", "constant")),
    Knob(
        "rank",
        "Rank of the covariance",
        "integer",
        5,
        0,
        10_000,
        help="0 makes all parameters independent (mean field). The number of parameters is the "
        "maximum.",
    ),
    Knob(
        "beta",
        "Sharpness of gates",
        "number",
        5.0,
        0.0,
        1000.0,
        low_open=True,
        help="Beta in the gates' sigmoid. A large value comes close to a hard split.",
    ),
    Knob("prior_scale", "Prior std", "number", 2.5, 0.0, 1000.0, low_open=True),
    Knob("n_steps", "Training steps", "integer", 3000, 1, 1_000_000),
    Knob(
        "n_restarts",
        "Starts",
        "integer",
        2,
        1,
        100,
        help="Each start trains for a fifth of the steps. The best one continues.",
    ),
    _DRAWS,
)
SOFT_KNOBS = {knob.key: knob for knob in _SOFT}
_MOST_GP_ROWS = 5000
_FUNCTIONS = (*PARTS, "functions", "members")

RECORDS = (
    Method(
        key="vst",
        label="VST",
        about="One soft tree with a Gaussian posterior over all of its parameters.",
        paper=SOFT_TREES,
        section="section 4.1",
        colour="#7b3294",
        builders={"regression": Builder(of="gbuq_core:VariationalSoftTreeRegressor")},
        yields=_FUNCTIONS,
        knobs=_SOFT,
    ),
    Method(
        key="vsgbm",
        label="VSGBM",
        about="A boosted sum of soft trees, each with a posterior of its own.",
        paper=SOFT_TREES,
        section="section 4.2, algorithm 1",
        colour="#cc79a7",
        builders={"regression": Builder(of="gbuq_core:VariationalSoftGBMRegressor")},
        yields=_FUNCTIONS,
        knobs=(Knob("n_trees", "Trees of the VSGBM", "integer", 5, 1, 200), *_SOFT),
    ),
    Method(
        key="xbart",
        label="XBART",
        about="Bayesian additive regression trees: every sweep over its trees is a draw.",
        paper=SOFT_TREES,
        section="section 5",
        colour="#808000",
        builders={
            "regression": Builder(of="gbuq_core.baselines:XBARTRegressor", takes=("random_state",))
        },
        yields=_FUNCTIONS,
        knobs=(
            Knob("n_trees", "Trees of XBART", "integer", 30, 1, 1000),
            _DRAWS,
            Knob("n_burn_in", "Sweeps left out", "integer", 15, 0, 10_000),
        ),
        packages=("stochtree",),
        complete=True,
    ),
    Method(
        key="gp",
        label="Gaussian process",
        about="The familiar reference: functions with a smooth kernel.",
        paper=RASMUSSEN,
        section="equations 2.23 to 2.25",
        colour=GREY,
        dash="longdash",
        builders={
            "regression": Builder(
                of="gbuq_core.baselines:GaussianProcessBaseline", takes=("random_state",)
            )
        },
        yields=(*PARTS, "functions"),
        knobs=(replace(_DRAWS, high=100_000), Knob("n_restarts", "Starts", "integer", 1, 0, 100)),
        packages=("sklearn",),
        complete=True,
        most_rows=_MOST_GP_ROWS,
        rows_reason="its time grows with the cube of the rows",
        pair_bytes=80.0,
    ),
)
