"""Neighbours, scales and densities of the browser are Python's, in one Chromium page.

The same leaves and targets go to both. Leaves are whole numbers: the rows and their affinities are
the same ones. Targets and stds travel as float32, whose rounding (6e-8) is all that scales differ
by; a std that is summed up from targets loses up to k times that.
"""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from tolerances import NEAR_ZERO

from gbuq_core.figures.canvas.renderer import renderer_source
from gbuq_core.figures.curves import curves_source
from gbuq_core.figures.handles import live_knob
from gbuq_core.figures.near import pack_table
from gbuq_core.ibug import FAMILIES, fit_posterior, log_density
from gbuq_core.knobs import find_knob
from gbuq_core.settings import knobs_of
from gbuq_core.study.neighbours_fit import (
    ORDERS,
    NeighboursRun,
    NeighboursSettings,
    fit_neighbours,
    look_at,
    search_neighbours,
    share_of,
    view_neighbours,
)
from gbuq_core.study.neighbours_picture import (
    CLOSED,
    follow_of,
    leaf_table,
    scale_table,
    tree_table,
)
from gbuq_core.study.novelty import NOVELTY, follow_ranks, score_table
from gbuq_core.study.novelty_maps import NoveltySettings, compare_ranks, rank_among, rank_cells

KS = (None, 2, 7, 31, 501)
PERCENT = (10, 50, 100)

# [{ knob: place }, place] -> what the browser finds there.
FIND = """async ([source, tables, follow, cases]) => {
  const exported = '\\nexport { Near, nearFor, keepNear, familyDensity };';
  const url = URL.createObjectURL(new Blob([source + exported], { type: 'text/javascript' }));
  const { nearFor, keepNear, familyDensity } = await import(url);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const missing = nearFor(follow) === null;
  for (const text of tables) keepNear(bytes(text));
  const near = nearFor(follow);
  return [missing, cases.map(([values, place]) => {
    const look = near.look(follow, values, place);
    const scales = near.scales(follow, values);
    const y = [-1, 0.5, 1.25, 4];
    return {
      rows: look.rows, share: look.share, k: look.k, loc: look.loc, scale: look.scale,
      scales: scales && Array.from(scales),
      map: Array.from(near.mapAffinity(look.codes, look.counted)),
      densities: look.scale === null ? [] : follow.closed.map((key) => (
        familyDensity(key, look.loc, look.scale, look.targets, look.setting.least, y))),
    };
  })];
}"""


@pytest.fixture(scope="module")
def fit():
    settings = NeighboursSettings(rows=200, trees=20, noise=0.7)
    return fit_neighbours(settings)


def test_the_browsers_neighbours_scales_and_densities_are_pythons(page, fit):
    today = NeighboursSettings(rows=200, trees=20, noise=0.7, k=7, x=7.03)
    counts = [share_of(20, percent) for percent in PERCENT]
    at = {"k": 2, "tau": 2, "order": 0, "calibrate": True, "family": 0}
    search = search_neighbours(fit, today)
    look = look_at(fit, search, today)
    families = [(key, FAMILIES[key].label) for key in FAMILIES]
    tables = [
        leaf_table(fit),
        scale_table(fit, search, today, KS),
        tree_table(fit, today, PERCENT),
    ]
    run = NeighboursRun(today, fit, search, view_neighbours(fit, search, today), look)
    bar = [live_knob(find_knob(knobs_of(NeighboursSettings), "calibrate"), True)]
    # Fewer places of each knob than the page's.
    follow = {**follow_of(run, bar), "at": at, "counts": counts, "families": families}
    assert [follow[name] for name in ("leaves", "scales", "trees")] == [t.name for t in tables]
    moves = [
        ({}, None), ({}, 150), ({"k": 0}, 200), ({"k": 1}, None), ({"k": 3}, 40), ({"k": 4}, 220),
        ({"calibrate": False}, 150), ({"tau": 0}, None), ({"tau": 1}, 150),
        ({"tau": 1, "calibrate": False}, 120), ({"tau": 1, "order": 1}, 150),
        ({"tau": 0, "order": 2}, 90), ({"tau": 1, "k": 3}, 150),
    ]  # fmt: skip
    page.goto("about:blank")
    sent = [base64.b64encode(pack_table(table)).decode() for table in tables]
    missing, answers = page.evaluate(FIND, [curves_source(), sent, follow, moves])
    assert missing  # nothing is found before the tables have come
    for (values, place), got in zip(moves, answers, strict=True):
        now = {**at, **values}
        settings = replace(
            today,
            k=KS[now["k"]],
            tau=PERCENT[now["tau"]],
            order=ORDERS[now["order"]],
            calibrate=now["calibrate"],
            x=today.x if place is None else float(fit.data.grid[place, 0]),
        )
        searched = search_neighbours(fit, settings)
        view = view_neighbours(fit, searched, settings)
        there = look_at(fit, searched, settings, view)
        k = got["k"]
        if KS[now["k"]] is not None or now["tau"] == 2:  # else k is tuned with other trees
            assert k == there.k
        assert got["rows"][: there.k] == there.indices.tolist()[:k]
        np.testing.assert_allclose(got["share"], there.affinities[:k] / searched.n_trees)
        assert got["map"] == there.map_affinity.tolist()
        assert got["loc"] == pytest.approx(there.loc, rel=1e-6)
        known = now["tau"] == 2 or ("order" not in values and "k" not in values)
        assert (got["scale"] is not None) == known
        assert (got["scales"] is not None) == (now["tau"] == 2)
        if got["scales"] is not None:
            np.testing.assert_allclose(got["scales"], view.grid_scale, rtol=1e-6)
        if not known:
            continue
        assert got["scale"] == pytest.approx(there.scale, rel=1e-5)
        y = np.array([[-1.0, 0.5, 1.25, 4.0]])
        for key, density in zip(CLOSED, got["densities"], strict=True):
            if key in there.refusals:
                continue
            targets = there.targets[None, :]
            posterior = fit_posterior(
                key,
                np.array([there.loc]),
                np.array([there.scale]),
                targets,
                view.setting.min_scale,
            )
            wanted = np.exp(log_density(posterior, y))[0]
            np.testing.assert_allclose(density, wanted, rtol=2e-3, atol=NEAR_ZERO)


# [{ knob: place }] -> the maps that follow, as the browser has them then.
RANK = """async ([source, table, near, cases]) => {
  const exported = '\\nexport { RankMaps, keepNear };';
  const url = URL.createObjectURL(new Blob([source + exported], { type: 'text/javascript' }));
  const { RankMaps, keepNear } = await import(url);
  keepNear(Uint8Array.from(atob(table), (c) => c.charCodeAt(0)));
  const panels = near.keys.map(() => ({ limits: [0, 100], unit: 'served', log: false }));
  const bar = { values: {} };
  const maps = new RankMaps({ panels, near }, bar);
  return cases.map((values) => {
    bar.values = values;
    const on = maps.apply();
    return { on, panels: panels.map(({ shown, limits, unit, log }) => (
      { shown: shown ? Array.from(shown) : null, limits, unit, log })) };
  });
}"""


def test_the_browsers_ranks_are_pythons_to_the_last_digit(page, rng):
    values = np.stack([rng.integers(0, 9, 40) / 7.0, 10.0 ** rng.uniform(-12, -1, 40)])
    rows = np.stack([rng.integers(0, 9, 11) / 7.0, 10.0 ** rng.uniform(-12, -1, 11)])
    keys = ("novelty", "knowledge")
    at = {"show": 0, "log": False}
    run = NOVELTY.run(NoveltySettings(rows=100, trees=5, compared=keys))
    (view,) = run.views
    maps = view.maps._replace(keys=keys, values=values, rows=rows)
    bar = [
        live_knob(find_knob(knobs_of(NoveltySettings), key), value)
        for key, value in (("show", "ranks among cells"), ("log", False))
    ]
    near = follow_ranks(view, [*keys, "own", "apart"], bar, maps=maps)
    assert near["at"] == at
    table = base64.b64encode(pack_table(score_table(maps))).decode()
    page.goto("about:blank")
    cases = [at, {"show": 1, "log": False}, {"show": 2, "log": True}, {"show": 0, "log": True}]
    served, among, size, logged = page.evaluate(
        RANK, [renderer_source(), table, json.loads(json.dumps(near)), cases]
    )
    assert not served["on"]
    assert not logged["on"]  # ranks have no logarithmic colours
    ranks = np.stack([rank_among(*each) for each in zip(values, rows, strict=True)])
    for wanted, got in zip(ranks, among["panels"], strict=False):
        assert got["shown"] == wanted.tolist()
        assert (got["unit"], got["limits"]) == ("% of training rows below", [0, 100])
    assert among["panels"][2]["shown"] is None  # own values stay what they are
    assert among["panels"][3]["shown"] == compare_ranks(keys, ranks).spread.tolist()
    cells = np.stack([rank_cells(each) for each in values])
    assert size["panels"][3]["shown"] == compare_ranks(keys, cells).spread.tolist()
    for wanted, got in zip(values, size["panels"], strict=False):
        assert got["shown"] == wanted.tolist()
    assert [panel["log"] for panel in size["panels"]] == [False, True, False, False]
    lo, hi = size["panels"][1]["limits"]
    assert hi == values[1].max()
    assert lo == max(values[1].min(), 1e-8 * hi)
