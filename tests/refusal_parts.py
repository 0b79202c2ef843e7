"""What a refusal looks like: one sentence."""

import pytest


def refused(kind, text):
    """One sentence that holds ``text``."""
    return pytest.raises(kind, match=rf"^[^\n]*{text}[^\n]*\.$")


def refused_from(kind, start):
    """One sentence that begins with ``start``."""
    return pytest.raises(kind, match=rf"^{start}[^\n]*\.$")
