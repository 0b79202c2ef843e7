"""What a picture's own knobs work out in JavaScript is what Python draws for those settings."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from gbuq_core.experiments.heteroscedastic import fit as noise_fit
from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings, plan_heteroscedastic
from gbuq_core.experiments.soft_trees import fit as trees_fit
from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings, plan_soft_trees
from gbuq_core.figures.curves import curves_source, pack_curves
from pages._ui.heteroscedastic import controls as noise_controls
from pages._ui.heteroscedastic import picture as noise_ui
from pages._ui.jobs_glue import Answer, Request
from pages._ui.soft_trees import controls as trees_controls
from pages._ui.soft_trees import picture as trees_ui

# Numbers travel with five significant digits: means, stds and what they add up to, so that a line
# may be off by this share of the largest value of the picture.
STATED_ERROR = 1e-4

# Each setting worked out from the picture of the first.
WORKED = """async ([source, data, settings]) => {
  const module = new Blob([source], { type: 'text/javascript' });
  const { default: draw } = await import(URL.createObjectURL(module));
  const parentElement = document.createElement('div');
  document.body.append(parentElement);
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  draw({ data: bytes, parentElement, setTriggerValue() {} });
  const view = parentElement.gbuqCurves;
  return settings.map((values) => {
    view.knobBar.values = values;
    view.rework(); // draws it, too
    const { panels, legend, read, x } = view.spec;
    return { panels, legend, read, x };
  });
}"""


def worked(page, figure, settings):
    page.goto("about:blank")
    data = b64encode(pack_curves(figure.spec)).decode()
    return page.evaluate(WORKED, [curves_source(), data, settings])


def compare(found, figure):
    """The largest error of a number, relative to the largest value of the picture."""
    wanted, worst = figure.spec, 0.0
    names = [[entry["name"] for entry in spec["legend"]] for spec in (found, wanted)]
    assert names[0] == names[1]
    np.testing.assert_allclose(found["x"]["range"], wanted["x"]["range"])
    for mine, theirs in zip(found["panels"], wanted["panels"], strict=True):
        assert mine["note"] == theirs["note"]
        np.testing.assert_allclose(mine["range"], theirs["range"], rtol=1e-6)
        assert [p["kind"] for p in mine["layers"]] == [p["kind"] for p in theirs["layers"]]
        for one, other in zip(mine["layers"], theirs["layers"], strict=True):
            assert one.get("opacity") == other.get("opacity")
            assert one.get("colour") == other.get("colour")
            if one["kind"] == "sheaf":
                worst = max(worst, compare_lines(one, other))
                continue
            for part in ("x", "y", "low", "high"):
                if part in other:
                    worst = max(worst, error(one[part], other[part], wanted["panels"]))
    for mine, theirs in zip(found["read"]["values"], wanted["read"]["values"], strict=True):
        for part in ("at", "spread"):
            if part in theirs:
                worst = max(worst, error(mine[part], theirs[part], wanted["panels"]))
    return worst


def error(mine, theirs, panels):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    scale = max(np.abs(theirs).max(), *(abs(end) for panel in panels for end in panel["range"]))
    return float(np.abs(mine - theirs).max() / scale)


def compare_lines(mine, theirs):
    codes = [np.frombuffer(b64decode(part["data"]), "<u2") for part in (mine, theirs)]
    assert mine["lines"] * mine["count"] == len(codes[1])
    np.testing.assert_array_equal(codes[0][: len(codes[1])], codes[1])
    return 0.0


def defaults(state, **more):
    return SimpleNamespace(**{**{knob.key: knob.default for knob in state.knobs}, **more})


def answers(fits):
    return [
        Answer(fit.method, Request(fit.method, 1, print), "done", fit, True, 0.1, "", None)
        for fit in fits
    ]


def test_every_level_and_part_of_intervals_is_what_python_draws(page):
    methods = ("macau_basic", "conformal_linear", "forest", "gnll", "isolation")
    settings = HeteroscedasticSettings(methods=methods, rows=200, trees=10, subsample=0.3)
    plans = [plan_heteroscedastic(settings, method) for method in methods]
    fits = [noise_fit.fit_heteroscedastic(plan) for plan in plans]

    def figure(values):
        now = replace(
            settings,
            level=values.level,
            conformal=values.conformal,
            bands=tuple(p for p in noise_ui.PARTS if getattr(values, f"show_{p}")),
        )
        shown = noise_ui.PAGE.views(now, answers(fits))
        return noise_ui.figure_of(values, now, shown)

    cases = [
        defaults(
            noise_controls.STATE,
            level=level,
            conformal=conformal,
            focus=i % 2 == 1,
            show_data=bool(i & 1),
            show_knowledge=bool(i & 2),
            show_total=bool(i & 4),
        )
        for level in noise_ui.LEVELS
        for conformal in (False, True)
        for i in range(8)
    ]
    figures = [figure(values) for values in cases]
    start = figure(defaults(noise_controls.STATE))
    placed = [{knob.key: knob.value for knob in one.knobs} for one in figures]
    found = worked(page, start, placed)
    errors = [compare(one, other) for one, other in zip(found, figures, strict=True)]
    assert max(errors) < STATED_ERROR


def test_every_number_of_functions_is_what_python_draws(page):
    methods = ("vst", "sglb", "gp")
    settings = SoftTreesSettings(methods=methods, rows=30, steps=200, depth=1, members=5)
    fits = [trees_fit.fit_soft_trees(plan_soft_trees(settings, method)) for method in methods]

    def figure(show, shown, draws, focus):
        now = replace(settings, shown=shown, draws=max(shown, draws))
        found = trees_ui.PAGE.views(now, answers(fits))
        return trees_ui.figure_of(now, found, show, False, focus, draws)

    cases = [
        (show, shown, draws, shown == 5)
        for show in trees_controls.SHOWS
        for shown in (1, 5, 30, 100)
        for draws in (10, 50, 100)
    ]
    figures = [figure(*case) for case in cases]
    start = figure("both", 20, 100, False)
    placed = [{knob.key: knob.value for knob in one.knobs} for one in figures]
    found = worked(page, start, placed)
    errors = [compare(one, other) for one, other in zip(found, figures, strict=True)]
    assert max(errors) < STATED_ERROR
