"""Your data with a model of the reader's own: used, and refused without harm to the page."""

import time

from streamlit.testing.v1 import AppTest

from gbuq_core.jobs import RUNNER
from tests.app.your_data_page import says


def panel():
    """The panel alone, as the page draws it, with the kind of model that the address names."""
    import lightgbm
    import numpy as np
    import streamlit as st

    from gbuq_core.tables import Edits, ScorePlan, infer_schema, read_table
    from pages._ui.your_data.given import draw_given
    from pages._ui.your_data.keeping import KeptFile, Restored
    from pages._ui.your_data.source import Opened
    from pages._ui.your_data.training import Wanted

    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 120)).round(4)
    y = (x * z + 0.1 * rng.normal(size=120)).round(4)
    lines = "\n".join(",".join(map(str, row)) for row in zip(x, z, y, strict=True))
    table = read_table(f"x,z,y\n{lines}\n".encode())
    schema = infer_schema(table)
    settings = {"verbose": -1, "num_leaves": 4, "min_data_in_leaf": 5}
    data = lightgbm.Dataset(np.column_stack([z, x]), y, feature_name=["z", "x"])
    model = lightgbm.train(settings, data, 40).model_to_string().encode()
    kind = st.query_params.get("kind", "good")
    if kind == "bad":
        model = b"\x80\x04 a pickle"
    elif kind == "sum":
        import catboost
        from model_file_parts import saved_catboost

        quiet = {"iterations": 3, "depth": 2, "verbose": False, "allow_writing_files": False}
        table_rows, shifted = np.column_stack([z, x]), y - y.min() + 1
        summands = [
            catboost.CatBoost({"loss_function": loss, **quiet}).fit(table_rows, shifted)
            for loss in ("RMSE", "Poisson")
        ]
        model = saved_catboost(catboost.sum_models(summands))
    file = Restored(KeptFile("model.txt", model, "id"))
    wanted = Wanted("key", Edits(), "y", None, ScorePlan(), "")
    opened = Opened("key", table, schema, "y", "", True)
    draw_given((kind, file), wanted, opened, schema, None, "std")


def settled(at):
    """Run until the model is read and the rows are judged."""
    at.run()
    until = time.monotonic() + 240.0  # an idle machine takes 5 s, of which the process takes 2
    while RUNNER._live and time.monotonic() < until:
        time.sleep(0.05)
    return at.run()


def test_a_model_judges_the_rows():
    at = settled(AppTest.from_function(panel, default_timeout=120))
    assert not at.exception
    assert says(at, "LightGBM regression, boosted trees: 40 trees, 2 features.")
    assert says(at, "The columns of the table are put in the model's order.")
    assert says(at, "LightGBM itself predicts the same for the first 120 rows.")
    assert says(at, "It falls into the same leaves as the training rows")
    (near,) = [frame.value for frame in at.dataframe if list(frame.value)[:2] == ["c0", "c1"]]
    assert len(near) == 5
    at.selectbox(key="_given_rank").set_value("novelty").run()
    assert not at.exception


def test_a_bad_file_costs_one_sentence():
    at = AppTest.from_function(panel, default_timeout=120)
    at.query_params["kind"] = "bad"
    settled(at)
    assert not at.exception
    assert says(at, "The file is a pickle or an archive, which is never opened")
    assert says(at, "Your table is still open")
    assert not at.dataframe


def test_a_file_without_its_loss_asks_for_it():
    at = AppTest.from_function(panel, default_timeout=120)
    at.query_params["kind"] = "sum"
    settled(at)
    assert says(at, "does not say by which loss it was trained")
    at.selectbox(key="_given_losssum").set_value("RMSE")
    settled(at)
    assert not at.exception
    assert says(at, "CatBoost regression, boosted trees: 6 trees, 2 features.")
    assert says(at, "truncations would cut between them")
    assert says(at, "This model gives no knowledge uncertainty")
    assert at.selectbox(key="_given_rank").options == ["Novelty", "Data"]
    assert at.selectbox(key="_given_losssum").value == "RMSE"
