"""A saved ensemble of every kind of column, for the tests of good and of bad files."""

import io

import numpy as np
import pandas as pd

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor

SMALL = {"stopping": None, "n_members": 2, "n_trees": 20, "depth": 3, "random_state": 0}


def mixed_frame(rng, n=200):
    """A number with gaps, a few levels of text, forty levels, and a bool."""
    return pd.DataFrame(
        {
            "length": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "colour": rng.choice(["red", "blue", "grüne\nWelle", "<b>"], n),
            "shop": rng.integers(0, 40, n),
            "open": rng.random(n) < 0.5,
        }
    )


def fitted(kind, rng, **knobs):
    """An ensemble of every kind of column, and rows to predict, some with unseen levels."""
    X = mixed_frame(rng)
    knobs = {**SMALL, "categorical_features": ["colour", "shop", "open"], **knobs}
    signal = X["length"].fillna(0) + (X["colour"] == "red") + X["shop"] / 20
    if kind == "regressor":
        model = BoostedEnsembleRegressor(**knobs).fit(X, 1e3 * signal + rng.normal(size=200))
    else:
        codes = np.digitize(signal, np.quantile(signal, [0.3, 0.6])[: 2 if kind == "three" else 1])
        labels = np.array(["low", "middle", "high"])[codes]
        model = BoostedEnsembleClassifier(**knobs).fit(X, labels)
    new = mixed_frame(rng, 50)
    new.loc[3, "colour"] = "unseen"
    new.loc[4, "shop"] = 1000
    return model, new


def saved(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()
