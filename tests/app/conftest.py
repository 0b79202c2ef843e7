"""Pages run through Streamlit's AppTest, without a browser."""

from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

from pages._ui.your_data import export


@pytest.fixture(scope="session", autouse=True)
def installed_components_are_looked_up_once():
    """As a server does at its start; each AppTest reads the metadata of every package instead."""
    with pytest.MonkeyPatch.context() as patch:
        scan = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_page_waits_for_the_compiler(compiled_kernels):
    """Pages are given a minute, which a busy machine may need for their kernels alone."""


@pytest.fixture
def offered(monkeypatch):
    """The files that the page "Your data" offers, by their names, as of its last run."""
    makers, show = {}, export.show_exports

    def keep(key, code, downloads):
        makers.clear()
        makers.update({download.file_name: download.make for download in downloads})
        show(key, code, downloads)

    monkeypatch.setattr(export, "show_exports", keep)
    return makers
