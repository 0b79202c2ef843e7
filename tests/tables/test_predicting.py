"""What methods say of a table's rows, and what they leave empty because they cannot tell it."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table

from gbuq_core.__main__ import main
from gbuq_core.errors import InvalidData
from gbuq_core.figures.table.learning import learning_figure
from gbuq_core.figures.table.rows import row_map_figure
from gbuq_core.lenses import describe_row, in_unit, table_report
from gbuq_core.lenses.pictures import kinds_of, ranking_kind, row_map_of, style_of
from gbuq_core.lenses.register import reader_choices
from gbuq_core.methods import METHODS
from gbuq_core.metrics import judge_doublings
from gbuq_core.tables import (
    explain_row,
    find_failures,
    infer_schema,
    learning_curve,
    prepare_training,
    rank_next,
    read_table,
    score_edited,
    score_table,
    to_csv_bytes,
)
from gbuq_core.tables.plan import BOOSTED, STACKED, table_methods
from gbuq_core.tables.predicting import fit_rows, predict_rows
from tests.project_parts import plan_of, quick, small_table

CASES = [(task, key) for task in ("regression", "classification") for key in table_methods(task)]
TARGETS = {"regression": "y", "classification": "level"}


def without_gaps(table):
    frame = table.data.to_pandas()
    return frame.assign(x=pd.to_numeric(frame.x).fillna(0.5))


@pytest.fixture(scope="module")
def content():
    return without_gaps(small_table(120)).to_csv(index=False).encode()


@pytest.fixture(scope="module")
def table(content):
    return read_table(content, "small.csv")


@pytest.mark.parametrize(("task", "key"), CASES)
def test_knowledge_is_empty_where_the_record_has_none(task, key, table):
    record = METHODS[key]
    if record.missing():
        pytest.skip(record.missing())
    boosted = key in (*BOOSTED, STACKED)
    plan = quick(method=key, ensemble="independent") if boosted else plan_of(key)
    prepared = prepare_training(table, infer_schema(table), TARGETS[task])
    model = fit_rows(plan, prepared, np.arange(100))
    n_classes = len(prepared.target.classes)
    uncertainty = predict_rows(model, prepared.X, prepared.y, n_classes, 1.0).uncertainty
    if "knowledge" in record.yields_for(task):
        assert np.isfinite(uncertainty.knowledge).all()
        assert uncertainty.knowledge.any()
    else:
        assert np.isnan(uncertainty.knowledge).all()
        np.testing.assert_array_equal(uncertainty.total, uncertainty.data)


@pytest.fixture(scope="module")
def scored(table):
    """A table scored by the nearest rows, with a second file half of whose rows have no target."""
    new = without_gaps(small_table(40, 1))
    new.loc[20:, "y"] = np.nan
    new = as_table(new, to_score=True)
    return score_table(table, "y", new=new, plan=plan_of("knn"))


def test_one_member_tells_no_knowledge(table):
    plan = quick(ensemble="independent", n_members=1)
    for target in TARGETS.values():
        fitted = score_table(table, target, plan=plan)
        assert np.isnan(fitted.predictions.uncertainty.knowledge).all()
        assert fitted.frame["knowledge_uncertainty"].isna().all()
        explained = explain_row(fitted, 3)
        assert np.isnan(explained.uncertainty.knowledge).all()
        totals = [abs(effect.total) for effect in explained.effects]
        assert totals == sorted(totals, reverse=True)
        with pytest.raises(InvalidData, match="tells no knowledge uncertainty"):
            find_failures(fitted, "knowledge")


def test_what_is_not_known_is_empty_in_files_and_orders_nothing(scored):
    written = pd.read_csv(io.BytesIO(to_csv_bytes(scored.frame)))
    assert written["knowledge_uncertainty"].isna().all()
    np.testing.assert_array_equal(written["total_uncertainty"], written["data_uncertainty"])
    assert np.isnan(scored.scores.prr.knowledge)
    assert kinds_of(scored) == ("total", "data")
    following = rank_next(scored, n=3)
    assert len(following.rows) == 3
    assert (following.weight > 0.0).all()
    assert np.isnan(following.knowledge).all()
    assert np.isnan(score_edited(scored, 0, {}).uncertainty.knowledge[0])
    assert ranking_kind(scored, "knowledge") == "total"


def test_pictures_and_words_say_that_knowledge_is_not_known(scored, table):
    shown = in_unit(scored, "std")
    figure = row_map_figure(row_map_of(scored, shown, 3))
    json.dumps(figure.spec, allow_nan=False)
    assert [reading["name"] for reading in figure.spec["read"]["values"]] == ["data", "error"]
    assert figure.spec["panels"][0]["ticks"]["labels"] == ["\N{EN DASH}"]
    assert "Knowledge uncertainty is unknown" in figure.spec["alt"]
    assert "knowledge not known" in describe_row(scored, shown, None, 3)
    page = table_report(scored, table, reader_choices(by="knowledge"), "").decode()
    assert "kNN tells no knowledge uncertainty." in page
    assert "NaN" not in page


def test_a_flat_curve_without_knowledge_is_not_called_noise():
    rng = np.random.default_rng(0)
    flat = 1.0 + 1e-4 * rng.normal(size=(4, 4))
    assert judge_doublings(flat, 0.1).word == "noise"
    assert judge_doublings(flat, np.nan).word == "undecided"


def test_a_learning_curve_leaves_out_the_line_of_what_is_not_known(scored):
    curve = learning_curve(scored, 3)
    figure = learning_figure(curve, style_of(scored), "")
    json.dumps(figure.spec, allow_nan=False)
    assert "knowledge" not in [part["name"] for part in figure.spec["legend"]]
    assert np.isnan(curve.verdict().knowledge_share)


def test_blocks_leave_it_empty_too(content, tmp_path, capsys):
    train, out = tmp_path / "train.csv", tmp_path / "out.csv"
    train.write_bytes(content)
    words = [str(train), str(train), "--target", "y", "--method", "knn", "--quiet"]
    assert main(["score", *words, "--out", str(out), "--stream", "--unfamiliarity", "no"]) == 0
    frame = pd.read_csv(out)
    assert frame["knowledge_uncertainty"].isna().all()
    np.testing.assert_array_equal(frame["total_uncertainty"], frame["data_uncertainty"])
    assert main(["explain", *words[:1], *words[2:-1], "--row", "3", "--by", "knowledge"]) == 0
    printed = capsys.readouterr()
    assert "tells no knowledge uncertainty: the columns are in the order of total" in printed.err
    assert "knowledge not known" in printed.out
