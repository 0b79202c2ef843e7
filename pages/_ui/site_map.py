"""Every page once: its file, its address, and what it answers. Navigation and Home read this."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One page of the app.

    ``question`` is what the page answers, in a sentence for Home's list of pages.
    """

    path: str
    url_path: str
    title: str
    section: str
    question: str


HOME = Entry(
    "pages/home.py", "", "Home", "", "Three kinds of uncertainty in one picture that you can move."
)

# In the order of the navigation; sections appear in the order of their first page.
PAGES: tuple[Entry, ...] = (HOME,)


def sections() -> dict[str, list[Entry]]:
    """The pages by section, in order.

    >>> list(sections())[0], sections()[""][0].title
    ('', 'Home')
    """
    grouped: dict[str, list[Entry]] = {}
    for entry in PAGES:
        grouped.setdefault(entry.section, []).append(entry)
    return grouped
