"""Every loss of each library is read as the library predicts, or costs one sentence."""

import numpy as np
import pytest
from model_file_parts import saved_catboost

from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.given_models.parsing import parse_model
from gbuq_core.trees.importers import leaf_source, load_leaf_source
from gbuq_core.trees.importers.objectives import LINK_OF, REFUSED, find_objective
from gbuq_core.trees.importers.plain_source import PlainSource

pytestmark = pytest.mark.parity
SINGLE = 2e-6  # XGBoost adds float32 numbers, and CatBoost's own exponent of them
rng = np.random.default_rng(0)
ROWS = rng.normal(size=(120, 3))
SUM = ROWS[:, 0] + 0.5 * np.sin(2 * ROWS[:, 1]) + 0.1 * rng.normal(size=120)
SHARES = 1 / (1 + np.exp(-SUM))
TARGETS = {
    "identity": SUM,
    "exp": np.exp(SUM / 2),
    "gaussian": SUM,
    "share": SHARES,
    "sigmoid": SUM > 0,
    "softmax": np.digitize(SUM, [-0.6, 0.6]),
    "sigmoids": np.digitize(SUM, [-0.6, 0.6]),
}
LARGE = {"huber", "fair", "mape", "gamma", "reg:squaredlogerror", "reg:gamma", "MAPE", "RMSPE"}
PARAMETERS = {"quantile": {"alpha": 0.7}, "reg:quantileerror": {"quantile_alpha": 0.7}}


class Mean:
    """A loss of one's own."""

    def calc_ders_range(self, approxes, targets, weights):
        return [(targets[i] - approxes[i], -1.0) for i in range(len(targets))]


class Trained:
    """A model of a library, its file, and what the library says of the rows."""

    def __init__(self, library, loss, link):
        y = TARGETS[link].astype(float)
        y = np.exp(SUM / 2) if loss in LARGE else y
        n_classes = {"num_class": 3} if link in ("softmax", "sigmoids") else {}
        getattr(self, f"_{library}")(loss, link, y, PARAMETERS.get(loss, {}), n_classes)

    def _lightgbm(self, loss, link, y, parameters, n_classes):
        import lightgbm

        known = {"objective": loss or None, "verbose": -1, "num_leaves": 5, "num_threads": 1}
        if not loss:
            known["objective"] = lambda sums, data: (sums - data.get_label(), np.ones(len(sums)))
        data = lightgbm.Dataset(ROWS, y)
        self.model = lightgbm.train({**known, **parameters, **n_classes}, data, 8)
        self.content = self.model.model_to_string().encode()
        self.predicted = self.model.predict(ROWS)

    def _xgboost(self, loss, link, y, parameters, n_classes):
        import xgboost

        known = {"objective": loss, "max_depth": 3, "nthread": 1, **parameters, **n_classes}
        data = xgboost.DMatrix(ROWS, y)
        if loss == "survival:aft":
            data = xgboost.DMatrix(ROWS)
            data.set_float_info("label_lower_bound", y)
            data.set_float_info("label_upper_bound", y)
        self.model = xgboost.train(known, data, 8)
        self.content = bytes(self.model.save_raw("json"))
        sums = self.model.predict(xgboost.DMatrix(ROWS), output_margin=True).astype(float)
        self.predicted = self.model.predict(xgboost.DMatrix(ROWS))
        if loss == "binary:logitraw":
            self.predicted = 1 / (1 + np.exp(-sums))
        if loss == "multi:softmax":
            self.predicted = np.exp(sums) / np.exp(sums).sum(axis=1, keepdims=True)

    def _catboost(self, loss, link, y, parameters, n_classes):
        import catboost

        needs = {
            "Quantile": ":alpha=0.7", "Expectile": ":alpha=0.7", "LogLinQuantile": ":alpha=0.7",
            "Lq": ":q=1.5", "Huber": ":delta=1", "Tweedie": ":variance_power=1.5",
            "Focal": ":focal_alpha=0.4;focal_gamma=2",
        }  # fmt: skip
        known = {"loss_function": loss + needs.get(loss, "")}
        if loss == "PythonUserDefinedPerObject":
            known = {"loss_function": Mean(), "eval_metric": "RMSE"}
        settings = {"iterations": 8, "depth": 3, "thread_count": 1, "allow_writing_files": False}
        self.model = catboost.CatBoost({**known, **settings})
        self.model.fit(ROWS, y, verbose=False)
        self.content = saved_catboost(self.model)
        kind = {"exp": "Exponent", "identity": "RawFormulaVal", "gaussian": "RawFormulaVal"}
        self.predicted = self.model.predict(ROWS, prediction_type=kind.get(link, "Probability"))
        if link == "gaussian":
            self.predicted = self.predicted[:, 0]


@pytest.mark.parametrize(
    ("library", "loss", "link"),
    [(library, *pair) for library, losses in LINK_OF.items() for pair in losses.items()],
)
def test_both_readers_predict_what_the_library_does(library, loss, link):
    if loss == "reg:expectileerror":
        pytest.skip("XGBoost 3.2 cannot train it yet")
    trained = Trained(library, loss, link)
    for task in find_objective(library, loss, {"softmax": 3, "gaussian": 2}.get(link, 1)).tasks:
        plain = PlainSource(parse_model(trained.content))
        if task != plain.task:
            plain = plain.for_numbers() if task == "regression" else plain
        expected = trained.predicted
        if task == "regression" and expected.ndim == 2:
            expected = expected[:, 1]
        if task == "classification" and expected.ndim == 1:
            expected = np.column_stack([1.0 - expected, expected])
        of_file = load_leaf_source(trained.content, task=task)
        for source in (leaf_source(trained.model, task), of_file, plain):
            if source.task == task:  # reg:logistic is a regression to who reads the file alone
                ask = source.predict if task == "regression" else source.predict_proba
                np.testing.assert_allclose(ask(ROWS), expected, rtol=SINGLE, atol=SINGLE)
        np.testing.assert_array_equal(of_file.leaf_matrix(ROWS), plain.leaf_matrix(ROWS))


@pytest.mark.parametrize("loss", REFUSED)
def test_a_loss_without_units_is_named(loss):
    with pytest.raises(InvalidParameter, match=f"^The model, trained with {loss}, "):
        find_objective("lightgbm", loss)


@pytest.mark.parametrize(
    ("library", "loss", "link"),
    [
        ("xgboost", "binary:hinge", "sigmoid"),
        ("lightgbm", "cross_entropy_lambda", "share"),
        ("catboost", "MultiCrossEntropy", "share"),
    ],
)
def test_both_readers_refuse_in_the_same_words(library, loss, link):
    if library == "catboost":
        import catboost

        model = catboost.CatBoost(
            {"loss_function": loss, "iterations": 2, "verbose": False, "allow_writing_files": False}
        )
        model.fit(ROWS, np.column_stack([SHARES, 1.0 - SHARES]))
        content = saved_catboost(model)
    else:
        trained = Trained(library, loss, link)
        model, content = trained.model, trained.content
    sentences = set()
    for read in (leaf_source, load_leaf_source):
        with pytest.raises(GbuqError) as caught:
            read(model if read is leaf_source else content, task="classification")
        sentences.add(str(caught.value))
    with pytest.raises(GbuqError) as caught:
        parse_model(content)
    assert sentences == {str(caught.value)}
