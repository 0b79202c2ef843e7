"""Every page once: its file, its address, and what it answers. Navigation and Explore read this."""

from __future__ import annotations

from typing import NamedTuple

NAME = "gbuq"  # of the app
SUBJECT = "Uncertainty in boosted trees"


class Entry(NamedTuple):
    """One page of the app."""

    url_path: str  # the file's name, too: another one is unknown to a cold server
    title: str
    question: str  # what the page answers, for its card

    @property
    def path(self) -> str:
        """Its file."""
        return f"pages/{self.url_path or 'home'}.py"

    @property
    def tab(self) -> str:
        """What the browser's tab and a shared link are called."""
        return f"{self.title if self.url_path else SUBJECT} \u00b7 {NAME}"


HOME = Entry("", "Start", "What are total, data and knowledge uncertainty? Move a slider and see.")
HEART = Entry("heart", "Heart", "Does the model know where it has seen nothing?")
SPIRAL = Entry("spiral", "Spiral", "Does the model know that it left the data?")
GAUSSIANS = Entry("gaussians", "25 Gaussians", "Can one chain find all the modes?")
HETEROSCEDASTIC = Entry(
    "heteroscedastic",
    "Noise that grows",
    "Does the model know its noise, and where it has seen no rows?",
)
NEIGHBOURS = Entry("neighbours", "Neighbours", "Which training rows does a prediction come from?")
SOFT_TREES = Entry("soft_trees", "Soft trees", "How many functions fit these points?")
NOVELTY = Entry("novelty", "Novelty maps", "What makes a place new to the model?")
BEYOND = Entry("beyond", "Beyond the rows", "What does a model say where it has seen nothing?")
TWO_CLOCKS = Entry("two_clocks", "Two clocks", "Do intervals of 90 % hold 90 % of new rows?")
YOUR_DATA = Entry(
    "your_data",
    "Your data",
    "Drop in a CSV. For which of its rows should you not trust the prediction, and why?",
)
SCOREBOARD = Entry(
    "scoreboard",
    "Scoreboard",
    "Which method should you use? Error against time on tables like yours.",
)
LESSONS = Entry(
    "lessons",
    "Learn",
    "What do the pictures teach? Guess first, and check it with live numbers.",
)
EXPLORE = Entry(
    "explore", "Explore", "What do tree ensembles know? Each picture answers your hand."
)

OWN_POINTS = Entry(
    "own_points", "Own points", "What does each method make of points that you place?"
)
EXPERIMENTS = (
    HEART, SPIRAL, GAUSSIANS, HETEROSCEDASTIC, SOFT_TREES, NEIGHBOURS, NOVELTY, TWO_CLOCKS,
    BEYOND, OWN_POINTS,
)  # fmt: skip
# The experiments that are a `gbuq_core.study.study.Study` each.
STUDIES = (HEART, BEYOND, GAUSSIANS, HETEROSCEDASTIC, NOVELTY, TWO_CLOCKS, SPIRAL, SOFT_TREES)
# In the order of the navigation, which leads to the experiments by Explore.
PAGES = (HOME, YOUR_DATA, EXPLORE, LESSONS, SCOREBOARD, *EXPERIMENTS)


def has_lesson(entry: Entry) -> bool:
    """Whether a page has a lesson: the experiments of the papers and Your data.

    >>> has_lesson(HEART), has_lesson(HOME)
    (True, False)
    """
    return entry in (*EXPERIMENTS, YOUR_DATA) and entry is not OWN_POINTS
