"""Methods that look a row's neighbours up: IBUG, its average with virtual SGLB, kNN."""

from __future__ import annotations

from gbuq_core.knobs import Knob
from gbuq_core.methods.papers import DARK_GREY, GREY, IBUG
from gbuq_core.methods.record import Builder, Method

_CATBOOST = Builder(
    of="catboost:CatBoostRegressor", fixed={"verbose": False, "allow_writing_files": False}
)
_SCORING = Knob(
    "scoring",
    "Tuned for",
    "choice",
    "nll",
    choices=("nll", "crps"),
    help="What the number of neighbours and the calibration minimise on held-out rows.",
)
_CALIBRATE = Knob("calibrate", "Calibrate", "switch", True)
# Links, projects and stored pictures have the deltas of the authors' code, in units of the target.
_IBUG = Builder(of="gbuq_core:IBUGRegressor", fixed={"delta_unit": 1.0})

RECORDS = (
    Method(
        key="ibug",
        label="IBUG",
        about="A boosted model's mean, and the spread of the rows that share most of its leaves.",
        paper=IBUG,
        section="section 3, algorithms 1 to 3",
        colour="#009e73",
        builders={"regression": _IBUG},
        yields=("total", "data", "neighbours"),
        knobs=(
            _SCORING,
            _CALIBRATE,
            Knob(
                "posterior", "Family", "choice", "normal",
                choices=(
                    "normal", "skew-normal", "log-normal", "laplace", "student-t", "logistic",
                    "gumbel", "weibull", "kde",
                ),
                help="The distribution that is fitted to the neighbours' targets.",
            ),
            Knob("tree_order", "Trees taken", "choice", "first",
                 choices=("first", "last", "random")),
        ),
    ),
    Method(
        key="ibug_cbu",
        label="IBUG + virtual SGLB",
        about="The average of IBUG and virtual SGLB, each calibrated first (IBUG+CBU).",
        paper=IBUG,
        section="section 5.2",
        colour="#009e73",
        dash="dash",
        builders={
            "regression": Builder(
                of="gbuq_core.baselines:AveragingRegressor",
                fixed={
                    "estimators": (
                        ("ibug", _IBUG),
                        (
                            "sglb",
                            Builder(
                                of="gbuq_core:BoostedEnsembleRegressor",
                                fixed={"method": "sglb", "ensemble": "virtual", "stopping": None},
                            ),
                        ),
                    )
                },
                takes=("random_state",),
            )
        },
        yields=("total",),
        knobs=(_SCORING,),
        complete=True,
    ),
    Method(
        key="knn",
        label="kNN",
        about="The mean and the spread of the nearest rows, by Euclidean distance.",
        paper=IBUG,
        section="appendix C.2",
        colour=GREY,
        dash="4px 2px",
        builders={
            "regression": Builder(
                of="gbuq_core.baselines:EuclideanNeighborsRegressor", takes=("random_state",)
            )
        },
        yields=("total", "data", "neighbours"),
        knobs=(_SCORING, _CALIBRATE),
        complete=True,
    ),
    Method(
        key="knn_cb",
        label="kNN-CB",
        about="A boosted model's mean, and the spread of the nearest rows in its most important "
        "features.",
        paper=IBUG,
        section="appendix C.2",
        colour=DARK_GREY,
        dash="4px 2px",
        builders={
            "regression": Builder(
                of="gbuq_core.baselines:EuclideanNeighborsRegressor",
                fixed={"base_model": _CATBOOST},
                takes=("random_state",),
            )
        },
        yields=("total", "data", "neighbours"),
        knobs=(_SCORING, _CALIBRATE),
        packages=("catboost",),
        complete=True,
    ),
)  # fmt: skip
