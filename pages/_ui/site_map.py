"""Every page once: its file, its address, and what it answers. Navigation and Home read this."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

NAME = "gbuq"  # of the app
SUBJECT = "Uncertainty in boosted trees"


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
    "pages/home.py",
    "",
    "Home",
    "",
    "What are total, data and knowledge uncertainty? Move a slider and see.",
)

HEART = Entry(
    "pages/heart.py",
    "heart",
    "Heart",
    "Experiments",
    "Does the model know where it has seen no rows? Paint cells, play the trees, compare methods.",
)

SPIRAL = Entry(
    "pages/spiral.py",
    "spiral",
    "Spiral",
    "Experiments",
    "Does the model know that it left the data? Play the trees, ask at a point, walk away.",
)

GAUSSIANS = Entry(
    "pages/gaussians.py",
    "gaussians",
    "25 Gaussians",
    "Experiments",
    "Can one chain find all the modes? Four samplers start together and take equally many steps.",
)

HETEROSCEDASTIC = Entry(
    "pages/heteroscedastic.py",
    "heteroscedastic",
    "Heteroscedastic",
    "Experiments",
    "Does the model know its noise, and where it has seen no rows? Compare up to six methods with "
    "the truth and with their novelty.",
)

NEIGHBOURS = Entry(
    "pages/neighbours.py",
    "neighbours",
    "Neighbours",
    "Experiments",
    "Which training rows does a prediction come from? Click a place and see those rows, and how "
    "they set its scale.",
)

SOFT_TREES = Entry(
    "pages/soft_trees.py",
    "soft_trees",
    "Soft trees",
    "Experiments",
    "How many functions fit these points? Place points and see where the functions spread.",
)

NOVELTY = Entry(
    "pages/novelty.py",
    "novelty",
    "Novelty maps",
    "Experiments",
    "What makes a place new to the model? Compare scores with the truth, erase rows, and predict "
    "how the maps change.",
)

TWO_CLOCKS = Entry(
    "pages/two_clocks.py",
    "two_clocks",
    "Two clocks",
    "Experiments",
    "Is the stated uncertainty true? Move the trees of the mean and of the scale, and see which "
    "numbers give intervals that hold what they say.",
)

YOUR_DATA = Entry(
    "pages/your_data.py",
    "your_data",  # as the file: another name is unknown to a cold server
    "Your data",
    "Your data",
    "Drop in a CSV. For which of its rows should you not trust the prediction, and why?",
)

SCOREBOARD = Entry(
    "pages/scoreboard.py",
    "scoreboard",
    "Scoreboard",
    "Learn",
    "Which method should you use, and do the papers' tables hold? Our numbers beside theirs, and "
    "what each takes.",
)

LESSONS = Entry(
    "pages/lessons.py",
    "lessons",
    "Lessons",
    "Learn",
    "What do the pictures teach? Answer a question at each step and check it with live numbers.",
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
    TWO_CLOCKS,
    YOUR_DATA,
    SCOREBOARD,
    LESSONS,
)


def has_lesson(entry: Entry) -> bool:
    """Whether a page has a lesson: the experiments, Your data and the Scoreboard.

    >>> has_lesson(HEART), has_lesson(HOME)
    (True, False)
    """
    return entry.section == HEART.section or entry in (YOUR_DATA, SCOREBOARD)


def sections() -> dict[str, list[Entry]]:
    """The pages as the navigation groups them, in order.

    A section of one or two pages is no menu: its pages are plain links, one click instead of two.

    >>> list(sections())[0], sections()[""][0].title
    ('', 'Home')
    """
    sizes = Counter(entry.section for entry in PAGES)
    grouped: dict[str, list[Entry]] = {}
    for entry in PAGES:
        grouped.setdefault(entry.section if sizes[entry.section] > 2 else "", []).append(entry)
    return grouped
