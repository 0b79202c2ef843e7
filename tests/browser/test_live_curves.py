"""What a picture's own knobs work out in JavaScript is what Python draws for those settings."""

from __future__ import annotations

import re
import tomllib
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from tolerances import NEAR_ZERO

from gbuq_core.figures.curves import curves_source, pack_curves
from gbuq_core.figures.curves.parts import band, entry, line, readable_dots
from gbuq_core.knobs import find_knob
from gbuq_core.methods import METHODS
from gbuq_core.settings import knobs_of, plan_of, to_values
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC, LEVELS, HeteroscedasticSettings
from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings
from gbuq_core.study.soft_trees_inside import flow_figure_of
from gbuq_core.study.soft_trees_trials import BanditSettings, bandit_steps_figure, run_policies
from pages._ui.experiment import draw_compared
from pages._ui.jobs_glue import Answer, Request
from pages._ui.side_by_side import view_answers
from pages._ui.study import state_of

# Numbers travel with five significant digits: means, stds and what they add up to, so that a line
# may be off by this share of the largest value of the picture.
STATED_ERROR = 1e-4

# `alikeOf(module)(view)` throws unless what a figure has drawn over other pictures is, node for
# node, what one that has drawn nothing before draws of the same specification.
ALIKE = """() => { window.alikeOf = ({ mount }) => {
  const shot = (view) => {
    view.read(null);
    view.draw();
    view.svg.removeAttribute('style');
    const name = new RegExp(`(hatch|panel)-${view.number}(?![0-9])`, 'g');
    const drawing = view.svg.outerHTML.replace(name, '$1');
    return [drawing, view.legend.innerHTML, view.readout.textContent].join(' ');
  };
  return (view, turn = () => {}) => {
    const { knobs, live, ...drawn } = structuredClone(view.spec);
    const parent = document.createElement('div');
    document.body.append(parent);
    const fresh = mount(parent, view.spec.drawing ? { ...drawn, knobs } : drawn);
    fresh.window = view.window;
    turn(fresh);
    const [mine, theirs] = [shot(view), shot(fresh)];
    fresh.destroy();
    parent.remove();
    if (mine === theirs) return true;
    const at = [...mine].findIndex((letter, i) => letter !== theirs[i]);
    const around = (text) => text.slice(Math.max(0, at - 150), at + 150);
    throw new Error(`${around(mine)} AFRESH ${around(theirs)}`);
  };
}; }"""

# Each setting worked out from the picture of the first; one in five is also drawn afresh.
WORKED = """async ([source, data, settings]) => {
  const script = new Blob([source], { type: 'text/javascript' });
  const module = await import(URL.createObjectURL(script));
  const parentElement = document.createElement('div');
  document.body.append(parentElement);
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  module.default({ data: bytes, parentElement, setTriggerValue() {} });
  const view = parentElement.gbuqCurves;
  const alike = alikeOf(module);
  return settings.map((values, i) => {
    view.read(i % 3 ? 2 : null);
    view.knobBar.values = values;
    view.rework(); // draws it, too
    const { panels, legend, read, x } = view.spec;
    if (i % 5 === 1) alike(view);
    return { panels, legend, read, x };
  });
}"""


EDGES = """async ([source, data, text, background]) => {
  const module = new Blob([source], { type: 'text/javascript' });
  const { default: draw } = await import(URL.createObjectURL(module));
  const parentElement = document.createElement('div');
  parentElement.style.setProperty('--st-text-color', text);
  parentElement.style.setProperty('--st-background-color', background);
  document.body.append(parentElement);
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  draw({ data: bytes, parentElement, setTriggerValue() {} });
  const drawn = parentElement.querySelectorAll('svg[role=img] g.panel path');
  return Array.from(drawn, (path) => path.getAttribute('stroke'));
}"""


def luminance(rgb):
    """Relative luminance of sRGB (WCAG 2.2)."""
    share = np.asarray(rgb) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_the_edge_of_a_band_stands_out_from_the_page(page):
    root = Path(__file__).resolve().parents[2]
    theme = tomllib.loads((root / ".streamlit" / "config.toml").read_text())["theme"]
    colours = sorted({method.colour for method in METHODS.values()})
    layers = [band([0, 1], [0, 0], [1, 1], colour, 0.2) for colour in colours]
    axis = {"range": [0, 1], "label": ""}
    spec = {
        "x": axis,
        "panels": [{**axis, "share": 1, "layers": layers}],
        "read": {"x": [0, 1], "label": "x", "values": []},
        "legend": [],
        "alt": "",
        "hint": "",
        "height": 100,
    }
    data = b64encode(pack_curves(spec)).decode()
    page.goto("about:blank")
    for side in ("light", "dark"):
        text, ground = theme[side]["textColor"], theme[side]["backgroundColor"]
        strokes = page.evaluate(EDGES, [curves_source(), data, text, ground])
        assert len(strokes) == len(colours)
        behind = luminance([int(ground[at : at + 2], 16) for at in (1, 3, 5)])
        for colour, stroke in zip(colours, strokes, strict=True):
            edge = luminance([int(value) for value in re.findall(r"\d+", stroke)[:3]])
            contrast = (max(edge, behind) + 0.05) / (min(edge, behind) + 0.05)
            assert contrast >= 3, (side, colour, stroke)


def worked(page, figure, settings):
    page.goto("about:blank")
    page.evaluate(ALIKE)
    data = b64encode(pack_curves(figure.spec)).decode()
    return page.evaluate(WORKED, [curves_source(), data, settings])


def compare(drawn, figure):
    """The largest error of a number, relative to the largest value of the picture."""
    wanted, worst = figure.spec, 0.0
    names = [[entry["name"] for entry in spec["legend"]] for spec in (drawn, wanted)]
    assert names[0] == names[1]
    np.testing.assert_allclose(drawn["x"]["range"], wanted["x"]["range"])
    for mine, theirs in zip(drawn["panels"], wanted["panels"], strict=True):
        assert mine["note"] == theirs["note"]
        np.testing.assert_allclose(mine["range"], theirs["range"], rtol=1e-6)
        assert [p["kind"] for p in mine["layers"]] == [p["kind"] for p in theirs["layers"]]
        for layer, expected in zip(mine["layers"], theirs["layers"], strict=True):
            assert layer.get("opacity") == expected.get("opacity")
            assert layer.get("colour") == expected.get("colour")
            if layer["kind"] == "sheaf":
                worst = max(worst, compare_lines(layer, expected))
                continue
            for part in ("x", "y", "low", "high"):
                if part in expected:
                    worst = max(worst, error(layer[part], expected[part], wanted["panels"]))
    for mine, theirs in zip(drawn["read"]["values"], wanted["read"]["values"], strict=True):
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
        Answer(method, Request(method, 1, print), "done", fit, True, 0.1, "", None)
        for fit in fits
        for method in fit.plan.methods
    ]


def test_every_level_and_part_of_intervals_is_what_python_draws(page):
    methods = ("macau_basic", "conformal_linear", "forest", "gnll", "isolation")
    settings = HeteroscedasticSettings(methods=methods, rows=200, trees=10, subsample=0.3)
    fits = [HETEROSCEDASTIC.fit(plan_of(settings, method)) for method in methods]

    state = state_of(HETEROSCEDASTIC)

    def figure(**knobs):
        now = replace(settings, **knobs)
        values = defaults(state, **to_values(now))
        shown = view_answers(HETEROSCEDASTIC, now, answers(fits))
        return draw_compared(HETEROSCEDASTIC, state, now, shown, values)

    figures = [
        figure(
            level=level,
            conformal=conformal,
            focus=i % 2 == 1,
            show_data=bool(i & 1),
            show_knowledge=bool(i & 2),
            show_total=bool(i & 4),
        )
        for level in LEVELS
        for conformal in (False, True)
        for i in range(8)
    ]
    start = figure()
    placed = [{knob.key: knob.value for knob in spec.knobs} for spec in figures]
    drawn = worked(page, start, placed)
    errors = [compare(spec, figure) for spec, figure in zip(drawn, figures, strict=True)]
    assert max(errors) < STATED_ERROR


def test_every_number_of_functions_is_what_python_draws(page):
    methods = ("vst", "sglb", "gp")
    settings = SoftTreesSettings(methods=methods, rows=30, steps=200, depth=1, members=5)
    fits = [SOFT_TREES.fit(SOFT_TREES.plan(settings, method)) for method in methods]

    def figure(show, shown, draws, focus):
        now = replace(settings, show=show, shown=shown, draws=draws)
        drawn = view_answers(SOFT_TREES, now, answers(fits))
        values = defaults(state_of(SOFT_TREES), **to_values(now), focus=focus)
        return draw_compared(SOFT_TREES, state_of(SOFT_TREES), now, drawn, values)

    cases = [
        (show, shown, draws, shown == 5)
        for show in find_knob(knobs_of(SoftTreesSettings), "show").choices
        for shown in (1, 5, 30, 100)
        for draws in (10, 50, 100)
    ]
    figures = [figure(*case) for case in cases]
    start = figure("both", 20, 100, False)
    placed = [{knob.key: knob.value for knob in spec.knobs} for spec in figures]
    drawn = worked(page, start, placed)
    errors = [compare(spec, figure) for spec, figure in zip(drawn, figures, strict=True)]
    assert max(errors) < STATED_ERROR


# Each figure drawn over each other one; a zoom, other numbers below the same layers.
REDRAWN = """async ([source, groups]) => {
  const script = new Blob([source], { type: 'text/javascript' });
  const module = await import(URL.createObjectURL(script));
  const alike = alikeOf(module);
  let done = 0;
  for (const specs of groups) {
    for (const first of specs) {
      const parent = document.createElement('div');
      document.body.append(parent);
      const view = module.mount(parent, structuredClone(first));
      for (const spec of [...specs, first, ...specs.toReversed()]) {
        view.read(1);
        view.update(structuredClone(spec));
        done += alike(view);
        const { read, x: { range: [low, high] } } = view.spec;
        view.window = { x: [low + 0.2 * (high - low), high] };
        view.draw();
        done += alike(view);
        view.window = null;
        view.draw();
        if (!read.y) continue;
        view.spec = { ...view.spec, read: { ...read, y: read.y.map((v) => 0.5 * v) } };
        view.draw();
        done += alike(view);
      }
      view.destroy();
      parent.remove();
    }
  }
  return done;
}"""


def plain_figure(panels, **more):
    axis = {"range": [0, 10], "label": "x"}
    shared = [{"range": [-1, 2], "label": "y", "share": 1 / len(panels), **p} for p in panels]
    read = {"x": [0, 5, 10], "label": "x", "values": [{"name": "y", "at": [1, 2, 3]}]}
    spec = {"x": axis, "panels": shared, "read": read, "legend": [], "alt": "", "hint": "hint"}
    return {**spec, "height": 300, **more}


def test_a_picture_drawn_over_another_is_the_one_drawn_afresh(page):
    x, y = [0, 4, 10], [0, 1, 0.5]
    course = line(x, y, "#cc3311", 2)
    dashed = line(x, [1, 1, 0], "text", 1.5, "4 3")
    cloud = {"kind": "dots", "x": x, "y": y, "colour": "#0077bb", "opacity": 0.5, "size": 3}
    shade = band(x, [0, 0, 0], [1, 1.5, 1], "#0077bb", 0.2)
    hatch = {"kind": "hatch", "from": 0, "to": 3}
    aside = {"x": 4, "y": [0, 1, 2], "density": [0, 1, 0], "colour": "#0077bb"}
    ring = {"x": 4, "y": 1, "colour": "text"}
    chosen = readable_dots([0, 2], "#009988", 0.9, 5)
    values = [{"name": "y", "at": y}]
    dots = {"x": x, "y": y, "names": [1, 2, 3], "label": "row", "values": values}
    parts = [shade, dashed, cloud, {"kind": "hatch", "colour": "text"}]
    scale = {"kind": "scale", "name": "scale", "colours": ["#112233", "#ddeeff"]}
    legend = [*(entry(part["kind"], part) for part in parts), scale]
    upper = {"layers": [hatch, shade, course, dashed], "aside": aside}
    ringed = {"layers": [cloud, chosen], "ring": ring}
    curves = [
        plain_figure([upper, {"layers": [cloud]}]),
        plain_figure([{"layers": [course]}], x={"range": [0, 1e6], "label": "rows"}),
        plain_figure([ringed], read=dots, legend=legend, height=200),
    ]
    sheaf = {"kind": "sheaf", "from": 0, "to": 10, "count": 3, "range": [0, 1], "lines": 2}
    codes = b64encode(np.arange(0, 60_000, 10_000, dtype="<u2").tobytes()).decode()
    sheaf |= {"data": codes, "colour": "#cc3311", "opacity": 0.4, "width": 1}
    titled = {"title": "Method", "colour": "#cc3311", "note": "a note"}
    below = {"range": [0, 1], "label": "score", "layers": [dashed], "own": True}
    scored = {**titled, "layers": [sheaf, course], "below": below}
    worded = {**titled, "layers": [shade, {"kind": "words", "text": "none"}]}
    untold = {**titled, "note": None, "layers": [course, hatch]}
    single = {**titled, "layers": [{**sheaf, "lines": 1}]}
    facets = [
        plain_figure([scored, worded], facets=3, below=60, height=150),
        plain_figure([untold], facets=3, legend=legend),
        plain_figure([single] * 4, facets=2),
    ]
    page.goto("about:blank")
    page.evaluate(ALIKE)
    done = page.evaluate(REDRAWN, [curves_source(), [curves, facets]])
    assert done >= 2 * 7 * 3 * 2


# Where the knobs of a drawing stand -> what it says then.
SAID = """async ([source, data, key, settings]) => {
  const script = new Blob([source], { type: 'text/javascript' });
  const module = await import(URL.createObjectURL(script));
  const parentElement = document.createElement('div');
  document.body.append(parentElement);
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  module.default({ data: bytes, parentElement, setTriggerValue() {} });
  const view = window.view = parentElement.gbuqCurves;
  const alike = alikeOf(module);
  return settings.map(([place, values], i) => {
    const turn = (one) => {
      Object.assign(one.knobBar.values, values);
      one.player.frame = place;
    };
    turn(view);
    view.show(); // draws it, too
    if (i % 9 === 1) alike(view, turn);
    return JSON.parse(view.root.dataset[key]);
  });
}"""


def read_out(page, figure, key, settings):
    page.goto("about:blank")
    page.evaluate(ALIKE)
    data = b64encode(pack_curves(figure.spec)).decode()
    return page.evaluate(SAID, [curves_source(figure.scripts), data, key, settings])


def test_a_point_flows_through_soft_trees_as_python_has_it(page, monkeypatch):
    methods = ("vst", "vsgbm")
    settings = SoftTreesSettings(methods=methods, rows=30, steps=200, depth=3, trees=3)
    fits = [SOFT_TREES.fit(SOFT_TREES.plan(settings, method)) for method in methods]
    figure = flow_figure_of(defaults(state_of(SOFT_TREES)), fits, lambda *given: given[-1]())
    cases = [
        (place, whose, tree, draw)
        for whose, tree in ((0, 0), (1, 0), (1, 2))
        for draw in (0, 1, 57, 100)
        for place in (0, 133, 255, 400)
    ]
    knobs = [[place, {"whose": w, "tree": t, "draw": d}] for place, w, t, d in cases]
    flows = read_out(page, figure, "flow", knobs)
    data = fits[0].data
    for (place, whose, tree, draw), (x, output) in zip(cases, flows, strict=True):
        wanted_x = data.x[0] + (data.x[-1] - data.x[0]) * place / 400
        np.testing.assert_allclose(x, wanted_x, atol=NEAR_ZERO)
        number = None if draw == 0 else draw - 1
        picture = fits[whose].model.tree_picture(np.array([[wanted_x]]), number, tree)
        # Gates and leaves travel as float32.
        assert abs(output - picture.output[0]) < 1e-5 * np.ptp(data.y_range)
    # The point is carried by the pointer and by arrow keys, and the page hears where it was left.
    page.evaluate("view.send = (message) => { window.heard = message; }")
    box = page.locator(".gbuq-played > svg").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + 60)
    page.mouse.up()
    assert page.evaluate("heard.knobs.tree_x") == page.evaluate("view.player.frame") > 390
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("heard.knobs") == {"whose": 1, "tree": 2, "draw": 100, "tree_x": 1}
    # A notebook sets all knobs at once.
    page.evaluate("view.knobBar.put({ whose: 0, tree: 0, draw: 0, tree_x: 7 }); view.rework()")
    assert page.evaluate("[view.player.frame, Object.keys(view.values).length]") == [7, 3]


def test_a_bandit_is_told_step_by_step_as_it_was_played(page):
    settings = BanditSettings(
        n_steps=60, n_seeds=1, policies=("random", "greedy", "sglb"), vst_steps=50
    )
    runs = run_policies(settings)
    values = defaults(state_of(SOFT_TREES))
    figure = bandit_steps_figure(values, runs)
    steps = runs[0].trace.steps
    knobs = [[at, {"bandit_policy": p}] for p in range(3) for at in range(len(steps))]
    answers = iter(read_out(page, figure, "step", knobs))
    for run in runs:
        for at, step in enumerate(steps):
            at_step, pulled, regret, best = next(answers)
            assert (at_step, pulled) == (step, run.arms[0, step - 1])
            assert abs(regret - run.cumulative[0, step - 1]) <= 1e-4 * run.cumulative[0, -1]
            drawn = run.trace.functions[at, :, 40] if run.trace.x.size else np.array([np.nan])
            if np.isnan(drawn).any():
                assert best is None
            else:  # within half a step of 16 bits of three times the axis
                low, high = figure.spec["policies"][0]["functions"]["range"]
                wanted = np.clip(drawn.max(), low, high)
                assert abs(best - wanted) < (high - low) / 65_000
