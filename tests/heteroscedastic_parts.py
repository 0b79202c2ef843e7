"""The page's rows at places few enough to be drawn as they are, and methods made up over them."""

import numpy as np

from gbuq_core.experiments.heteroscedastic.data import data_of
from gbuq_core.experiments.heteroscedastic.fit import HeteroscedasticView, ScoreCurve
from gbuq_core.experiments.heteroscedastic.picture import MethodPanel
from gbuq_core.methods import PARTS


def few_places(settings):
    data = data_of(settings)
    at = np.isin(data.x, np.linspace(-10.0, 20.0, 121))
    return data._replace(
        x=data.x[at],
        true_mean=data.true_mean[at],
        true_variance=data.true_variance[at],
        support=data.support[at],
    )


def score_of(values, key="novelty"):
    return ScoreCurve(key, key, values, None)


def panel_of(ground, method="macau_linear", note="", **more):
    """A straight mean with a std of 0.3 from data and 0.4 from knowledge."""
    x = ground.x
    fields = {
        "method": method,
        "label": method,
        "x": x,
        "support": ground.support,
        "parts": PARTS,
        "true_mean": ground.true_mean,
        "true_variance": ground.true_variance,
        "loc": x / 2,
        "total": np.full(len(x), 0.25),
        "data": np.full(len(x), 0.09),
        "knowledge": np.full(len(x), 0.16),
        "scale": np.full(len(x), 0.5),
        "factor": 1.0,
        "inner_lower": x / 2 - 0.6,
        "inner_upper": x / 2 + 0.6,
        "lower": x / 2 - 1.0,
        "upper": x / 2 + 1.0,
        "curves": (score_of(np.abs(x - 5.0) - 5.0),),
    }
    return MethodPanel(method, HeteroscedasticView(**(fields | more)), note)
