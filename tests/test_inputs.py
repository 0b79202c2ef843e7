"""What every estimator does with tables, targets and weights as people have them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from refusal_parts import refused
from scipy.sparse import csr_array
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tolerances import SAME_SUM

from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    CalibratedRegressor,
    IBUGRegressor,
    MacauRegressor,
    UnfamiliarityScore,
    VariationalSoftTreeRegressor,
    baselines,
)
from gbuq_core.errors import InvalidData
from gbuq_core.metrics import scorer

RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame({"u": RANDOM.normal(size=60), "kind": RANDOM.choice(["a", "b"], 60)})
Y = FRAME["u"].to_numpy() + (FRAME["kind"] == "b") + 0.1 * RANDOM.normal(size=60)
NUMBERS = RANDOM.normal(size=(60, 2))


def boosted(**knobs):
    return BoostedEnsembleRegressor(n_members=2, n_trees=5, stopping=None, random_state=0, **knobs)


ESTIMATORS = {
    "boosted": boosted(),
    "macau": MacauRegressor(n_trees=5, random_state=0),
    "soft": VariationalSoftTreeRegressor(n_steps=10, random_state=0),
    "ibug": IBUGRegressor(RandomForestRegressor(5, random_state=0), random_state=0),
    "quantile": baselines.QuantileForestRegressor(n_trees=5, random_state=0),
    "unfamiliarity": UnfamiliarityScore(("range", "distance"), random_state=0),
}
EACH = pytest.mark.parametrize("name", ESTIMATORS)


def answer(model, X):
    if isinstance(model, UnfamiliarityScore):
        return model.unfamiliarity(X)
    return np.stack(tuple(model.predict_distribution(X)))


@EACH
def test_an_arrow_table_is_read_as_the_frame_of_pandas(name):
    model = ESTIMATORS[name]
    frame = FRAME[["u"]] if name in ("soft", "quantile") else FRAME  # which take numbers only
    table = pa.table(frame)
    expected = answer(model.fit(frame, Y), frame)
    answers = answer(model.fit(table, Y), table)
    np.testing.assert_array_equal(answers, expected)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        answer(model, pa.table({"u": [0.0]}).rename_columns(["w"]))


@EACH
def test_numbers_of_another_order_of_bytes_are_read(name):
    model = ESTIMATORS[name]
    expected = answer(model.fit(NUMBERS, Y), NUMBERS)
    foreign = NUMBERS.astype(NUMBERS.dtype.newbyteorder("S")), Y.astype(Y.dtype.newbyteorder("S"))
    np.testing.assert_array_equal(answer(model.fit(*foreign), foreign[0]), expected)
    frame = pd.DataFrame(foreign[0])
    np.testing.assert_array_equal(answer(model.fit(frame, Y), frame), expected)


@EACH
def test_twins_and_sparse_matrices_are_refused(name):
    model = ESTIMATORS[name]
    with refused(InvalidData, "several columns named 'a'"):
        model.fit(pd.DataFrame(NUMBERS, columns=["a", "a"]), Y)
    with refused(InvalidData, "sparse"):
        model.fit(csr_array(NUMBERS), Y)


@pytest.mark.parametrize("level", [1e9, -3.0, 0.0])
@pytest.mark.parametrize("name", ["boosted", "macau", "soft"])
def test_a_constant_target_has_nearly_no_spread(name, level):
    law = ESTIMATORS[name].fit(NUMBERS, np.full(60, level)).predict_distribution(NUMBERS)
    np.testing.assert_allclose(law.loc, level, atol=1e-12)
    # Boosting shrinks the std of a unit tree by tree: five of them leave a few millionths.
    most = 1e-5 if name == "boosted" else 1e-11 * max(1.0, abs(level))
    assert (law.scale <= most).all()


def test_weights_that_sum_to_one_are_shares():
    plain, shared = (
        boosted().fit(NUMBERS, Y, sample_weight=weight).predict(NUMBERS)
        for weight in (None, np.full(60, 1 / 60))
    )
    np.testing.assert_allclose(shared, plain, rtol=SAME_SUM)


def test_too_many_classes_of_text_are_told_what_helps():
    labels = np.repeat([f"c{i}" for i in range(201)], 2)
    with refused(InvalidData, "group the rare ones"):
        BoostedEnsembleClassifier().fit(RANDOM.normal(size=(402, 1)), labels)
    with refused(InvalidData, "use the regressor"):
        BoostedEnsembleClassifier().fit(RANDOM.normal(size=(402, 1)), np.repeat(range(201), 2))


def test_a_calibrated_pipeline_is_its_last_step_on_the_rows_as_it_gets_them():
    scaled = StandardScaler().fit(NUMBERS)
    pipe = make_pipeline(StandardScaler(), boosted()).fit(NUMBERS, Y)
    rows, y = NUMBERS[:40] + 0.01, Y[:40]
    calibrated = CalibratedRegressor(pipe, method="scale").fit(rows, y)
    alone = CalibratedRegressor(pipe[-1], method="scale").fit(scaled.transform(rows), y)
    np.testing.assert_array_equal(
        calibrated.predict_distribution(NUMBERS).scale,
        alone.predict_distribution(scaled.transform(NUMBERS)).scale,
    )
    fresh = CalibratedRegressor(make_pipeline(StandardScaler(), boosted()), method="scale")
    weighted = fresh.fit(NUMBERS, Y, sample_weight=np.arange(60) % 3)
    assert (weighted.predict_distribution(NUMBERS).scale > 0.0).all()


@pytest.mark.parametrize(("log", "exp"), [(np.log, np.exp), (np.log1p, np.expm1)])
def test_a_model_of_logs_is_calibrated_there_and_its_intervals_brought_back(log, exp):
    y, model_of_one = np.exp(Y), boosted().set_params(n_members=1)  # without knowledge
    inner = CalibratedRegressor(model_of_one, random_state=0).fit(NUMBERS, log(y))
    for regressor in (model_of_one, make_pipeline(StandardScaler(), model_of_one)):
        outer = TransformedTargetRegressor(regressor, func=log, inverse_func=exp)
        model = CalibratedRegressor(outer, random_state=0).fit(
            NUMBERS, y, sample_weight=np.ones(60)
        )
        interval = model.predict_distribution(NUMBERS).interval(0.9)
        expected = exp(inner.predict_distribution(NUMBERS).interval(0.9))
        np.testing.assert_allclose(interval, expected, rtol=1e-6)  # the optimum of the likelihood
    assert np.isfinite(scorer("neg_crps")(outer.fit(NUMBERS, y), NUMBERS, y))


def test_unfamiliarity_speaks_as_an_outlier_detector():
    model = make_pipeline(StandardScaler(), ESTIMATORS["unfamiliarity"]).fit(NUMBERS, Y)
    rows = np.array([[0.0, 0.0], [99.0, 0.0]])
    usual, strange = model.decision_function(rows)
    assert usual > 0.0 > strange
    np.testing.assert_allclose(
        model.score_samples(rows), model.decision_function(rows) - 0.95, rtol=SAME_SUM
    )
    with pytest.warns(FutureWarning, match="now called unfamiliarity"):
        np.testing.assert_array_equal(model.score(rows), -model.score_samples(rows))
