"""A lens of one file is on the page and in the HTML download."""

import importlib
import re
from pathlib import Path

import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.lenses.register import LENSES, declare_lens
from tests.app.your_data_page import csv_of, open_page, texts

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "code.md"


@pytest.fixture
def steady(tmp_path, monkeypatch):
    """The guide's example, in a package of its own."""
    section = GUIDE.read_text(encoding="utf-8").split("## How to add a lens")[1]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (tmp_path / "toy_lens").mkdir()
    (tmp_path / "toy_lens" / "__init__.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("toy_lens")
    yield module
    del LENSES["steady"]


def test_the_guides_lens_is_on_the_page_and_in_the_download(steady, offered):
    data = csv_of(x=[k % 9 for k in range(80)], y=[(k * k) % 23 for k in range(80)])
    at = open_page(data, table="your file", section="More rows", n_steady="5")
    assert not at.exception
    assert any("About which rows do the members agree?" in text.value for text in at.markdown)
    assert at.slider(key="n_steady").value == 5  # of the link
    for n_rows in (5, 2):
        at.slider(key="n_steady").set_value(n_rows).run()
        (sentence,) = (
            text for text in texts(at) if text.startswith("The members agree most about")
        )
        assert len(sentence.split(",")) == n_rows
    report = offered["your-data.html"]().decode()
    assert "<h2>About which rows do the members agree?</h2>" in report
    assert sentence in report
    with pytest.raises(InvalidParameter, match='There is a lens "steady" already'):
        declare_lens(LENSES["steady"])
