"""Heteroscedastic through AppTest: the picture, every knob, links, presets, states, exports."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.experiments.experiment import account_html, account_sections
from gbuq_core.experiments.heteroscedastic.claims import check_claims
from gbuq_core.experiments.heteroscedastic.experiment import (
    HETEROSCEDASTIC,
    foreign_section,
    intervals_section,
)
from gbuq_core.experiments.heteroscedastic.fit import (
    count_fits,
    fit_heteroscedastic,
    run_heteroscedastic,
    view_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    HeteroscedasticSettings,
    why_not,
)
from gbuq_core.experiments.heteroscedastic.scores import (
    SORTS,
    describe_heteroscedastic,
    score_all,
    sort_scores,
)
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.settings import plan_of
from pages._ui.experiment import draw_compared
from pages._ui.heteroscedastic.controls import STATE
from pages._ui.jobs_glue import Answer, Request
from pages._ui.side_by_side import view_answers
from tests.app.experiment_page import curves, drawn, move, open_page, settle, table, words
from tests.page_parts import curves_of

SETTINGS = HeteroscedasticSettings(methods=("macau_basic",), rows=500, trees=20, subsample=0.2)


def picture(at):
    """The specification of the picture."""
    return curves(at, "heteroscedastic")


@pytest.fixture(scope="module")
def run():
    return run_heteroscedastic(SETTINGS)


def lines_of(panel, n):
    return [part for part in panel["layers"] if part["kind"] == "line" and len(part["x"]) == n]


def test_figures_write_methods_as_the_experiment_does():
    assert {key: METHOD_STYLES[key].label for key in METHODS} == {
        key: method.label for key, method in METHODS.items()
    }


def test_what_is_fitted_is_drawn_and_told_and_tables_hold_its_scores(run):
    at = open_page("heteroscedastic")
    (panel,) = picture(at)["panels"]
    (view,) = run.views
    mean = lines_of(panel, 241)[-1]
    np.testing.assert_allclose(
        np.interp(view.x, mean["x"], mean["y"]),
        view.loc,
        # A tree's step may lie between two of the 241 places, 0.125 apart: steps are below 0.4.
        atol=0.4,
    )
    at_places = np.isin(np.round(view.x, 6), np.round(mean["x"], 6))
    assert at_places.sum() > 100
    same = np.interp(view.x[at_places], mean["x"], mean["y"])
    np.testing.assert_allclose(same, view.loc[at_places], rtol=5.1e-5, atol=1e-4)
    scores = score_all(run)
    assert describe_heteroscedastic(run, scores) in words(at)
    assert all(drawn(at))
    assert "in-distribution rows lie below" in picture(at)["alt"]
    cells = [cell.strip() for cell in table(at, "| Method |").splitlines()[-1].split("|")[1:-1]]
    intervals = intervals_section(scores, SETTINGS)
    wanted = [
        f"**{text}**" if (1, j) in intervals.shaded else text
        for j, text in enumerate(intervals.table[1])
    ]
    assert cells[:8] == wanted[:8]  # seconds are another run's
    line = foreign_section(scores, SETTINGS).table[1]
    assert "| " + " | ".join(line) + " |" in table(at, "| AUROC").splitlines()
    fits = count_fits()
    for by in SORTS[1:]:
        move(at, "sort", by)
        assert table(at, "| Method |")
    # Settings that are not the paper's are told, and another noise has no CRPS of its.
    assert "CRPS / paper" in table(at, "| Method |")
    assert count_fits() == fits
    settle(move(at, "noise_slope", 0.2))
    assert any("noise per unit of x 0.2 (there 0.1)" in caption.value for caption in at.caption)
    assert "CRPS / paper" not in table(at, "| Method |")
    assert "| CRPS |" in table(at, "| Method |")


def test_a_score_can_be_drawn_on_a_logarithmic_scale():
    at = open_page("heteroscedastic", score="Knowledge uncertainty")
    old = picture(at)["panels"][0]["below"]
    settle(move(at, "log", True))
    below = picture(at)["panels"][0]["below"]
    assert below["layers"][-1]["text"].startswith("log")
    top = max(part["y"][0] for part in old["layers"] if part.get("dash"))
    logs = [part["y"][0] for part in below["layers"] if part.get("dash")]
    assert logs == [pytest.approx(math.log10(top), abs=1e-4)]


def test_sorting_puts_the_best_first_and_methods_without_a_number_last(run):
    (score,) = score_all(run)
    worse = replace(score, excess=score.excess + 1.0, fit_seconds=0.0, auroc=())
    none = replace(score, excess=math.nan, coverage=(), fit_seconds=9.0)
    assert sort_scores([none, worse, score]) == (score, worse, none)
    assert sort_scores([none, worse, score], "seconds")[0] == worse
    assert sort_scores([worse, score, none], "coverage")[-1] == none
    assert sort_scores([worse, score], SORTS[2])[-1] == worse


def test_methods_stand_side_by_side_and_say_what_they_lack():
    page = open_page(
        "heteroscedastic", methods=["MACAU (basic)", "Conformal, linear", "Isolation forest"]
    )
    panels = picture(page)["panels"]
    assert [panel["title"] for panel in panels] == [
        "MACAU (basic)",
        "Conformal, linear",
        "Isolation forest",
    ]
    assert [panel["note"] for panel in panels] == ["", "data only", "predicts nothing"]
    texts = [panel["below"]["layers"][-1]["text"] for panel in panels]
    assert texts[0] == "novelty, z-score"
    assert texts[2] == "isolation; no novelty"
    assert all(panel["below"]["own"] for panel in panels)


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


def test_no_choice_of_a_knob_is_refused_whatever_else_is_chosen():
    roomy = HeteroscedasticSettings(rows=20_000, min_child_samples=1)
    for knob in STATE.knobs:
        if knob.key in ("trees", "subsample", "max_leaves", "min_child_samples", "noise_slope"):
            for choice in knob.choices:
                plan = plan_of(replace(roomy, **{knob.key: choice}), "macau_linear")
                assert why_not(plan) == "", (knob.key, choice)


def test_methods_that_share_a_kind_of_crps_are_both_named(run):
    (score,) = score_all(run)
    pair = [replace(score, label=name, crps_kind="as told") for name in ("First", "Second")]
    caption = intervals_section(pair, SETTINGS).caption
    assert "CRPS of First and Second uses the as told." in caption
    assert "is left out" not in caption
    assert "is left out" in intervals_section(pair, replace(SETTINGS, noise_slope=0.0)).caption


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
    spec = heteroscedastic_figure([answer]).spec
    assert [(panel["title"], panel["note"]) for panel in spec["panels"]] == [("GNLL", note)]


def heteroscedastic_figure(answers):
    shown = view_answers(HETEROSCEDASTIC, SETTINGS, answers)
    return draw_compared(
        HETEROSCEDASTIC, STATE._replace(knobs=()), SETTINGS, shown, SimpleNamespace()
    )


def test_a_fit_of_other_rows_is_shown_with_its_own_until_the_next_is_there():
    plan = plan_of(replace(SETTINGS, rows=300, seed=1), "conformal_linear")
    fit = fit_heteroscedastic(plan)
    request = Request("conformal_linear", 1, print)
    answer = Answer("conformal_linear", request, "running", fit, False, 0.1, "", None)
    (panel,) = heteroscedastic_figure([answer]).spec["panels"]
    assert panel["note"] == "previous settings"
    dots = next(part for part in panel["layers"] if part["kind"] == "dots")
    assert len(dots["x"]) == 300
    view = view_heteroscedastic(fit, SETTINGS)
    np.testing.assert_allclose(lines_of(panel, 241)[-1]["y"][-1], view.loc[-1], rtol=5.1e-5)


def test_the_page_to_take_away_holds_picture_words_scores_and_code(run):
    answer = Answer(
        "macau_basic", Request("macau_basic", 1, print), "done", run.fits[0], True, 0.1, "", None
    )
    scored = run._replace(scores=score_all(run))
    words, claims = HETEROSCEDASTIC.words(scored), check_claims(scored, scored.scores)
    picture = Section(curves=heteroscedastic_figure([answer]), caption=words)
    sections = account_sections(HETEROSCEDASTIC, scored, [picture], claims)
    page = account_html(HETEROSCEDASTIC, scored, sections).decode()
    for part in ("MACAU (basic)", words, "AUROC / paper", "Python"):
        assert part in page
    (picture,) = curves_of(page)
    assert [panel["title"] for panel in picture["panels"]] == ["MACAU (basic)"]
    assert "**" not in page.split("Scorecard")[1].split("Python")[0]
    other = "The paper and this picture", "rows 500 (there 2,000)", "attributes the noise to data"
    assert [part for part in other if part not in page] == []
