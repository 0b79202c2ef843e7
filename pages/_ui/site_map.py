"""Every page once: its file, its address, and what it answers. Navigation and Home read this."""

from __future__ import annotations

from collections import Counter
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

HEART = Entry(
    "pages/heart.py",
    "heart",
    "Heart",
    "Experiments",
    "Does the model know where it has seen nothing? Paint cells, play the trees, compare methods.",
)

SPIRAL = Entry(
    "pages/spiral.py",
    "spiral",
    "Spiral",
    "Experiments",
    "Does one long model know what an ensemble knows? Play the trees, probe a point, walk out.",
)

GAUSSIANS = Entry(
    "pages/gaussians.py",
    "gaussians",
    "25 Gaussians",
    "Experiments",
    "Can one chain find all the modes? Four samplers race with one start and one budget.",
)

HETEROSCEDASTIC = Entry(
    "pages/heteroscedastic.py",
    "heteroscedastic",
    "Heteroscedastic",
    "Experiments",
    "Does the model know its noise, and where it has seen nothing? Up to six methods beside the "
    "truth, each over its novelty.",
)

NEIGHBOURS = Entry(
    "pages/neighbours.py",
    "neighbours",
    "Neighbours",
    "Experiments",
    "Which training rows does a prediction come from? Click a place and see them, and why its "
    "scale is what it is.",
)

SOFT_TREES = Entry(
    "pages/soft_trees.py",
    "soft_trees",
    "Soft trees",
    "Experiments",
    "How many functions fit these points? Place some, and see where methods agree and fan out.",
)

NOVELTY = Entry(
    "pages/novelty.py",
    "novelty",
    "Novelty maps",
    "Experiments",
    "What makes a place new to the model? Compare scores with the truth, erase rows, and predict "
    "what the maps will do.",
)

YOUR_DATA = Entry(
    "pages/your_data.py",
    "your_data",  # as the file: another name is unknown to a cold server
    "Your data",
    "Your data",
    "Drop a CSV in: which of its rows should you not trust, and why?",
)

LESSONS = Entry(
    "pages/lessons.py",
    "lessons",
    "Lessons",
    "Learn",
    "What do the pictures teach? Ten minutes of questions, answered with numbers computed live.",
)

# In the order of the navigation; sections appear in the order of their first page.
PAGES: tuple[Entry, ...] = (
    HOME,
    HEART,
    SPIRAL,
    GAUSSIANS,
    HETEROSCEDASTIC,
    SOFT_TREES,
    NEIGHBOURS,
    NOVELTY,
    YOUR_DATA,
    LESSONS,
)


def sections() -> dict[str, list[Entry]]:
    """The pages as the navigation groups them, in order.

    A section of a single page is no menu but a plain link, one click instead of two.

    >>> list(sections())[0], sections()[""][0].title
    ('', 'Home')
    """
    sizes = Counter(entry.section for entry in PAGES)
    grouped: dict[str, list[Entry]] = {}
    for entry in PAGES:
        grouped.setdefault(entry.section if sizes[entry.section] > 1 else "", []).append(entry)
    return grouped
