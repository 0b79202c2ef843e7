"""Maps that follow their knobs in the browser are those that Python computes, in one Chromium page.

The same fits go to both: Python maps them for other knobs, and JavaScript does so from the members
that it was sent. The difference is bounded by what the packing takes away.
"""

import base64
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from live_stages import chosen_stages
from scipy.stats import spearmanr

from demos.live import one_knob
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.live import encode_members
from gbuq_core.figures.canvas.panels import stacked_values
from gbuq_core.figures.canvas.renderer import renderer_source
from gbuq_core.figures.canvas.thinning import thin_sheet
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.settings import plan_of, to_values
from gbuq_core.study.heart import HEART, HeartSettings
from gbuq_core.study.maps import flagged
from gbuq_core.study.members import Fit, Members
from gbuq_core.study.spiral import FRESH_PER_CLASS, SIDE, SPIRAL, SpiralSettings
from pages._ui.live import live_knobs
from pages._ui.study import state_of
from tests.browser.figure import Figure, turn

EVERY = 7  # of the cells are sent back
# A probability is off by half a step, the last of three by a whole one; -p ln p changes by at most
# that of the difference.
HALF = 0.5 / 65_535
ENTROPY = -2 * HALF * np.log(HALF) - 2 * HALF * np.log(2 * HALF)

# [{ knob: value }, frame] -> the panels that follow, as the browser has them then.
FOLLOW = """async ([source, sheetText, memberText, cases, every]) => {
  const exported = '\\nexport { LiveMaps, decodeSheet, keepMembers };';
  const url = URL.createObjectURL(new Blob([source + exported], { type: 'text/javascript' }));
  const { LiveMaps, decodeSheet, keepMembers } = await import(url);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  keepMembers(bytes(memberText));
  const sheet = decodeSheet(bytes(sheetText));
  const live = new LiveMaps(sheet);
  return cases.map(([values, frame]) => {
    const on = live.apply({ ...live.asked, ...values }, frame);
    return { on, panels: live.methods.flatMap(({ panels }) => panels.map((panel) => ({
      shown: on ? Array.from(panel.shown).filter((_, i) => i % every === 0) : null,
      limits: panel.limits, log: panel.log, unit: panel.unit,
      hatched: panel.hatched ? Array.from(panel.hatched) : null,
    }))) };
  });
}"""

# Which stages are members, and which cells are flagged, case by case.
CHOOSE = """async ([source, plans, flags]) => {
  const exported = '\\nexport { Ensemble, flagCells };';
  const url = URL.createObjectURL(new Blob([source + exported], { type: 'text/javascript' }));
  const { Ensemble, flagCells } = await import(url);
  const values = new Uint16Array(0);
  const chosen = plans.map(([plan, stages, cycle, trees, knobs]) => {
    const one = new Ensemble('normal', { plan, stages, cycle },
      { values, shape: [stages.length, 1, 2, 0] });
    one.choose(trees, knobs);
    return Array.from(one.chosen.subarray(0, one.count)).map((stage) => stages[stage]);
  });
  return [chosen, flags.map(([map, percent]) => {
    const out = new Uint8Array(map.length);
    flagCells(Float64Array.from(map), percent, out, new Float64Array(map.length));
    return Array.from(out);
  })];
}"""


def text(data):
    return base64.b64encode(data).decode()


def spiral_fit(settings, method, rng):
    """A method's predictions as they could be: a chain creeps, models disagree."""
    plan = plan_of(settings, method)
    chain = plan.kind.virtual
    n_trees = (
        np.arange(10, plan.n_trees + 1, 10)
        if chain
        else np.array([plan.n_trees // 2, plan.n_trees])
    )
    walk = 0.1 * np.cumsum(rng.normal(size=(len(n_trees), plan.n_models, SIDE**2, 3)), axis=0)
    logits = (
        4.0 * rng.normal(size=(SIDE**2, 3))
        + walk
        + (0.0 if chain else 0.5) * rng.normal(size=(1, plan.n_models, SIDE**2, 3))
    )
    proba = np.exp(logits - logits.max(axis=-1, keepdims=True))
    members = (proba / proba.sum(axis=-1, keepdims=True)).astype(np.float32)
    more = {"fresh": members[:, :, : 3 * FRESH_PER_CLASS]}
    return Fit(plan, Members(n_trees, members, "classes"), 1.0, 1, more=more)


def as_drawn(study, fits, settings, knobs=()):
    views = [study.view(fit, settings) for fit in fits]
    return study.sheet(study.gather(settings, views), views, knobs)


def knobs_of(page, settings):
    return live_knobs(page, SimpleNamespace(**to_values(settings)))


def test_spirals_maps_and_scales_are_pythons(page):
    rng = np.random.default_rng(14)
    methods = ("sglb", "virtual_sglb", "csglb")
    settings = SpiralSettings(methods=methods, chain_trees=120, trees=60, members=4, cycle=20)
    fits = [spiral_fit(settings, method, rng) for method in settings.methods]
    sheet = as_drawn(SPIRAL, fits, settings, knobs_of(state_of(SPIRAL), settings))
    n_frames = len(sheet.frame_values)
    moves = [
        ({}, {"flag": 20}, -1),
        ({"step": 20}, {}, -1),
        ({"step": 50, "start": 0.2}, {"log": False}, -1),
        ({"burn_in": 2}, {"scale": "own"}, 6),
        ({"shown": 2}, {}, -1),
        ({"step": 10, "shown": 3}, {"log": False, "scale": "own", "flag": 5}, -1),
        ({}, {"log": False}, 7),
    ]
    cases = [
        [
            {**given, **seen, **({"shown": given["shown"]} if "shown" in given else {})},
            at % n_frames,
        ]
        for given, seen, at in moves
    ]
    page.goto("about:blank")
    sent = [text(encode_sheet(sheet)), text(encode_members(sheet.live))]
    frames = page.evaluate(FOLLOW, [renderer_source(), *sent, [[{}, 0], *cases], EVERY])
    assert not frames[0]["on"]
    panels = [index for ensemble in sheet.live.ensembles for index in ensemble.panels]
    for (given, seen, _), (_, frame), shown in zip(moves, cases, frames[1:], strict=True):
        drawn = as_drawn(SPIRAL, fits, replace(settings, **given, **seen))
        assert shown["on"]
        for index, got in zip(panels, shown["panels"], strict=True):
            panel = drawn.panels[index]
            values = stacked_values(panel)
            values = values[min(frame, len(values) - 1)].ravel()
            knowledge = panel.title.endswith("KU")
            bound = (2 if knowledge else 1) * ENTROPY
            np.testing.assert_allclose(got["shown"], values[::EVERY], atol=bound)
            if knowledge and np.isfinite(values).all():  # else there are not two members yet
                assert (
                    spearmanr(got["shown"], values[::EVERY]).statistic > 0.995
                )  # cells as sure as 1e-7 are among them
                assert np.median(np.abs(got["shown"] - values[::EVERY])) < 5e-6
            assert got["log"] == panel.log
            lo, hi = panel.limits
            assert got["limits"][1] == pytest.approx(hi, abs=bound)
            assert got["limits"][0] == pytest.approx(lo, abs=1e-5)
            if panel.hatched is not None:
                assert np.count_nonzero(panel.hatched.ravel() != np.array(got["hatched"])) <= 8


def test_a_page_for_download_follows_its_knobs_without_a_server(page, tmp_path):
    rng = np.random.default_rng(17)
    settings = SpiralSettings(methods=("virtual_sglb",), chain_trees=60, step=10)
    fits = [spiral_fit(settings, "virtual_sglb", rng)]
    sheet = as_drawn(SPIRAL, fits, settings, knobs_of(state_of(SPIRAL), settings))
    file = tmp_path / "spiral.html"
    # A knob that needs no members, which are left out.
    thin = thin_sheet(replace(sheet, knobs=one_knob("flag", settings)))
    parts = [sheet, Section(sheet=thin, coarse=True)]
    file.write_text(standalone_html(parts, "Spiral"), encoding="utf-8")
    page.goto(file.as_uri())
    light = Figure(page, 1)
    light.wait_for("node.dataset.ready === '1'")
    turn(light, "flag")
    light.wait_for("node.dataset.live === '1'")
    read = light.root.evaluate(_VALUE, [sheet.live.ensembles[0].panels[2], 40 * SIDE + 40])
    whole = SPIRAL.view(fits[0], settings).last.knowledge
    assert read == pytest.approx(whole[40 * SIDE + 40], rel=0.1)  # 255 steps of a logarithm
    figure = Figure(page)
    figure.wait_for("node.dataset.ready === '1'")
    turn(figure, "step")
    figure.wait_for("node.dataset.live === '1'")
    fewer = SPIRAL.view(fits[0], replace(settings, step=20)).last.knowledge
    panel = sheet.live.ensembles[0].panels[2]
    read = figure.root.evaluate(_VALUE, [panel, 40 * SIDE + 40])
    assert read == pytest.approx(fewer[40 * SIDE + 40], abs=2 * 17 * ENTROPY)  # steps of 17
    turn(figure, "step", "ArrowLeft")
    figure.wait_for("node.dataset.live === '0'")


_VALUE = """(node, [panel, cell]) => {
  const { views } = node.parentElement.gbuqSheet.view;
  return views[panel].panel.shown[cell];
}"""


def heart_fit(settings, method, rng):
    plan = plan_of(settings, method)
    chain = method == "virtual_sglb"
    n_trees = np.arange(1, plan.trees + 1) if chain else np.arange(2, plan.trees + 1, 2)
    shape = (len(n_trees), plan.members, 81)
    means = rng.random(81) + 1e-3 * np.cumsum(rng.normal(size=shape), axis=0)
    variances = 0.01 * np.exp(0.1 * rng.normal(size=shape))
    if method == "vrf":
        n_trees, means, variances = n_trees[-1:], means[-1:], np.full_like(means[-1:], np.nan)
    members = np.stack([means, variances], axis=-1)
    return Fit(plan, Members(n_trees, members), 1.0, 1)


def test_hearts_maps_and_scales_are_pythons(page):
    rng = np.random.default_rng(15)
    settings = HeartSettings(
        methods=("sglb", "virtual_sglb", "vrf"), members=4, trees=200, rows=3, step=20
    )
    fits = [heart_fit(settings, method, rng) for method in settings.methods]
    sheet = as_drawn(HEART, fits, settings, knobs_of(state_of(HEART), settings))
    moves = [
        ({}, {"unit": "variance"}, -1),
        ({}, {"log": False}, 12),
        ({}, {"scale": "own"}, -1),
        ({"step": 5}, {}, -1),
        ({"step": 35, "start": 0.1}, {"unit": "variance", "log": False}, 20),
        ({"shown": 2}, {}, -1),
        ({"step": 10}, {"scale": "own", "unit": "variance"}, -1),
    ]
    n_frames = len(sheet.frame_values)
    cases = [[{**given, **seen}, frame % n_frames] for given, seen, frame in moves]
    page.goto("about:blank")
    sent = [text(encode_sheet(sheet)), text(encode_members(sheet.live))]
    frames = page.evaluate(FOLLOW, [renderer_source(), *sent, cases, 1])
    panels = [index for ensemble in sheet.live.ensembles for index in ensemble.panels]
    for (given, seen, frame), shown in zip(moves, frames, strict=True):
        drawn = as_drawn(HEART, fits, replace(settings, **given, **seen))
        for index, got in zip(panels, shown["panels"], strict=True):
            panel = drawn.panels[index]
            values = stacked_values(panel)
            values = values[min(frame % n_frames, len(values) - 1)].ravel()
            # JSON has no NaN: it comes back as None.
            np.testing.assert_allclose(
                np.array(got["shown"], dtype=float), values, rtol=1e-4, atol=1e-7
            )
            assert (got["log"], got["unit"]) == (panel.log, panel.unit)
            if panel.limits is not None:
                assert got["limits"] == pytest.approx(panel.limits, rel=5e-3)
            elif np.isfinite(values).any():
                spread = stacked_values(panel)
                spread = spread[np.isfinite(spread)]
                ends = (spread.min(), spread.max())
                assert got["limits"] == pytest.approx(ends, rel=5e-3, abs=3e-7)


def test_the_same_members_are_chosen_and_the_same_cells_flagged(page):
    stages = list(range(10, 601, 10))
    plans = []
    for trees, step, start in product((10, 150, 310, 600), (10, 70, 200), (0.0, 0.15, 0.5, 0.9)):
        plans.append(
            ["truncation", stages, 0, trees, {"step": step, "start": start, "shown": None}]
        )
    for trees, cycle, burn_in, shown in product((30, 300, 600), (20, 50), (0, 2, 9), (None, 3)):
        ends = [trees for trees in stages if trees % cycle == 0]
        plans.append(["cycles", ends, cycle, trees, {"burn_in": burn_in, "shown": shown}])
    rng = np.random.default_rng(16)
    maps = [rng.integers(0, 9, 50).astype(float), rng.random(40), np.full(10, np.nan)]
    flags = [[cells.tolist(), percent] for cells in maps[:2] for percent in (0, 1, 5, 50)]
    page.goto("about:blank")
    chosen, marked = page.evaluate(CHOOSE, [renderer_source(), plans, flags])
    none = {"step": 10, "start": 0.0, "burn_in": 0, "shown": None}
    for (plan, _, cycle, trees, knobs), answer in zip(plans, chosen, strict=True):
        wanted = chosen_stages(plan, trees, **{**none, **knobs}, cycle=cycle)
        assert answer == wanted.tolist(), (plan, trees, knobs)
    for (cells, percent), answer in zip(flags, marked, strict=True):
        assert answer == flagged(np.array(cells), percent).astype(int).tolist()
