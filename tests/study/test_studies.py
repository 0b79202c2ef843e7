"""What holds for every study, and for what they are made of."""

import csv
import io
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tolerances import CANCELLED

from gbuq_core.boosting.plan import truncation_points
from gbuq_core.experiments.claims import Threshold
from gbuq_core.experiments.experiment import SeenMethod
from gbuq_core.figures.canvas.panels import check_sheet
from gbuq_core.settings import bare
from gbuq_core.study.beyond import BEYOND, BeyondSettings
from gbuq_core.study.gaussians import GAUSSIANS
from gbuq_core.study.gaussians_race import GaussiansSettings
from gbuq_core.study.heart import HEART, HeartSettings
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC, HeteroscedasticSettings
from gbuq_core.study.members import Fit, Members, View, decompose, view_members
from gbuq_core.study.novelty import NOVELTY
from gbuq_core.study.novelty_maps import NoveltySettings
from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings
from gbuq_core.study.spiral import SPIRAL, SpiralSettings
from gbuq_core.study.study import Claim, auroc_text, fill, judge
from gbuq_core.study.two_clocks import TWO_CLOCKS
from gbuq_core.study.two_clocks_fit import TwoClocksSettings

SMALL = {
    "heart": (HEART, HeartSettings(rows=30, trees=100, members=4, step=10)),
    "beyond": (BEYOND, BeyondSettings(rows=60)),
    "gaussians": (GAUSSIANS, GaussiansSettings(steps=2000, chains=2)),
    "heteroscedastic": (
        HETEROSCEDASTIC,
        HeteroscedasticSettings(rows=500, trees=12, subsample=0.3, test_rows=300, ood_rows=200),
    ),
    "novelty": (NOVELTY, NoveltySettings(rows=100, trees=5)),
    "two_clocks": (TWO_CLOCKS, TwoClocksSettings(data="wave", rows=100, trees=50, members=2)),
    "soft_trees": (SOFT_TREES, SoftTreesSettings(rows=40, steps=200, depth=2, sglb_trees=20)),
    "spiral": (
        SPIRAL,
        SpiralSettings(
            methods=("sglb", "virtual_sglb", "csglb", "vrf"),
            rows=60,
            members=3,
            trees=30,
            chain_trees=80,
            step=20,
            cycle=20,
            depth=4,
        ),
    ),
}


@pytest.fixture(scope="module", params=SMALL)
def run(request):
    study, settings = SMALL[request.param]
    return study.run(settings)


def test_claims_are_told_apart_and_have_their_numbers_and_words(run):
    claims = run.study.judge(run)
    assert len({claim.key for claim in claims}) == len(claims)
    for claim in claims:
        said = f"{claim.paper} {claim.here} {claim.chip} {claim.value}"
        assert not {"{", "nan"} & set(said.replace("{", " { ").split())


def test_no_claim_depends_on_what_is_only_drawn(run):
    changed = replace(run, settings=bare(run.settings))
    assert run.study.judge(changed) == run.study.judge(run)


def test_the_picture_can_be_drawn_with_and_without_methods(run):
    for views in (run.views, ()):
        if run.study.curves:
            seen = [SeenMethod(v.method, v.fit, v if views else None, "", True) for v in run.views]
            assert run.study.figure(run.settings, seen, None, (), None).alt
        elif (sheet := run.study.sheet(run, views, ())).panels:
            check_sheet(sheet)
            assert sheet.alt
        else:
            assert sheet.note


def test_tables_have_as_many_cells_in_each_line(run):
    for write in run.study.tables(run).values():
        lines = list(csv.reader(io.StringIO(write(run))))
        assert len(lines) > len(run.views)
        assert len(set(map(len, lines))) == 1


def test_the_scorecard_has_the_methods_in_a_line_or_a_column(run):
    labels = [numbers["label"] for key, numbers in run.numbers.items() if key]
    for section in run.study.scores(run):
        assert labels in ([*section.table[0][1:]], [line[0] for line in section.table[1:]])
        assert len({len(line) for line in section.table}) == 1


def test_total_is_data_plus_knowledge_at_every_stage(run):
    for view in (view for view in run.views if isinstance(view, View)):
        many = view.counts > 1 if view.fit.members else ...
        _, total, data, knowledge = (moment[many] for moment in view.at.moments)
        if "knowledge" in view.at.parts and "data" in view.at.parts:
            np.testing.assert_allclose(total, data + knowledge, rtol=CANCELLED)
            assert (knowledge >= 0).all()


def test_decomposition_of_known_members():
    values = np.array([[[1.0, 4.0]], [[3.0, 6.0]]])  # (2 members, 1 place, mean and variance)
    assert decompose(values).moments == (2.0, 6.0, 5.0, 1.0)
    classes = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # each sure, and of two minds
    knowledge = decompose(classes, "classes").knowledge[0]
    assert knowledge == pytest.approx(math.log(2))  # rounding only
    assert np.isnan(decompose(values[:1]).knowledge).all()


def test_a_virtual_ensemble_has_the_members_that_its_model_would_have_had():
    values = np.arange(40.0).reshape(20, 1, 1, 2)  # (stages, one model, one place, 2)
    fit = Fit(None, Members(np.arange(1, 21), values), 1.0, 1)
    view = view_members(fit, partial(truncation_points, truncation_step=5, truncation_start=0.5))
    assert view.counts[-1] == 2  # of 15 and 20 trees
    assert view.last.mean[0] == values[[14, 19], 0, 0, 0].mean()
    assert view.counts[0] == 0
    assert np.isnan(view.at.mean[0]).all()


def test_a_sentence_without_its_number_is_not_said():
    claim = Claim("a:{method}", "It is {x:2}.", "Here {y}.", "x", Threshold("x", 1.0, 0.5), ("m",))
    assert fill("{x:2} of {y}", {"x": 0.123, "y": 2.0}) == "0.12 of 2"
    assert judge([claim], {"m": {"x": 2.0, "y": math.nan}}) == ()
    (verdict,) = judge([claim], {"m": {"x": 0.7, "y": 1.0}})
    assert (verdict.key, verdict.verdict) == ("a:m", "partly")


@pytest.mark.parametrize(
    ("value", "text"), [(0.98765, "0.988"), (0.9996, "> 0.999"), (1.0, "1.000"), (math.nan, "–")]
)
def test_an_auroc_says_one_only_if_every_pair_is_in_order(value, text):
    assert auroc_text(value) == text
