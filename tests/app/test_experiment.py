"""A new experiment is a record and a page of one call: what the skeleton then shows."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

from gbuq_core.experiments.experiment import account_html, experiment_sections
from pages._ui.skeleton import FOLDS
from tests.app.drawn import sheets
from tests.app.waiting import run_when_done
from tests.toy_experiment import TOY, ToySettings, fit_toy

APP = Path(__file__).parent / "apps" / "toy.py"


def test_a_toy_experiment_has_a_page_that_asks_draws_answers_and_exports():
    at = run_when_done(AppTest.from_file(str(APP), default_timeout=60).run())
    fit = fit_toy(ToySettings())
    assert not at.exception
    assert [title.value for title in at.title] == [TOY.question]
    (sheet,) = sheets(at)
    assert [panel["title"] for panel in sheet.header["panels"]] == ["Truth", "Means: error"]
    assert sheet.header["quiet"]
    assert f"At most {fit.error.max():.3f}." in [
        popover.proto.popover.label for popover in at.get("popover")
    ]
    assert set(FOLDS) == {fold.label for fold in at.expander}
    assert any(f"{fit.error.max():.3f}" in text.value for text in at.markdown)
    assert "rows = 10" in [code.value for code in at.code]
    at = run_when_done(at.select_slider(key="rows").set_value(20).run())
    assert "rows = 20" in [code.value for code in at.code]
    assert sheets(at)[0].header["digest"] != sheet.header["digest"]
    run = TOY.gather(ToySettings(), [fit])
    page = account_html(TOY, run, experiment_sections(TOY, run, run.fits)).decode()
    assert "Largest error" in page
    assert "rows = 10" in page
