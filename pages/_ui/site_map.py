"""Every page once: its file, its address, and what it answers. Navigation and Explore read this."""

from __future__ import annotations

from typing import NamedTuple

NAME = "gbuq"  # of the app
SUBJECT = "Uncertainty in boosted trees"


class Entry(NamedTuple):
    """One page of the app.

    ``section`` is the title of the entry at the top that leads to it: its own, or Explore.
    ``question`` is what the page answers, in a sentence for its card.
    """

    path: str
    url_path: str
    title: str
    section: str
    question: str


HOME = Entry(
    "pages/home.py",
    "",
    "Start",
    "Start",
    "What are total, data and knowledge uncertainty? Move a slider and see.",
)

HEART = Entry(
    "pages/heart.py",
    "heart",
    "Heart",
    "Explore",
    "Does the model know where it has seen nothing?",
)

SPIRAL = Entry(
    "pages/spiral.py",
    "spiral",
    "Spiral",
    "Explore",
    "Does one long model know what an ensemble knows?",
)

GAUSSIANS = Entry(
    "pages/gaussians.py",
    "gaussians",
    "25 Gaussians",
    "Explore",
    "Can one chain find all the modes?",
)

HETEROSCEDASTIC = Entry(
    "pages/heteroscedastic.py",
    "heteroscedastic",
    "Heteroscedastic",
    "Explore",
    "Does the model know its noise, and where it has seen no rows?",
)

NEIGHBOURS = Entry(
    "pages/neighbours.py",
    "neighbours",
    "Neighbours",
    "Explore",
    "Which training rows does a prediction come from?",
)

SOFT_TREES = Entry(
    "pages/soft_trees.py",
    "soft_trees",
    "Soft trees",
    "Explore",
    "How many functions fit these points?",
)

NOVELTY = Entry(
    "pages/novelty.py",
    "novelty",
    "Novelty maps",
    "Explore",
    "What makes a place new to the model?",
)

TWO_CLOCKS = Entry(
    "pages/two_clocks.py",
    "two_clocks",
    "Two clocks",
    "Explore",
    "Do intervals of 90 % hold 90 % of new rows?",
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
    "Scoreboard",
    "Which method should you use, and do the papers' tables hold? Our numbers beside theirs, and "
    "what each takes.",
)

LESSONS = Entry(
    "pages/lessons.py",
    "lessons",
    "Learn",
    "Learn",
    "What do the pictures teach? Answer a question at each step and check it with live numbers.",
)

EXPLORE = Entry(
    "pages/explore.py",
    "explore",
    "Explore",
    "Explore",
    "What do tree ensembles know? Each picture answers your hand.",
)

EXPERIMENTS = (
    HEART, SPIRAL, GAUSSIANS, HETEROSCEDASTIC, SOFT_TREES, NEIGHBOURS, NOVELTY, TWO_CLOCKS,
)  # fmt: skip
# In the order of the navigation, which leads to the experiments by Explore.
PAGES = (HOME, YOUR_DATA, EXPLORE, LESSONS, SCOREBOARD, *EXPERIMENTS)


def has_lesson(entry: Entry) -> bool:
    """Whether a page has a lesson: the experiments, Your data and the Scoreboard.

    >>> has_lesson(HEART), has_lesson(HOME)
    (True, False)
    """
    return entry in (*EXPERIMENTS, YOUR_DATA, SCOREBOARD)
