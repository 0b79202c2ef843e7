"""What results draw by their method `plot`: cells, bands, neighbours, and clear refusals."""

import numpy as np
import pandas as pd
import pytest
from refusal_parts import refused
from tolerances import NEAR_ZERO, SAME_SUM

from gbuq_core.distribution import LogDistribution, NormalDistribution, StudentDistribution
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.curves import Curves, pack_curves
from gbuq_core.figures.places import lay_cells, read_places
from gbuq_core.ibug.affinity import Neighbours
from gbuq_core.ibug.class_view import ClassNeighbors
from gbuq_core.macau.results import Novelty
from gbuq_core.sampling import sample_mixture
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.unfamiliarity.score import Unfamiliarity

X1 = np.linspace(-2.0, 3.0, 60)
GRID = np.stack(np.meshgrid(np.linspace(0, 5, 6), np.linspace(-1, 1, 4)), -1).reshape(-1, 2)


def grid_result():
    data = np.arange(24.0)
    return Uncertainty(2 * data, data, data)


def drawn(figure):
    """The figure, once its renderer's packer has taken it."""
    if isinstance(figure, PanelSheet):
        encode_sheet(figure)
    else:
        assert isinstance(figure, Curves)
        pack_curves(figure.spec)
    return figure


def test_rows_on_an_even_grid_fill_its_cells():
    sheet = drawn(grid_result().plot(GRID, X_rows=GRID[:5], unit="nats"))
    np.testing.assert_array_equal(sheet.panels[2].values, np.arange(24.0).reshape(4, 6))
    np.testing.assert_allclose(sheet.x_extent, (-0.5, 5.5))
    np.testing.assert_allclose(sheet.y_extent, (-4 / 3, 4 / 3))
    # Total and data share their colours; knowledge has its own.
    assert [panel.limits for panel in sheet.panels] == [(0.0, 46.0), (0.0, 46.0), (0.0, 23.0)]
    assert sheet.blank_label == ""
    assert np.size(sheet.panels[0].points.x) == 5


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_rows_does_not_matter(order):
    mixed = np.random.default_rng(0).permutation(24)[::order]
    parts = [part[mixed] for part in grid_result()]
    sheet = Uncertainty(*parts).plot(GRID[mixed])
    np.testing.assert_array_equal(sheet.panels[1].values, np.arange(24.0).reshape(4, 6))


def test_a_grid_may_have_holes():
    kept = np.delete(np.arange(24), [3, 10])
    sheet = Uncertainty(*(part[kept] for part in grid_result())).plot(GRID[kept])
    wanted = np.arange(24.0)
    wanted[[3, 10]] = np.nan
    np.testing.assert_array_equal(sheet.panels[1].values.ravel(), wanted)
    assert sheet.blank_label == "no rows here"


def test_scattered_rows_are_averaged_in_cells():
    rows = np.random.default_rng(1).normal(size=(500, 2))
    cells = lay_cells(rows)
    assert cells.shape == (14, 14)
    mean = cells.mean(rows[:, 0])
    # A cell's mean of x lies within its edges.
    edges = np.linspace(*cells.x_extent, 15)
    low, high = (np.broadcast_to(ends, (14, 14)) for ends in (edges[:-1], edges[1:]))
    known = np.isfinite(mean)
    assert (mean[known] >= low[known] - NEAR_ZERO).all()
    assert (mean[known] <= high[known] + NEAR_ZERO).all()
    total = np.nansum(mean * np.bincount(cells.cell, minlength=196).reshape(14, 14))
    np.testing.assert_allclose(total, rows[:, 0].sum())


@pytest.mark.parametrize("column", [[5.0, 5.0], [1e-300, 2e-300], [1e12, 1e12 + 1]])
def test_cells_have_room_whatever_the_numbers(column):
    rows = np.column_stack([column, [0.0, 1.0]])
    low, high = lay_cells(rows).x_extent
    assert low < high
    assert np.isfinite([low, high]).all()


def test_what_varies_is_drawn_of_a_wide_table():
    frame = pd.DataFrame({"age": GRID[:, 0], "sex": 1.0, "bmi": GRID[:, 1]})
    sheet = drawn(grid_result().plot(frame))
    assert (sheet.x_label, sheet.y_label) == ("age", "bmi")
    frame["sex"] = np.arange(24.0)
    with pytest.raises(InvalidParameter, match="3 of the 3 columns of X vary; name one or two"):
        grid_result().plot(frame)
    sheet = drawn(grid_result().plot(frame, columns=("bmi", "age")))
    assert (sheet.x_label, sheet.y_label) == ("bmi", "age")
    assert drawn(grid_result().plot(frame, columns=0)).spec["x"]["label"] == "age"


@pytest.mark.parametrize(
    ("X", "columns", "error", "sentence"),
    [
        (GRID[:3], None, InvalidData, "the 24 rows that the result is for; it has 3"),
        (GRID, "weight", InvalidParameter, "no column 'weight'"),
        (GRID, 2, InvalidParameter, "no column 2"),
        (GRID, (0, 1, 0), InvalidParameter, "one or two columns; got 3"),
        (np.full(24, "a"), None, InvalidData, "needs columns of numbers; x is not one"),
        (np.full((24, 2), np.nan), None, InvalidData, "at least one row without missing"),
        (np.ones(24), None, InvalidData, "rows at two places"),
        (np.ones((24, 1, 1)), None, InvalidData, "rows and columns"),
    ],
)
def test_rows_that_cannot_be_drawn_are_refused_in_one_sentence(X, columns, error, sentence):
    with refused(error, sentence):
        grid_result().plot(X, columns=columns)


def test_over_one_feature_uncertainties_are_stacked():
    result = Uncertainty(X1**2 + 1, np.ones(60), X1**2)
    figure = drawn(result.plot(X1[::-1, None], X_rows=X1[:7]))
    data, knowledge, total, rows = figure.spec["panels"][0]["layers"]
    np.testing.assert_allclose(data["high"], 1.0)
    np.testing.assert_allclose(knowledge["low"], data["high"])
    np.testing.assert_allclose(knowledge["high"], total["y"])
    assert len(rows["x"]) == 7


@pytest.mark.parametrize(
    "law",
    [
        NormalDistribution(X1, 0.1 + X1**2),
        StudentDistribution(X1, 0.1 + X1**2, 4.0),
        LogDistribution(NormalDistribution(X1, np.ones(60))),
    ],
    ids=lambda law: type(law).__name__,
)
def test_every_level_of_the_band_is_the_laws_own_interval(law):
    figure = drawn(law.plot(X1, X_rows=X1[:9], y_rows=X1[:9], level=0.7, label="price"))
    (knob,) = figure.knobs
    assert knob.choices[knob.value] == 0.7
    settings = figure.spec["live"]["settings"]
    for level, setting in zip(knob.choices, settings, strict=True):
        lower, upper = law.interval(level)
        band, *edges = setting["layers"]
        assert [edge["y"] for edge in edges] == [band["low"], band["high"]]
        np.testing.assert_allclose(band["low"], lower, rtol=1e-4)
        np.testing.assert_allclose(band["high"], upper, rtol=1e-4)
    # What is drawn first is the setting of the knob, with the rows before it.
    panel = figure.spec["panels"][0]
    assert panel["layers"][:3] == settings[knob.value]["layers"]
    assert figure.spec["legend"] == settings[knob.value]["legend"]
    assert panel["label"] == "price"


def test_the_paler_part_of_a_band_is_data_uncertainty():
    share = 0.25
    parts = Uncertainty(np.ones(60), np.full(60, share), np.full(60, 1 - share))
    figure = drawn(NormalDistribution(X1, np.ones(60)).plot(X1, uncertainty=parts))
    below, data, above, *edges = figure.spec["live"]["settings"][2]["layers"]
    lower, upper = NormalDistribution(X1, np.full(60, share**0.5)).interval(0.9)
    np.testing.assert_allclose(data["low"], lower, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(data["high"], upper, rtol=1e-4, atol=1e-4)
    assert (below["high"], above["low"]) == (data["low"], data["high"])
    assert [edge["y"] for edge in edges] == [below["low"], above["high"]]
    with pytest.raises(InvalidData, match="of the 60 rows of the prediction; it is of 24"):
        NormalDistribution(X1, np.ones(60)).plot(X1, uncertainty=grid_result())


def test_a_prediction_over_two_features_is_two_maps():
    law = NormalDistribution(np.arange(24.0), np.ones(24))
    sheet = drawn(law.plot(GRID, label="y (m)"))
    titles = [(panel.title, panel.unit) for panel in sheet.panels]
    assert titles == [("Prediction", "y (m)"), ("Std", "y (m)")]


def test_novelty_and_unfamiliarity_are_drawn_over_one_and_two_features():
    scores = [np.arange(24.0) + i for i in range(6)]
    sheet = drawn(Novelty(*scores).plot(GRID, X_rows=GRID[:4]))
    np.testing.assert_array_equal(sheet.panels[2].values, np.arange(24.0).reshape(4, 6) + 2)
    curves = drawn(Novelty(*scores).plot(GRID, columns=0))
    names = ["Novelty", "Conditional novelty", "Inference novelty"]
    assert [entry["name"] for entry in curves.spec["legend"]] == names
    # The mean of the rows at one place.
    np.testing.assert_allclose(curves.spec["read"]["values"][0]["at"], np.arange(6) + 9.0)
    rank = np.linspace(0, 1, 24)
    judged = Unfamiliarity(
        score=rank, times_beyond=rank, parts=("range",), ranks=rank[:, None], values=rank[:, None]
    )
    assert len(drawn(judged.plot(GRID)).panels) == 2


NEAR = Neighbours(np.array([[3, 1, 2], [0, 5, -1]]), np.array([[9, 7, 7], [4, 2, 0]]))


def dots_of(figure, colour="#d55e00"):
    layers = figure.spec["panels"][0]["layers"]
    return sorted(
        at for part in layers if part.get("colour") == colour for at in part.get("at", ())
    )


def test_neighbours_are_the_strong_dots_among_all_rows():
    figure = drawn(NEAR.plot(GRID, X=GRID[[3, 0]]))
    assert dots_of(figure) == [1, 2, 3]
    assert figure.spec["panels"][0]["ring"]["x"] == 3.0
    shared = figure.spec["read"]["values"][2]["at"]
    assert (shared[3], shared[1], shared[0]) == (9.0, 7.0, None)
    over_x = drawn(NEAR.plot(X1, X1**2, X=[[0.5], [9.0]], row=1, label="price"))
    assert dots_of(over_x) == [0, 5]
    assert over_x.spec["x"]["range"][1] > 9.0  # the row itself is seen
    assert over_x.spec["panels"][0]["label"] == "price"


def test_neighbours_that_cannot_be_drawn_are_refused():
    with pytest.raises(InvalidParameter, match="needs the targets: pass y_rows"):
        NEAR.plot(X1)
    with pytest.raises(InvalidParameter, match="the 2 rows that were asked for; got 2"):
        NEAR.plot(X1, X1, row=2)
    with pytest.raises(InvalidData, match="it has 2 rows, and one neighbour is row 4"):
        NEAR.plot([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(InvalidData, match="one value for each of the 60 rows"):
        NEAR.plot(X1, X1[:3])
    with pytest.raises(InvalidParameter, match="both X_rows and y_rows"):
        NormalDistribution(X1, np.ones(60)).plot(X1, X_rows=X1)


def test_places_with_missing_values_are_left_out():
    rows = GRID.copy()
    rows[0, 0] = np.nan
    sheet = drawn(grid_result().plot(rows))
    assert np.isnan(sheet.panels[0].values).sum() == 1
    assert read_places(pd.Series([1.0, 2.0], name="age")).names == ("age",)


@pytest.mark.parametrize(
    "rows", [GRID[:5], pd.DataFrame({"n": 0.0, "b": GRID[:5, 1], "a": GRID[:5, 0]})]
)
def test_rows_are_found_by_their_columns_names_or_places(rows):
    frame = pd.DataFrame(GRID, columns=["a", "b"])
    for columns in (None, ("b", "a")):
        points = grid_result().plot(frame, X_rows=rows, columns=columns).panels[0].points
        wanted = GRID[:5] if columns is None else GRID[:5, ::-1]
        np.testing.assert_array_equal(np.column_stack([points.x, points.y]), wanted)
    over_b = drawn(grid_result().plot(frame, X_rows=rows, columns="b"))
    np.testing.assert_allclose(over_b.spec["panels"][0]["layers"][3]["x"], GRID[:5, 1], rtol=1e-4)


def test_rows_of_another_table_are_refused():
    with pytest.raises(InvalidData, match=r"columns of X; it has 3, and X has 2\.$"):
        grid_result().plot(GRID, X_rows=np.ones((4, 3)))
    with pytest.raises(InvalidData, match=r"columns of X_rows; it has 3, and X_rows has 1\.$"):
        NEAR.plot(X1, X1, X=np.ones((2, 3)))


def test_chains_fill_the_target_they_come_from():
    chains = sample_mixture("cg", n_steps=20_000, n_chains=2, random_state=0)
    sheet = drawn(chains.plot(n_frames=5))
    assert sheet.frame_values == [4000, 8000, 12000, 16000, 20000]
    target, density = (np.asarray(panel.values) for panel in sheet.panels)
    cell = (12.0 / 60) ** 2
    points = chains.samples[:, chains.kept].reshape(-1, 2)
    inside = (np.abs(points) < 6.0).all(axis=1).mean()
    np.testing.assert_allclose(density[-1].sum() * cell, inside, rtol=SAME_SUM)
    np.testing.assert_allclose(target.sum() * cell, 1.0, atol=1e-3)
    drawn(chains.plot(n_frames=1, log=True))
    assert chains.plot(n_frames=1).frame_values is None
    with pytest.raises(InvalidData, match="25 modes"):
        chains.plot("ring")


def test_neighbours_of_a_class_name_the_classes():
    near = ClassNeighbors(
        np.array([[2, 1]]), np.array([[9, 4]]), np.array(["no", "yes"]), np.array([[0.0, 1.0]])
    )
    labels = ["no", "yes", "yes"]
    figure = drawn(near.plot([[0.0], [1.0], [2.0]], labels, X=[[2.5]]))
    assert figure.spec["read"]["y"] == [0, 1, 1]
    assert figure.spec["panels"][0]["label"] == "class: 0 no, 1 yes"
    over_two = drawn(near.plot([[0.0, 1.0], [1.0, 4.0], [2.0, 3.0]], X=[[2.5, 3.5]]))
    assert over_two.spec["panels"][0]["ring"]["x"] == 2.5
    with pytest.raises(InvalidData, match="none of the classes"):
        near.plot([[0.0], [1.0], [2.0]], ["no", "yes", "zebra"])
