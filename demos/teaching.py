"""The teacher's page of each lesson: what to ask, what students get wrong, and how long it takes.

`TEACHING` has one record a lesson, by the lesson's name. Its steps are in the lesson's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class StepNotes(NamedTuple):
    """For one step: what to ask the class, what students often say, and minutes."""

    ask: str
    wrong: str
    minutes: int


class Teaching(NamedTuple):
    """For one lesson."""

    before: str  # what students should know already
    # what the teacher brings, beside the lesson and its exercise notebook
    materials: tuple[str, ...]
    steps: tuple[StepNotes, ...]  # one a step, in order

    @property
    def minutes(self) -> int:
        """Of all steps together.

        >>> TEACHING["two_clocks"].minutes
        16
        """
        return sum(step.minutes for step in self.steps)


_N = StepNotes
_SCREEN = "A screen that the class can see; phones or laptops for their own guesses"

_HEART = Teaching(
    "Mean, variance, and that boosting adds trees one after the other.",
    (_SCREEN, "Paper: each student draws the heart from the third map before you show the first"),
    (
        _N("Which uncertainty would ten times more rows remove?",
           "They expect the noisiest cells to be the least known ones.", 3),
        _N("Why must models agree where they saw a thousand rows?",
           "They read the yellow border of the first map as ignorance.", 2),
        _N("You may report one number only. Which question can it no longer answer?",
           "They say the total contains everything, so it must show everything.", 2),
        _N("Which force would bring the models together in a cell without rows?",
           "They expect more trees to reduce knowledge uncertainty everywhere.", 3),
        _N("When do you need the right size, and when is the right order enough?",
           "They trust the number because the map looks alike.", 3),
        _N("What do the cuts of a model that is still learning disagree about?",
           "They think smaller steps are always the safer choice.", 2),
        _N("What happens to the data uncertainty of the block? Can it be right?",
           "They expect data uncertainty to rise as well, or to vanish.", 2),
        _N("How many rows halve the standard error of a mean?",
           "They answer ten times smaller and forget the square root.", 3),
    ),
)  # fmt: skip
_GAUSSIANS = Teaching(
    "What a density is, and gradient descent.",
    (_SCREEN, "A ball and an egg box: shake it gently, then hard"),
    (
        _N("Could the chain itself find out that it is trapped?",
           "They trust a large number of effective samples.", 2),
        _N("What does the temperature of a sampler change?",
           "They count visited modes and call it solved.", 2),
        _N("When in a cycle may a sample count?",
           "They think the chain walks between modes with small steps.", 3),
        _N("Is it fair to compare samplers that keep different parts of a cycle?",
           "They compare one number and forget what was dropped.", 3),
        _N("What happens to 1 - s h when the step s doubles?",
           "They believe that the cosine of the schedule moves the chain.", 3),
        _N("Would you rather miss a mode or count samples between modes?",
           "They expect a better fit to show more modes, too.", 2),
        _N("Twenty computers for an hour, or one for twenty hours?",
           "They add up the modes of chains and forget those that two chains share.", 2),
        _N("Which setting would you change first for a new target?",
           "They take settings of one target over to the next.", 2),
    ),
)  # fmt: skip
_SPIRAL = Teaching(
    "Entropy of class probabilities, and the heart's lesson.",
    (_SCREEN, "Paper: a spiral with its outer edge, to shade the ignorance by hand"),
    (
        _N("How good is the best possible model here, and why not perfect?",
           "They blame every mistake on the model.", 2),
        _N("Where would you send someone to collect rows?",
           "They are sure that the outside must be yellow.", 3),
        _N("Why can a tree see a gap between rows, but no outer edge?",
           "They think that trees measure distance to rows.", 3),
        _N("What do the cuts of one model have in common?",
           "They take a similar picture for similar numbers.", 2),
        _N("Did the level rise where it should?",
           "They read a higher level as better knowledge.", 3),
        _N("Should an unfinished member have a say?",
           "They assume that all members are equally trained.", 2),
        _N("What would make members independent?",
           "They expect diversity to improve predictions by itself.", 2),
    ),
)  # fmt: skip
_NEIGHBOURS = Teaching(
    "Nearest neighbours, and that a tree cuts the plane into boxes.",
    (_SCREEN, "A printed square with dots: students draw boxes for one tree"),
    (
        _N("Which two rows share most boxes, and are they near each other?",
           "They take affinity for distance.", 2),
        _N("What else but noise makes neighbours' targets differ?",
           "They equate the spread of neighbours with noise.", 3),
        _N("What goes wrong with two neighbours, and with all rows?",
           "They think more neighbours are always safer.", 3),
        _N("Can one number for all rows move the map's hills?",
           "They expect calibrated intervals to be right everywhere.", 2),
        _N("What is left for the hundredth tree to predict?",
           "They expect the last trees to be the most refined, so the best.", 2),
        _N("How sure are you of the winner of nine candidates on few rows?",
           "They trust the best score of a search.", 3),
        _N("Who could disagree in a single model?",
           "They expect a large scale where nothing was seen.", 2),
    ),
)  # fmt: skip
_SOFT_TREES = Teaching(
    "The sigmoid function and the idea of a posterior.",
    (_SCREEN, "Paper: draw three curves through the same six points"),
    (
        _N("What does a hard split lose that training by gradients needs?",
           "They think soft means inexact.", 3),
        _N("What do we know between the last rows on both sides of a gap?",
           "They want one best function and call the others wrong.", 3),
        _N("Why can two parameters move together without changing the fit?",
           "They expect the richer posterior to predict better.", 3),
        _N("Which part of the gain is boosting, and which the model of noise?",
           "They credit everything to the larger number of trees.", 3),
        _N("Which width is right where no row can decide?",
           "They look for the right method instead of the assumption.", 2),
        _N("What do you pay once, and what for every new draw?",
           "They expect sampling functions to cost training.", 2),
    ),
)  # fmt: skip
_HETEROSCEDASTIC = Teaching(
    "Standard deviation, intervals, and the law of total variance.",
    (_SCREEN, "A pencil: each student draws the band before anyone looks"),
    (
        _N("How wide must the band be at x = 10, if it holds 95 %?",
           "They draw a band of one width, or hug the dots.", 4),
        _N("Which part shrinks if we double the rows?",
           "They think that both do.", 2),
        _N("What does a line in a leaf do where rows end? And a constant?",
           "They expect every model to become unsure outside.", 3),
        _N("Novel x, or unusual prediction: which question does each score ask?",
           "They take all novelty scores for the same.", 3),
        _N("Why do trees that saw the same rows agree?",
           "They expect more rows per tree to be better in all respects.", 2),
        _N("80 % of all rows, or 80 % in each place?",
           "They read a guarantee on average as one for each row.", 3),
        _N("Which difference from the table would worry you?",
           "They expect all numbers of a paper to repeat.", 2),
    ),
)  # fmt: skip
_NOVELTY = Teaching(
    "Ranks, AUROC, and that a forest's leaf holds rows.",
    (_SCREEN, "Sticky dots: students mark the most novel place of each map"),
    (
        _N("Do trees disagree where rows are missing, or where classes meet?",
           "They take disagreement for novelty.", 3),
        _N("Which rows does a cut along one feature put beside an empty corner?",
           "They trust the better-known method.", 3),
        _N("Is a row new if only a useless feature is?",
           "They say yes or no, without asking what the answer is for.", 3),
        _N("Where is the mean of a ring?",
           "They are sure that an empty middle must be novel.", 3),
        _N("Do you need to find empty cells, or to order them?",
           "They think a clipped score detects worse.", 2),
        _N("Which rows now own the hole?",
           "They expect novelty to rise wherever rows vanish.", 3),
    ),
)  # fmt: skip
_TWO_CLOCKS = Teaching(
    "RMSE, NLL and early stopping.",
    (_SCREEN, "Paper: students mark the number of trees at which they would stop"),
    (
        _N("How can a model fit its rows and understate its error?",
           "They mark the range where the error itself rises.", 4),
        _N("Must the mean and the scale stop together?",
           "They expect one best number of trees.", 3),
        _N("What does a cell far below the diagonal mean?",
           "They mix up the axes. Let one student read a cell aloud.", 3),
        _N("What does a factor leave as it was?",
           "They stop once the coverage is right.", 3),
        _N("When is the simpler rule good enough?",
           "They expect the gain to be as large on every table.", 3),
    ),
)  # fmt: skip
_BEYOND = Teaching(
    "A regression tree, and an interval of 90 %.",
    (_SCREEN, "Paper: each student goes on with a curve of which you draw the first half"),
    (
        _N("Which leaf does a row beyond all others fall into?",
           "They expect a trend to go on.", 3),
        _N("Why do the trees agree with each other out there?",
           "They take agreement for knowledge.", 3),
        _N("What would the curve have to be like for the process to be wrong?",
           "They think that smoothness is known without data.", 3),
        _N("Why may trees keep a part of the weight?",
           "They expect one voice to win everywhere.", 2),
        _N("On which rows were the voices weighed?",
           "They weigh by rows that the voices have learnt.", 3),
        _N("Why do trees extend the border of two classes in a straight line?",
           "They expect doubt wherever there are no rows.", 3),
    ),
)  # fmt: skip
_YOUR_DATA = Teaching(
    "Cross-validation, RMSE and coverage.",
    (_SCREEN, "A table of your own field, without names, as CSV"),
    (
        _N("Which of the two rows would you send to an expert, and why?",
           "They treat noise and disagreement as one ranking.", 3),
        _N("What does a tree predict beyond its last threshold?",
           "They expect the model to notice an impossible value.", 3),
        _N("Right on all rows: is it right in each group?",
           "They take coverage for a property of each interval.", 3),
        _N("What does the model know of a patient it has met before?",
           "They split rows at random because they always do.", 3),
        _N("What proof would you accept that more rows do not help?",
           "They read a flat last step as proof.", 3),
    ),
)  # fmt: skip

TEACHING: Mapping[str, Teaching] = MappingProxyType(
    {
        "heart": _HEART,
        "gaussians": _GAUSSIANS,
        "spiral": _SPIRAL,
        "neighbours": _NEIGHBOURS,
        "soft_trees": _SOFT_TREES,
        "heteroscedastic": _HETEROSCEDASTIC,
        "novelty": _NOVELTY,
        "two_clocks": _TWO_CLOCKS,
        "beyond": _BEYOND,
        "your_data": _YOUR_DATA,
    }
)
