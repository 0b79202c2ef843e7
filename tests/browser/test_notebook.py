"""Figures in a real JupyterLab: they draw, follow its theme, and tell Python of their knobs.

What other notebooks do with a widget is played by a page of its own: anywidget's model is a few
functions.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec

import numpy as np
import pytest
from playwright.sync_api import expect

from gbuq_core.figures import show
from gbuq_core.figures.canvas.live import Ensemble, Live
from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import live_knob
from gbuq_core.knobs import Knob
from tests.browser.conftest import (
    REPOSITORY,
    START_TIMEOUT,
    WAIT,
    free_port,
    screenshot,
    stop_server,
    unavailable,
)

# The band's knobs are asked for in a later cell; the maps show themselves.
CELLS = (
    """import numpy as np
from gbuq_core.distribution import NormalDistribution
from gbuq_core.figures import show
from gbuq_core.uncertainty import Uncertainty

x = np.linspace(0.0, 6.0, 60)
widget = show(NormalDistribution(np.sin(x), 0.1 + 0.1 * x).plot(x))
widget""",
    """grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(5.0)), -1).reshape(-1, 2)
noise, doubt = grid.T
Uncertainty(noise + doubt, noise, doubt).plot(grid, unit="variance")""",
    "print('the level is', widget.knobs['level'])",
    "widget.knobs = {'level': 0.99}",
)
# Of JupyterLab itself: what asks the network.
LEFT_OUT = (
    "@jupyterlab/apputils-extension:announcements",
    "@jupyterlab/extensionmanager-extension",
)
BAND = "g.panel path[fill^='#'], g.panel path[fill^='rgb']"
# A renderer's CSS variable, as the place of the figure in the notebook gave it.
GROUND = """node => {
  const { host } = node.getRootNode();
  return getComputedStyle(host).getPropertyValue('--st-background-color');
}"""


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Return the address of a JupyterLab that shows one notebook."""
    for needed in ("jupyterlab", "anywidget", "nbformat"):
        if find_spec(needed) is None:
            unavailable(f"{needed} is not installed")
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook

    home = tmp_path_factory.mktemp("lab")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(
        cells=[new_code_cell(text) for text in CELLS], metadata={"kernelspec": kernel}
    )
    nbformat.write(notebook, home / "figures.ipynb")
    settings = home / ".jupyter" / "labconfig" / "page_config.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"disabledExtensions": dict.fromkeys(LEFT_OUT, True)}))
    port = free_port()
    options = [
        f"--ServerApp.{name}"
        for name in (
            f"port={port}",
            "port_retries=0",
            "ip=127.0.0.1",
            "token=",
            "password=",
            f"root_dir={home}",
            "open_browser=False",
            "allow_root=True",
        )
    ]
    options += ["--LabApp.expose_app_in_browser=True", "--LanguageServerManager.autodetect=False"]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON"))}
    variables = {"HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "jupyterlab", *options]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=home, env=kept | variables, stdout=log, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 2 * START_TIMEOUT
    while not _answers(url):
        if process.poll() is not None or time.monotonic() > deadline:
            stop_server(process)
            raise RuntimeError((home / "server.log").read_text(errors="replace")[-3000:])
        time.sleep(0.1)
    yield f"{url}/doc/tree/figures.ipynb"
    stop_server(process)


def command(page, name: str, **options) -> None:
    """Start a command of JupyterLab, without waiting for what it runs."""
    page.evaluate(
        "([name, options]) => { jupyterapp.commands.execute(name, options); }", [name, options]
    )


def run_cell(page, number: int) -> None:
    page.evaluate(
        "(at) => { jupyterapp.shell.currentWidget.content.activeCellIndex = at; }", number
    )
    command(page, "notebook:run-cell")


def test_figures_draw_in_jupyterlab_and_tell_python_of_their_knobs(new_page, lab):
    page = new_page(private=True, viewport={"width": 1200, "height": 1400})
    page.goto(lab)
    page.wait_for_function(
        "() => globalThis.jupyterapp?.shell.currentWidget?.content?.widgets?.length === 4"
        " && jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
    )
    for number in range(3):
        run_cell(page, number)
    cells = page.locator(".jp-CodeCell")
    curves, maps = (cells.nth(i).locator(kind) for i, kind in enumerate((".gbuq-curves", ".gbuq")))
    band = curves.locator(BAND).first
    expect(cells.nth(2)).to_contain_text("the level is 0.9")
    expect(maps).to_have_attribute("data-ready", "1")
    expect(maps.locator(".gbuq-panel")).to_have_count(3)

    # Both a knob that is turned and one that Python sets move the picture.
    at_90 = band.get_attribute("d")
    slider = curves.locator("[data-knob=level] input")
    slider.press("ArrowLeft")
    expect(band).not_to_have_attribute("d", at_90)
    expect(curves.locator("output")).to_have_text("80 %")
    at_80 = band.get_attribute("d")
    run_cell(page, 2)
    expect(cells.nth(2)).to_contain_text("the level is 0.8")
    run_cell(page, 3)
    expect(curves.locator("output")).to_have_text("99 %")
    expect(band).not_to_have_attribute("d", at_80)

    # Letters that a figure hears are not commands of the notebook: two d delete a cell there.
    maps.locator(".gbuq-panel").first.focus()
    page.keyboard.type("dd")
    expect(cells).to_have_count(4)
    screenshot(page, "jupyterlab-light")

    light = curves.evaluate(GROUND)
    command(page, "apputils:change-theme", theme="JupyterLab Dark")
    page.wait_for_function(
        f"([node, light]) => ({GROUND})(node) !== light",
        arg=[curves.element_handle(), light],
        timeout=WAIT,
    )
    screenshot(page, "jupyterlab-dark")


# A notebook of another program: it has no variables that a figure could know, only colours.
PLAYED = """async ([esm, data, members, places]) => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const held = { _data: bytes(data), _members: bytes(members), _places: places };
  const played = globalThis.played = { held, calls: [], sent: [] };
  const model = {
    get: (name) => held[name],
    set: (name, value) => { held[name] = value; },
    save_changes: () => { played.sent.push({ ...held._places }); },
    on: (name, call) => { played.calls.push(call); },
    off: (name, call) => { played.calls = played.calls.filter((one) => one !== call); },
  };
  document.body.style.cssText = 'background: #1a1a2e; color: #1b1b1b';
  document.body.replaceChildren();
  const el = document.createElement('div');
  const url = URL.createObjectURL(new Blob([esm], { type: 'text/javascript' }));
  const { default: { render } } = await import(url);
  played.end = render({ model, el });
  document.body.append(el);
}"""
PUT = "places => { played.held._places = places; played.calls.forEach((call) => call()); }"
LEFT = "() => { played.end(); return [document.querySelector('div').innerHTML, played.calls]; }"


def play(page, figure):
    page.goto("about:blank")
    state = show(figure).get_state()
    data, members = (base64.b64encode(state[name]).decode() for name in ("_data", "_members"))
    page.evaluate(PLAYED, [state["_esm"], data, members, state["_places"]])


def maps_with_knobs():
    log = live_knob(Knob("log", "Log", "switch", False), True)
    shown = live_knob(Knob("shown", "Members", "choice", "all", choices=("all", 1)), "all")
    members = np.random.default_rng(0).uniform(1.0, 2.0, (1, 2, 4, 2))
    ensemble = Ensemble("models", [10], members, [10], (0, 1, 2))
    grid = np.arange(1.0, 5.0).reshape(2, 2)
    panels = [Panel(title=title, values=grid) for title in ("Total", "Data", "Knowledge")]
    return PanelSheet(panels=panels, knobs=(log, shown), live=Live("normal", [ensemble]))


def band_of_stages():
    """Two stages: the mean is 0 or 1, the std 1 or 2."""
    flat = {"loc": [0.0, 0.0, 1.0, 1.0], "data": [1.0, 1.0, 4.0, 4.0], "knowledge": [0.0] * 4}
    pairs = {"scaled": [1.0] * 4, "plain": [1.0] * 4}
    dials = {
        "key": "a",
        "trees": [5, 50],
        "mean": 0,
        "scale": 0,
        "factor": False,
        "x": [0.0, 1.0],
        "labels": {"mean": "Mean", "scale": "Scale"},
        "factors": [1.0] * 4,
        "stops": [],
        "width": {"scaled": 1.0, "plain": 1.0},
        "under": [],
        "over": [],
        "colour": "#0072b2",
        "rim": 0.5,
        "fill": 0.2,
        "coverage": pairs,
        "nll": pairs,
        "rmse": [1.0] * 4,
        **flat,
    }
    return Curves(
        {
            "name": "stages",
            "alt": "Two stages.",
            "height": 200,
            "hint": "",
            "legend": [],
            "x": {"range": [0.0, 1.0], "label": "x"},
            "panels": [{"share": 1.0, "range": [-3.0, 4.0], "label": "y", "layers": []}],
            "read": {"x": [0.0, 1.0], "label": "x", "values": []},
            "dials": dials,
        }
    )


def test_knobs_of_maps_and_stages_go_both_ways_and_leave_nothing(page):
    play(page, maps_with_knobs())
    sheet = page.locator(".gbuq[data-ready='1']")
    expect(sheet).to_have_attribute("data-live", "0")
    sheet.locator("[data-knob=log] input").click()
    expect(sheet).to_have_attribute("data-live", "1")
    assert page.evaluate("played.sent") == [{"log": False, "shown": 0}]
    page.evaluate(PUT, {"log": True, "shown": 1})
    expect(sheet.locator("[data-knob=shown] select")).to_have_value("1")
    page.evaluate(PUT, {"log": True, "shown": 0})  # what the page drew first
    expect(sheet).to_have_attribute("data-live", "0")
    # Dark ink on a dark page is not taken over.
    style = page.evaluate("document.querySelector('div > div').style.cssText")
    assert "--st-text-color: #e8e9ec" in style
    assert "--st-background-color: rgb(26, 26, 46)" in style
    assert page.evaluate(LEFT) == ["", []]

    play(page, band_of_stages())
    curves = page.locator(".gbuq-curves")
    line = curves.locator("g.panel path[stroke-width='2']")
    low = line.get_attribute("d")
    curves.locator("input[type=range]").first.press("ArrowRight")
    expect(line).not_to_have_attribute("d", low)
    assert page.evaluate("played.sent") == [{"mean": 1, "scale": 0, "factor": False}]
    page.evaluate(PUT, {"mean": 0, "scale": 1, "factor": True})
    expect(line).to_have_attribute("d", low)
    expect(curves.locator("input[type=checkbox]")).to_be_checked()
    assert page.evaluate(LEFT) == ["", []]
