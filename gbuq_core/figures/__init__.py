"""Results become pictures here: arrays in, specifications out, no estimator and no streamlit.

Two renderers of our own, in JavaScript, draw nearly all of them: ``canvas/`` sheets of heatmaps
with their strips, ``curves/`` lines and bands over one x axis. `standalone` writes both as one HTML
file, `show` puts them into a notebook, `plots` draws what estimators return, `surface` shows a map
in 3-D by plotly, and `colour` holds the colour maps and the colour of each method. A renderer knows
no experiment: what a page draws lives with its experiment (``experiments/<name>/picture.py``).
"""

from gbuq_core.figures.showing import register_bundle
from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)

register_bundle(lambda figure: __getattr__("notebook").notebook_bundle(figure))
