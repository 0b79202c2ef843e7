"""Figures as widgets: what they send, where their knobs stand, and what they say without anywidget.

`tests.browser.test_notebook` runs them in JupyterLab.
"""

import sys

import anywidget
import numpy as np
import plotly.graph_objects as go
import pytest

from gbuq_core.distribution import NormalDistribution
from gbuq_core.errors import InvalidParameter, MissingPackage
from gbuq_core.figures import notebook, show
from gbuq_core.figures.canvas.live import Ensemble, Live
from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.curves import Curves, curves_source
from gbuq_core.figures.curves.parts import line
from gbuq_core.figures.handles import live_knob
from gbuq_core.knobs import Knob
from tests.figure_readers import decode_members, decode_sheet, unpack_curves

X = np.linspace(0.0, 1.0, 20)


@pytest.fixture
def band():
    return NormalDistribution(X, 1.0 + X).plot(X)


@pytest.fixture
def maps():
    log = live_knob(Knob("log", "Log", "switch", False), True)
    shown = live_knob(Knob("shown", "Members", "choice", "all", choices=("all", 2)), "all")
    members = np.full((1, 2, 4, 2), 0.5)
    method = Ensemble("models", [10], members, [10], (0, 1, 2))
    panels = [Panel(title=title, values=np.eye(2)) for title in ("Total", "Data", "Knowledge")]
    return PanelSheet(panels=panels, knobs=(log, shown), live=Live("normal", [method]), alt="Maps.")


@pytest.mark.parametrize("kind", ["sheet", "curves"])
def test_the_module_is_an_anywidget_made_of_the_apps_own_parts(kind):
    source = notebook.notebook_source(kind)
    assert source.count("export default {") == source.count("export default") == 1
    assert "render({ model, el })" in source
    # Up to the entry it is the app's own text, so that nothing has two homes.
    app = {"sheet": notebook.renderer_source, "curves": curves_source}[kind]()
    assert source.startswith(app[: app.index("export default")])
    assert "innerHTML" not in source


def test_a_widget_of_curves_holds_the_figure(band):
    widget = show(band)
    assert isinstance(widget, anywidget.AnyWidget)
    state = widget.get_state()
    assert state["_esm"] == notebook.notebook_source("curves")
    sent = unpack_curves(state["_data"])
    assert sent["knobs"][0]["key"] == "level"
    assert repr(widget) == band.alt


def test_a_widget_of_maps_holds_sheet_and_members(maps):
    widget = show(maps)
    state = widget.get_state()
    assert state["_esm"] == notebook.notebook_source("sheet")
    assert decode_sheet(state["_data"]).header["panels"][2]["title"] == "Knowledge"
    np.testing.assert_array_equal(
        decode_members(state["_members"])[0], maps.live.ensembles[0].members
    )
    assert widget.knobs == {"log": True, "shown": "all"}


def test_knobs_are_read_and_set_by_their_values(maps):
    widget, heard = show(maps), []
    widget.observe(lambda change: heard.append(change["new"]), names="knobs")
    widget.set_state({"_places": {"log": False, "shown": 1}})  # the browser's message
    assert widget.knobs == heard[-1] == {"log": False, "shown": 2}
    widget.knobs = {"shown": "all"}  # the others stay
    assert widget.knobs == heard[-1] == {"log": False, "shown": "all"}
    assert widget.get_state()["_places"] == {"log": False, "shown": 0}
    widget.set_state({"_places": {"log": 3, "shown": "x"}})  # nothing that this picture says
    assert widget.knobs == {"log": False, "shown": "all"}
    with pytest.raises(InvalidParameter, match=r"shown must be one of 'all', 2; got 7\.$"):
        widget.knobs = {"shown": 7}
    with pytest.raises(InvalidParameter, match="no knob called 'level'"):
        widget.knobs = {"level": 0.9}


def test_the_two_stages_of_a_figure_are_knobs_too():
    dials = {"labels": {"mean": "Mean", "scale": "Scale"}, "trees": [10, 200], "factor": True}
    widget = show(Curves({"alt": "Two.", "read": {}, "dials": {**dials, "mean": 1, "scale": 0}}))
    assert widget.knobs == {"mean": 200, "scale": 10, "factor": True}
    widget.set_state({"_places": {"mean": 0, "scale": 0, "factor": False}})
    assert widget.knobs == {"mean": 10, "scale": 10, "factor": False}


def test_what_only_an_app_answers_is_left_out():
    drawn = {"alt": "Dots.", "panels": [{"layers": [line(X, X, "text")]}], "read": {"x": [1.0]}}
    figure = Curves({**drawn, "pick": True, "place": {}, "carry": {}, "hint": "Click."})
    sent = unpack_curves(show(figure).get_state()["_data"])
    assert not {"pick", "place", "carry"} & set(sent)
    assert "Click" not in sent["hint"]


def test_a_figure_at_the_end_of_a_cell_shows_itself(monkeypatch, band, maps):
    for figure in (band, maps):
        assert "application/vnd.jupyter.widget-view+json" in figure._repr_mimebundle_()
    notebook._widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingPackage, match=r"needs anywidget: pip install anywidget\.$"):
        show(band)
    assert band._repr_mimebundle_() == {
        "text/plain": f"{band.alt}\nA picture in a notebook needs anywidget: pip install anywidget."
    }
    notebook._widget_class.cache_clear()


def test_charts_that_notebooks_draw_themselves():
    chart = show({"mark": "bar", "config": {"axis": {"grid": False}}})
    (spec,) = [v for k, v in chart._repr_mimebundle_().items() if "vegalite" in k]
    assert spec["mark"] == "bar"
    assert spec["config"]["axis"] == {"grid": False}  # the chart's own look stays
    assert spec["config"]["legend"]["labelColor"] == "#777777"
    surface = go.Figure(go.Surface(z=[[0.0, 1.0]]))
    shown = show(surface)
    assert surface.layout.paper_bgcolor is None, "the caller's own figure stays"
    clear = {shown.layout.paper_bgcolor, shown.layout.plot_bgcolor, shown.layout.scene.bgcolor}
    assert clear == {"rgba(0,0,0,0)"}
    words = (shown.layout.font, shown.layout.scene.zaxis, shown.data[0].colorbar.tickfont)
    assert len({each.color for each in words}) == 1
    np.testing.assert_array_equal(shown.data[0].z, [[0.0, 1.0]])


def test_what_is_no_figure_is_refused():
    with pytest.raises(InvalidParameter, match="got ndarray"):
        show(X)
