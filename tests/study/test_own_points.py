"""Own points: what is placed, who answers, and what is said where nothing can be fitted."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.placed import decode_points, encode_points
from gbuq_core.figures.canvas.panels import check_sheet
from gbuq_core.methods import METHODS
from gbuq_core.settings import from_values, to_values
from gbuq_core.study.own_points import (
    ANSWERING,
    END,
    OWN_POINTS,
    SIDE,
    OwnPointsSettings,
    answer,
    board,
    click,
    code,
    fit,
    pictures,
    places_csv,
    score,
)

LINE, PLANE = OwnPointsSettings(), OwnPointsSettings(where="plane")


@pytest.fixture(scope="module", params=[LINE, PLANE], ids=["line", "plane"])
def run(request):
    return fit(request.param, whole=False)


def test_the_first_look_has_every_method_but_the_slowest(run):
    methods = ANSWERING[run.settings.where]
    assert {*methods} - {*run.seen} == {"stacked"}
    for key, at in run.seen.items():
        has_knowledge = "knowledge" in METHODS[key].parts
        assert np.isfinite(at.knowledge).all() == has_knowledge
        knowledge = at.knowledge if has_knowledge else 0.0
        np.testing.assert_allclose(at.total, at.data + knowledge, rtol=CANCELLED, atol=ZERO)


def test_a_process_knows_its_gaps_and_boosted_means_do_not():
    numbers = score(fit(LINE, whole=False))
    assert numbers["gp"]["grows"] > 4.0
    assert numbers["sglb"]["grows"] < 2.0
    assert np.isnan(numbers["ibug"]["grows"])
    assert answer(fit(LINE, whole=False)).endswith("times.")


def test_copied_code_says_the_same(run):
    exec(compile(code(run), "copied", "exec"), names := {})
    whole = fit(run.settings)
    for key, at in whole.seen.items():
        copied = names["uncertainty"][METHODS[key].label]
        np.testing.assert_allclose(copied.total, at.total, rtol=CANCELLED, atol=ZERO)


def test_a_line_a_place_and_a_picture(run):
    lines = list(csv.reader(io.StringIO(places_csv(run))))
    assert len(lines) == 1 + len(run.board.grid)
    (section,) = pictures(run, ()).values()
    if section.sheet is not None:
        check_sheet(section.sheet)
        assert len(section.sheet.panels) == 3 * len(ANSWERING["plane"])  # no map jumps later
    else:
        assert len(section.curves.spec["panels"]) == len(ANSWERING["line"])
        assert len(section.curves.spec["place"]["x"]) == len(run.board.y)


def test_a_click_adds_a_point_of_the_chosen_colour_and_another_one_removes_it():
    at = np.linspace(-END, END, SIDE)
    more = click(replace(PLANE, plane=(), adds="orange"), 3, 30)
    assert more == ((round(at[30], 3), round(at[3], 3), 1.0),)
    assert click(replace(PLANE, plane=more), 3, 30) == ()
    assert len(click(replace(PLANE, plane=more), 4, 30)) == 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (replace(LINE, points=()), "Training needs at least 5 points, but there are 0: add 5."),
        (
            replace(LINE, points=((0.0, 1.0),) * 6),
            "All points have x = 0: add a point with another x.",
        ),
        (
            replace(PLANE, plane=((0.0, 0.0, 0.0),) * 4),
            "Training needs at least 2 points of each colour: add orange points.",
        ),
    ],
)
def test_too_few_points_are_a_board_and_a_sentence(settings, sentence):
    run = fit(settings)
    assert OWN_POINTS.notes(run) == [sentence]
    assert (run.seen, answer(run)) == ({}, "")
    (section,) = pictures(run, ()).values()
    assert section.sheet is not None or len(section.curves.spec["panels"]) == 8


def test_links_hold_the_points_of_both():
    settings = replace(PLANE, plane=((0.25, -1.0, 1.0), (-2.0, 0.5, 0.0)))
    assert to_values(settings)["plane"] == "0.25_-1_1~-2_0.5_0"
    assert from_values(OwnPointsSettings, to_values(settings)) == settings
    assert decode_points(encode_points(settings.plane), size=3) == settings.plane
    with pytest.raises(InvalidParameter, match="x_y_class"):
        decode_points("0.25_-1", size=3)


def test_near_is_near_a_point():
    here = board(replace(PLANE, plane=((0.0, 0.0, 0.0),)))
    assert here.near.sum() == (np.hypot(*here.grid.T) <= 0.5).sum()
