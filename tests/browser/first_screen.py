"""What a reader meets on a page as it opens, looked at where its own test has it open."""

from benchmarks.first_screens import SIZES, beyond_bars, first_screens
from tests.browser.conftest import assert_accessible

_DESK, _BETWEEN, _PHONE = SIZES
_SHOWN = ((_DESK, "light"), (_BETWEEN, "light"), (_PHONE, "dark"))


def opening_screens(page, address):
    """Give the page of an address, just opened, three windows; yield in a desk's and a phone's.

    In each stand few controls and words, and a large picture; nothing is wider than the window. A
    desk's is light and a phone's is dark, and in both the page is accessible.
    """
    for size, scheme in _SHOWN:
        for where, screen in first_screens(page, [(size, scheme)]):
            assert beyond_bars(address, screen) == [], where
        assert page.locator("[data-testid=stMain]").evaluate("node => node.scrollWidth") <= size[0]
        if size != _BETWEEN:
            assert_accessible(page)
            yield size, scheme
