"""Streamlit calls a figure's module for each new data, and cleans up after calls it gave up."""

import base64

import numpy as np
import pytest

from gbuq_core.figures.bands import Bands, Limits, bands_figure
from gbuq_core.figures.curves import curves_source
from gbuq_core.figures.encoding import encode_sheet
from gbuq_core.figures.panels import Panel, PanelSheet
from gbuq_core.figures.renderer import renderer_source
from gbuq_core.figures.theme import METHOD_STYLES

# Both calls wait for the module, as they do when data overtake its loading. Streamlit then runs
# the first call's clean-up in a promise of its own: after the second call has drawn.
OVERTAKEN = """async ([source, data, binary]) => {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const parentElement = document.body.appendChild(document.createElement('div'));
  const given = binary ? Uint8Array.from(atob(data), (c) => c.charCodeAt(0)) : data;
  const call = async () =>
    (await import(url)).default({ data: given, parentElement, setTriggerValue: () => {} });
  const [first, second] = await Promise.all([call(), call()]);
  const counts = [];
  for (const cleanUp of [first, second]) {
    cleanUp();
    counts.push(parentElement.childElementCount);
  }
  await call();
  return [...counts, parentElement.childElementCount];
}"""


def a_sheet():
    sheet = PanelSheet([Panel("Knowledge", np.eye(4), "nats")])
    return renderer_source(), base64.b64encode(encode_sheet(sheet)).decode(), True


def curves():
    x = np.linspace(0.0, 1.0, 5)
    bands = Bands(x, x, x, x, true_mean=x, true_variance=x, x_rows=x, y_rows=x)
    limits = Limits(y=(-1.0, 1.0), variance=(0.0, 1.0))
    return curves_source(), bands_figure(bands, METHOD_STYLES["sglb"], limits).spec, False


@pytest.mark.parametrize("figure", [a_sheet, curves])
def test_a_figure_outlives_the_clean_up_of_an_overtaken_call(page, figure):
    page.goto("about:blank")
    # Drawn by two calls: there after the first's clean-up, gone after the second's, drawn anew.
    assert page.evaluate(OVERTAKEN, list(figure())) == [1, 0, 1]
