"""A page's first picture is stored: it fits nothing, and imports nothing that only fits need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pages._ui.export import OFFERED
from tests.app.opening import open_link

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    *("home", "heart", "spiral", "gaussians", "soft_trees", "two_clocks", "heteroscedastic"),
    *("beyond", "neighbours", "novelty"),
)
# All are opened in one process, so those that load more are the last ones.
EVERY = ("lessons?lesson=heart", *PAGES, "scoreboard")
SLOW = {"catboost", "lightgbm", "numba", "pandas", "scipy.stats", "sklearn"}
# In folds, after the picture, Streamlit's tables and charts need it.
LATER = {"neighbours": {"pandas"}, "novelty": {"pandas"}, "scoreboard": {"pandas"}}
# One process opens all pages: it takes seconds to start.
OPENED = """
import json, sys
from urllib.parse import parse_qsl
from pages._ui import notices, warmup
warmup.start_warm_up = lambda: None
from gbuq_core.jobs import JobRunner
from tests.app.opening import open_link
asked, ask, found, told = [], JobRunner.want, {}, []
notices.show_notice = lambda sentences, key, tone="note": told.append(sentences)
def want(runner, user, key, *args, **options):
    asked.append(str(key))
    return ask(runner, user, key, *args, **options)
JobRunner.want = want
for name in sys.argv[1:]:
    asked.clear()
    told.clear()
    page, _, query = name.partition("?")
    at = open_link(page, dict(parse_qsl(query)))
    drawn = sum(len(at.get(kind)) for kind in ("bidi_component", "vega_lite_chart"))
    seeds = "_seeds_drawn" in at.session_state  # they are to be run behind the picture
    found[name] = {"asked": list(asked), "drawn": drawn, "seeds": seeds, "loaded": [*sys.modules]}
    assert not told, told
    assert not at.exception, at.exception
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def opened():
    process = subprocess.run(
        [sys.executable, "-c", OPENED, *EVERY],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.parametrize("page", EVERY)
def test_a_page_opens_without_a_fit(opened, page):
    assert opened[page]["drawn"]
    assert not opened[page]["asked"]
    assert not opened[page]["seeds"]
    assert SLOW.intersection(opened[page]["loaded"]) == LATER.get(page, set())


@pytest.mark.parametrize("page", PAGES)
def test_what_an_opening_gives_away_is_whole(page):
    """Files that need the model, which is not stored, fit it when they are asked for."""
    for name, make in open_link(page, {}).session_state[OFFERED].items():
        content = make()
        text = content if isinstance(content, str) else content.decode()
        assert len(text.splitlines()) > 2, name
