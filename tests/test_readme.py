"""What README and the guides promise: code runs, claims hold, commands and places exist."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tolerances import SAME_SUM

from demos import NAMES
from gbuq_core import BoostedEnsembleRegressor

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Guides whose Python is run elsewhere.
RUN_ELSEWHERE = {"cluster.md", "code.md", "own_models.md"}


def guide(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def blocks(language, text=README):
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def run(name, number=0):
    """The names that a block of Python in a guide leaves behind."""
    names = {}
    exec(blocks("python", guide(name))[number], names)
    return names


def test_a_plain_fit_gives_intervals_that_hold():
    names = {}
    (code,) = blocks("python")
    exec(code, names)
    y = names["y"][350:]
    inside = int(((names["low"] <= y) & (y <= names["high"])).sum())
    (written,) = re.findall(r"# (\d+) of the 92 rows are inside", README)
    calibration = guide("methods/calibration.md")
    (before,) = re.findall(r"(\d+) of the 92\s+rows are inside", calibration)
    # Sums in another order (another processor) may move a row that lies on the edge.
    assert abs(inside - int(written)) <= 2
    papers = BoostedEnsembleRegressor(stopping=None, random_state=0)
    loc, scale = papers.fit(names["X"][:350], names["y"][:350]).predict_distribution(
        names["X"][350:]
    )
    assert abs(int((np.abs(y - loc) <= 1.645 * scale).sum()) - int(before)) <= 3


def test_the_heart_code_runs_and_its_claim_holds():
    names = run("methods/sglb.md")
    heart = names["heart"]
    filled = np.asarray(heart.in_support).ravel()
    assert (~filled).sum() == 17
    assert names["knowledge"][~filled].min() > names["knowledge"][filled].max()
    # One rounding of a sum of two float64.
    np.testing.assert_allclose(names["total"], names["data"] + names["knowledge"], rtol=SAME_SUM)


def test_most_of_cyclical_knowledge_is_of_the_first_cycles():
    names = run("methods/cyclical.md")
    assert names["late"] < 0.15 * names["every"]  # the guide says a tenth; 0.09 when written


def test_the_scale_of_neighbours_follows_the_noise():
    names = run("methods/ibug.md")
    # k is some tens: a std of so many targets is right to a fifth or so, and the leaves are coarse.
    np.testing.assert_allclose(names["scale"], [0.1, 0.9], rtol=0.6)
    assert names["rows"].shape == names["affinities"].shape
    assert names["affinities"].max() <= names["model"].n_trees_


def test_functions_of_a_soft_tree_fan_out_in_the_gap():
    names = run("methods/soft_trees.md")
    assert names["functions"].shape == (100, 3)
    assert names["middle"] > 10 * max(names["left"], names["right"])  # some 100 when written
    x = names["gap"].X
    assert ((x > -0.8) & (x < 0.8)).sum() == 0


def test_leaf_models_know_the_noise_and_novelty_the_rows():
    names = run("methods/macau.md")
    # The noise's std is 0.1 and 0.9; a leaf is wide, which adds up to a third at x = 1.
    np.testing.assert_allclose(names["noise"][:2], [0.1, 0.9], rtol=0.5)
    assert names["novelty"][2] > 40.0 > 10.0 * np.abs(names["novelty"][:2]).max()


def test_intervals_of_another_librarys_model_are_made_to_hold():
    pytest.importorskip("catboost")
    names = run("calibrate.md")
    y = names["y"][350:]
    inside = int(((names["low"] <= y) & (y <= names["high"])).sum())
    ((written, before),) = re.findall(
        r"# (\d+) of the 92 rows; CatBoost's own: (\d+)", guide("calibrate.md")
    )
    assert abs(inside - int(written)) <= 2  # sums in another order may move a row on the edge
    theirs = names["theirs"].fit(names["X"][:350], names["y"][:350])
    loc, variance = theirs.predict(names["X"][350:], prediction_type="RMSEWithUncertainty").T
    assert abs(int((np.abs(y - loc) <= 1.645 * np.sqrt(variance)).sum()) - int(before)) <= 3


def test_intervals_adapt_and_sets_hold_the_class():
    names = run("calibrate.md", 1)
    inside = (names["y"][300:] >= names["low"]) & (names["y"][300:] <= names["high"])
    assert inside.mean() == names["adaptive"].coverage_
    assert abs(inside.mean() - 0.9) < 0.02
    names = run("calibrate.md", 2)
    right = names["sets"][np.arange(89), names["y"][1::2]]
    assert right.mean() > 0.87  # three and a half deviations of 89 rows below .95


def test_a_virtual_ensemble_is_saved_and_read_again(tmp_path, monkeypatch):
    pytest.importorskip("catboost")
    monkeypatch.chdir(tmp_path)
    names = run("methods/sglb.md", 1)
    own = names["ensemble"].predict_uncertainty(names["X"][350:])
    for part in ("total", "data", "knowledge"):
        np.testing.assert_array_equal(names[part], getattr(own, part))
    assert (names["knowledge"] > 0.0).all()
    assert [path.name for path in tmp_path.iterdir()] == ["diabetes.gbuq"]


def test_means_rise_with_a_monotone_column():
    small, middle, large = run("methods/sglb.md", 2)["means"]
    assert (small <= middle).all()
    assert (middle <= large).all()
    assert (small < large).any()


def test_stacked_voices_keep_zeros_and_doubt_beyond_the_rows():
    names = run("methods/stacking.md")
    assert names["model"].support_.low_mass
    assert (names["lower"] >= 0.0).all()
    assert (names["zero"] > 0.1).all()
    assert names["model"].weights_["targets"] + names["model"].weights_["residuals"] > 0.2


def test_a_strange_row_is_unfamiliar_and_its_column_to_blame():
    names = run("methods/unfamiliarity.md")
    assert names["scores"][0] == 1.0
    assert 0.02 <= np.mean(names["scores"] > 0.9) <= 0.2
    reason = names["reason"]
    assert (reason.part, reason.column, reason.what) == ("range", "bmi", "above")
    largest = float(names["X"]["bmi"][:350].max())
    assert 5.0 < 1.0 / largest < 6.5


def test_a_picture_of_a_notebook_has_its_knob():
    names = run("notebook.md")
    (written,) = re.findall(r"widget\.knobs  # (\{.*?\})", guide("notebook.md"))
    assert names["widget"].knobs == {"level": 0.9}
    assert str(names["widget"].knobs) == written


@pytest.mark.parametrize("number", range(len(blocks("python", guide("showing.md")))))
def test_what_docs_say_of_showing_runs(number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run("showing.md", number)
    written = [path.name for path in tmp_path.iterdir()]
    output = capsys.readouterr().out
    assert (written, "of 3 seeds" in output) in (
        (["heart.ipynb"], False),
        (["band.html"], False),
        ([], True),
    )


def test_capacity_is_chosen_as_the_guide_says(capsys):
    names = run("methods/calibration.md")
    assert float(capsys.readouterr().out.split()[0]) > 0.0
    model = names["model"]
    assert model.plan_.depth == 6  # deeper ones are tried from 2,000 rows on
    assert 0 < model.n_trees_ <= 4 * 50


def test_what_docs_say_of_large_files_runs(capsys):
    names = run("large_files.md")
    assert "from 500 of 3,000 rows" in capsys.readouterr().out
    assert (names["scored"].n_rows, names["scored"].n_parts) == (3000, 1)
    assert len(names["frame"]) == 3000


def test_the_three_uncertainties_of_two_rows():
    names = run("uncertainty.md")
    (written,) = re.findall(r"# row 1: .* \((.*?)\); row 2: .* \((.*?)\)", guide("uncertainty.md"))
    rows = zip(names["total"], names["data"], names["knowledge"], strict=True)
    assert [", ".join(f"{part:g}" for part in row) for row in rows] == list(written)


def test_a_table_is_scored_as_the_guide_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run("score.md")
    listed = re.findall(r"^\| (`.*?) \|", guide("score.md"), flags=re.MULTILINE)
    columns = {name for row in listed for name in re.findall(r"`(\w+)`", row)}
    added = {"unfamiliarity", "times_beyond", "novelty", "outside_columns"}  # by the command line
    assert columns - added <= set(names["scored"].frame)
    assert added <= columns
    knowledge = names["scored"].frame["knowledge_uncertainty"]
    assert names["first"]["knowledge_uncertainty"].iloc[0] == knowledge.max()


def test_a_project_is_kept_as_the_guide_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    houses = pd.DataFrame(
        {"size": rng.uniform(20, 120, 120).round(1), "rooms": rng.integers(1, 6, 120)}
    )
    houses.assign(price=3.0 * houses["size"] + rng.normal(size=120)).to_csv(
        "houses.csv", index=False
    )
    houses[:7].to_csv("new.csv", index=False)
    names = run("projects.md")
    assert len(names["scored"].frame) == 7
    assert "knowledge_uncertainty" in names["scored"].frame


def test_no_guide_has_python_that_is_not_run():
    """Each file with Python in it has a test here, or in the room that it is about."""
    tested = Path(__file__).read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").as_posix()
        n_blocks = len(blocks("python", path.read_text(encoding="utf-8")))
        if name not in RUN_ELSEWHERE and name != "showing.md":
            assert tested.count(f'run("{name}"') == n_blocks, name


def test_the_lessons_that_the_guide_names_are_all_there_are():
    (row,) = re.findall(r"^\| Learn \|.*$", guide("pages.md"), flags=re.MULTILINE)
    assert sorted(re.findall(r"demos\.(\w+)", row)) == sorted(NAMES)


def test_each_command_is_one_line_from_a_fresh_environment():
    app, test = (block.strip() for block in blocks("bash"))
    start = "python3 -m venv .venv && .venv/bin/pip install -r "
    assert app == f"{start}requirements.txt && .venv/bin/streamlit run app.py"
    assert test.startswith(f"{start}requirements-dev.txt && .venv/bin/python -m pytest")


def test_the_places_exist():
    rows = re.findall(r"^\| (`.*?) \|", guide("code.md"), flags=re.MULTILINE)
    places = [place for row in rows for place in re.findall(r"`([^`]+)`", row)]
    assert "gbuq_core/" in places
    assert [place for place in places if not (ROOT / place).exists()] == []
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / link).exists()
