"""Streamlit calls a figure's module for new data, and cleans up after calls that it gave up."""

import base64

import numpy as np
import pytest

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.canvas.renderer import renderer_source
from gbuq_core.figures.curves import curves_source, draw_curves, pack_curves
from gbuq_core.figures.curves.parts import axis, line, panel, reading

# When data overtake the loading of the module, the call with the older data is made all the same,
# before or after that with the newer ones, and cleaned up. What is drawn after each step?
OVERTAKEN = """async ([source, older, newer, olderFirst]) => {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const { default: module } = await import(url);
  const parentElement = document.body.appendChild(document.createElement('div'));
  const call = (given) => {
    const data = Uint8Array.from(atob(given), (c) => c.charCodeAt(0));
    return module({ data, parentElement, setTriggerValue: () => {} });
  };
  const drawn = () => parentElement.outerHTML.match(/older|newer/)?.[0] ?? 'nothing';
  let cleanUpOlder, cleanUpNewer;
  if (olderFirst) cleanUpOlder = call(older);
  cleanUpNewer = call(newer);
  if (!olderFirst) cleanUpOlder = call(older);
  const seen = [];
  cleanUpOlder();
  seen.push(drawn());
  parentElement.remove(); // the page no longer has the figure
  cleanUpNewer();
  seen.push(drawn());
  return seen;
}"""


def a_sheet(title):
    return base64.b64encode(
        encode_sheet(PanelSheet(panels=[Panel(title=title, values=np.eye(4), unit="nats")]))
    ).decode()


def curves(title):
    spec = draw_curves(
        "line",
        title,
        200,
        axis((0.0, 1.0), "x"),
        [panel((0.0, 1.0), "y", [line([0.0, 1.0], [0.0, 1.0], "text", 1.0)], 1.0)],
        [],
        reading([0.0, 1.0], "x", [("y", [0.0, 1.0])]),
    ).spec
    return base64.b64encode(pack_curves(spec)).decode()


@pytest.mark.parametrize(("source", "data"), [(renderer_source, a_sheet), (curves_source, curves)])
@pytest.mark.parametrize("older_first", [True, False])
def test_a_figure_outlives_the_clean_up_of_an_overtaken_call(page, source, data, older_first):
    page.goto("about:blank")
    given = [source(), data("older"), data("newer"), older_first]
    assert page.evaluate(OVERTAKEN, given) == ["newer", "nothing"]
