"""Noise that grows through AppTest: picture, scores, states of a fit, and what it gives away."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.experiments.experiment import account_html, account_sections
from gbuq_core.figures.standalone import Section
from gbuq_core.settings import plan_of
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC, METHODS, HeteroscedasticSettings, fit
from pages._ui.experiment import draw_compared
from pages._ui.jobs_glue import Answer, Request
from pages._ui.side_by_side import view_answers
from pages._ui.study import state_of
from tests.app.experiment_page import curves, drawn, move, open_page, settle, words
from tests.page_parts import curves_of

SETTINGS = HeteroscedasticSettings(methods=("macau_basic",), rows=500, trees=20, subsample=0.2)


def picture(at):
    """The specification of the picture."""
    return curves(at, "heteroscedastic")


@pytest.fixture(scope="module")
def run():
    return HETEROSCEDASTIC.run(SETTINGS)


def test_what_is_fitted_is_drawn_and_told_and_tables_hold_its_scores(run):
    at = open_page("heteroscedastic")
    assert HETEROSCEDASTIC.describe(run) in words(at)
    assert all(drawn(at))
    assert "in-distribution rows lie below" in picture(at)["alt"]
    told = " ".join(markdown.value for markdown in at.markdown)
    for section in HETEROSCEDASTIC.scores(run):
        for name, value in section.table[1:]:
            assert name == "Fit, s" or f"| {name} | {value} |" in told
    # Settings that are not the paper's are told, and another noise has no CRPS of its.
    settle(move(at, "noise_slope", 0.2))
    assert any("noise per unit of x 0.2 (there 0.1)" in caption.value for caption in at.caption)
    assert any("The paper's CRPS is left out" in caption.value for caption in at.caption)


def test_methods_stand_side_by_side_and_say_what_they_lack():
    labels = ["MACAU (basic)", "Conformal, linear", "Isolation forest"]
    panels = picture(open_page("heteroscedastic", methods=labels))["panels"]
    assert [panel["title"] for panel in panels] == labels
    assert [panel["note"] for panel in panels] == ["", "data only", "predicts nothing"]
    texts = [panel["below"]["layers"][-1]["text"] for panel in panels]
    assert texts[0] == "novelty, z-score"
    assert texts[2] == "isolation; no novelty"


def test_leaves_that_a_tree_cannot_have_are_explained():
    page = open_page("heteroscedastic", rows="200", subsample="0.05")
    assert any("cannot be cut into two leaves" in text for text in words(page))
    assert picture(page)["panels"][0]["title"] == "Rows"


def test_the_page_opens_with_one_method_named_on_its_lines_and_an_answer_then_all_when_asked():
    labels = [METHODS[key].label for key in HeteroscedasticSettings().methods]
    page = open_page("heteroscedastic", methods=labels)
    for every, titles in ((False, labels[:1]), (True, labels)):
        spec = picture(settle(move(page, "every", every)))
        assert [panel["title"] for panel in spec["panels"]] == titles
        assert {"at" in entry for entry in spec["legend"]} == {not every}
        popover = page.get("popover")[0].proto.popover
        assert popover.label.startswith("Among the rows, the 95 % band of MACAU (linear) holds ")


@pytest.mark.parametrize(
    ("state", "error", "note"),
    [
        ("running", "", "training"),
        ("cancelled", "", "cancelled"),
        ("failed", "The fit failed (X).", "no result"),
    ],
)
def test_a_panel_without_a_prediction_keeps_its_place_and_says_why(state, error, note):
    answer = Answer("gnll", Request("gnll", 1, print), state, None, False, None, error, None)
    spec = figure_of([answer]).spec
    assert [(panel["title"], panel["note"]) for panel in spec["panels"]] == [("GNLL", note)]


def figure_of(answers):
    shown = view_answers(HETEROSCEDASTIC, SETTINGS, answers)
    bare = state_of(HETEROSCEDASTIC)._replace(knobs=())
    return draw_compared(HETEROSCEDASTIC, bare, SETTINGS, shown, SimpleNamespace())


def test_a_fit_of_other_rows_is_shown_with_its_own_until_the_next_is_there():
    trained = fit(plan_of(replace(SETTINGS, rows=300, seed=1), "conformal_linear"))
    request = Request("conformal_linear", 1, print)
    answer = Answer("conformal_linear", request, "running", trained, False, 0.1, "", None)
    (panel,) = figure_of([answer]).spec["panels"]
    assert panel["note"] == "previous settings"
    dots = next(part for part in panel["layers"] if part["kind"] == "dots")
    assert len(dots["x"]) == 300
    mean = HETEROSCEDASTIC.view(trained, SETTINGS).at.mean
    np.testing.assert_allclose(panel["layers"][-1]["y"][-1], mean[-1], rtol=5.1e-5)  # five digits


def test_the_page_to_take_away_holds_picture_words_scores_and_code(run):
    request = Request("macau_basic", 1, print)
    answer = Answer("macau_basic", request, "done", run.fits[0], True, 0.1, "", None)
    words, claims = HETEROSCEDASTIC.describe(run), HETEROSCEDASTIC.judge(run)
    picture = Section(curves=figure_of([answer]), caption=words)
    sections = account_sections(HETEROSCEDASTIC, run, [picture], claims)
    page = account_html(HETEROSCEDASTIC, run, sections).decode()
    other = "The paper and this picture", "rows 500 (there 2,000)", "attributes the noise to data"
    for part in ("MACAU (basic)", words, "Novelty, in the paper", "Python", *other):
        assert part in page
    (drawing,) = curves_of(page)
    assert [panel["title"] for panel in drawing["panels"]] == ["MACAU (basic)"]
