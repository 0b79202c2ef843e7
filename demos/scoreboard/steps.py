"""Lesson: how to read a scoreboard, and what its numbers cannot say.

The statistics are Student's t, and the ranks of Demšar (2006), Statistical comparisons of
classifiers over multiple data sets. The boards are made up, so that the truth is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from demos.asking import Between, Largest, both_of
from demos.lesson import ComputedStep, Lesson, Step
from demos.scoreboard.simulate import (
    COUNTS,
    DEFAULT_K,
    GAIN,
    LEVEL,
    LOSSES,
    N_BOARDS,
    N_METHODS,
    N_PAIRS,
    N_REPEATS,
    N_RUNS,
    N_SETS,
    N_TABLES,
    NEIGHBOURS,
    OWN_NOISE,
    SET_COUNTS,
    SPLITS,
    SPREADS,
    TEST_ROWS,
    THREE,
    Timing,
    compare_many,
    flag_equals,
    hide_sizes,
    judged_numbers,
    rank_equals,
    see_difference,
    t_limit,
    time_stored,
    tune_neighbours,
)
from gbuq_core.experiments.scoreboard.comparing import ERRORS
from gbuq_core.experiments.scoreboard.plan import APART, BESIDE, TIME, BoardSettings
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.presentation import counted, number_word, seconds_text, short

IBUG = BoardSettings(table="ibug", view=BESIDE)
SGLB = BoardSettings(table="sglb", score="nll", view=BESIDE)

BLUE, ORANGE, GREEN, GREY = OKABE_ITO[0], OKABE_ITO[5], OKABE_ITO[2], "#7f7f7f"
_MADE_UP = "The scores are made up, so that the truth is known."
_KINDS = {"other methods": GREY, "the quickest that is as good": BLUE, "the best mean": ORANGE}
_MOST_WORSE = 50.0  # % that the last picture shows
_WORTH = 0.01  # of a score: less counts as nothing


def _sheet(
    strips: list[Strip], alt: str, knob: str, values: Sequence[float | str], start: int
) -> PanelSheet:
    """Charts, and the one knob that moves a cursor in all of them."""
    return PanelSheet(
        panels=[], strips=strips, strip_columns=len(strips), strip_height=260, alt=alt,
        name="scoreboard", frame_label=knob, frame_values=list(values), start_frame=start,
        frames_per_second=3.0,
    )  # fmt: skip


def _percent(share: float) -> str:
    """A share in words of at most two digits.

    >>> _percent(0.1835), _percent(0.0512)
    ('18 %', '5.1 %')
    """
    return f"{short(100.0 * share, 2)} %"


def three_splits() -> ComputedStep:
    """With few splits two standard errors are too few."""
    flagged = flag_equals()
    at = SPLITS.index(THREE)
    x = np.array(SPLITS)
    strip = Strip(
        title="Equal methods that are called different",
        x=x,
        lines=[
            StripLine("two standard errors", 100 * flagged.two_errors, ORANGE),
            StripLine("Student's t at 5 %", 100 * flagged.student, BLUE),
            StripLine("5 %", np.full(len(x), 5.0), "text", dash=True),
        ],
        x_label="splits",
        y_label="%",
        y_limits=(0.0, 33.0),
    )
    notes = (
        f"The differences of a pair on a split are normal with mean 0: neither is better. "
        f"{_MADE_UP} With 20 splits, two standard errors call {_percent(flagged.two_errors[-1])} "
        "of equal pairs different.",
    )
    text = (
        "Two methods are equally good. They are compared on the same three splits, and called "
        "different if their mean difference exceeds two standard errors."
    )
    answer = (
        f"{_percent(flagged.two_errors[at])} of {N_PAIRS:,} equal pairs. Three splits also give a "
        f"poor estimate of the error. Student's t asks for {short(t_limit(THREE))} standard errors "
        f"instead of {short(ERRORS)}, and then {_percent(flagged.student[at])} are called "
        "different."
    )
    alt = f"Share of equal pairs that are called different, for {SPLITS[0]} to {SPLITS[-1]} splits."
    return ComputedStep(
        text, Between(float(flagged.two_errors[at]), (0.075, 0.15)), answer,
        _sheet([strip], alt, "splits", SPLITS, at), notes,
    )  # fmt: skip


def in_pairs() -> ComputedStep:
    """A difference in pairs does not care how hard the splits are."""
    seen = see_difference()
    at = SPREADS.index(3.0)
    places = np.arange(1, THREE + 1)
    low = float(min(seen.better.min(), seen.worse.min())) - 0.5
    high = float(max(seen.better.max(), seen.worse.max())) + 0.5
    strips = [
        Strip(
            title="One run: scores by split",
            x=places,
            lines=[
                StripLine("A", seen.better, BLUE),
                StripLine("B, worse by 1", seen.worse, ORANGE),
            ],
            x_label="split",
            y_label="lower is better",
            y_limits=(low, high),
            mode="frame",
        ),
        Strip(
            title="Runs that see the difference",
            x=np.array(SPREADS),
            lines=[
                StripLine("subtracted split by split", 100 * seen.paired, BLUE),
                StripLine("two means with their errors", 100 * seen.unpaired, ORANGE),
                StripLine("half of them", np.full(len(SPREADS), 50.0), "text", dash=True),
            ],
            x_label="how much splits differ (std)",
            y_label="%",
            y_limits=(0.0, 103.0),
            frame_x=np.array(SPREADS),
        ),
    ]
    notes = (
        f"A score also has noise of its own, with a std of {short(OWN_NOISE)}. Both tests are "
        f"Student's t at 5 %, with {2 * THREE - 2} degrees of freedom for two means and "
        f"{THREE - 1} for differences. {_MADE_UP}",
        f"Without any spread, the two means see it in {_percent(seen.unpaired[0])} and the "
        f"differences in {_percent(seen.paired[0])}: pairs cost degrees of freedom. A paper "
        "prints means only, which cannot be paired with ours.",
    )
    text = (
        "A is better than B by 1 on each of three splits. Splits are easy or hard for both, with "
        "a std of 3."
    )
    answer = (
        f"Split by split, {_percent(seen.paired[at])} of {N_RUNS:,} runs see it; the two means do "
        f"in {_percent(seen.unpaired[at])}. A hard split is hard for both, and subtracting takes "
        "that away."
    )
    alt = "Scores of two methods on three splits, and how often each test sees their difference."
    right = Largest((float(seen.unpaired[at]), float(seen.paired[at]), 0.5))
    sheet = _sheet(strips, alt, "how much splits differ (std)", SPREADS, at)
    return ComputedStep(text, right, answer, sheet, notes)


def ranks_hide() -> ComputedStep:
    """The better rank can have the larger error."""
    hidden = hide_sizes()
    at = LOSSES.index(0.2)
    percents = [100.0 * loss for loss in LOSSES]
    sets = np.arange(1, N_SETS + 1)
    strips = [
        Strip(
            title="Error of A, with B at 100 %",
            x=sets,
            lines=[
                StripLine("A", 100 * hidden.errors, BLUE, dots=True),
                StripLine("B", np.full(N_SETS, 100.0), ORANGE, dash=True),
            ],
            x_label="set",
            y_label="%",
            y_limits=(95.0, 143.0),
            mode="frame",
        ),
        Strip(
            title="Mean error of A, with B at 100 %",
            x=np.array(percents),
            lines=[
                StripLine("A", 100 * hidden.mean, BLUE),
                StripLine("B", np.full(len(percents), 100.0), ORANGE, dash=True),
            ],
            x_label="what A loses on the last set (%)",
            y_label="%",
            frame_x=np.array(percents),
        ),
    ]
    mean = 100.0 * (float(hidden.mean[at]) - 1.0)
    even = next(loss for loss, value in zip(LOSSES, hidden.mean, strict=True) if value >= 1.0)
    rank = f"{short(hidden.ranks[at, 0])} against {short(hidden.ranks[at, 1])}"
    notes = (
        f"From a loss of {_percent(even)} on, the method with the better mean rank is the worse "
        "one on average. Ranks have a use all the same: a mean of errors in different units says "
        "nothing.",
    )
    text = (
        f"On {N_SETS - 1} of {N_SETS} sets, A has an error {_percent(GAIN)} smaller than B's. On "
        f"the last, it is {_percent(LOSSES[at])} larger."
    )
    answer = (
        f"A has the better mean rank ({rank}), and a mean error {short(abs(mean), 2)} % "
        f"{'larger' if mean > 0 else 'smaller'}. Its rank stays the same whatever it loses. Read "
        "the numbers behind a rank, too."
    )
    alt = "Errors of A on six sets beside those of B, and their means by what A loses on the last."
    by_rank, by_mean = hidden.ranks[at, 1] - hidden.ranks[at, 0], 1.0 - hidden.mean[at]
    right = Largest(both_of(float(by_rank), float(by_mean)))
    sheet = _sheet(strips, alt, "A's loss on the last set (%)", percents, at)
    return ComputedStep(text, right, answer, sheet, notes)


def who_differs() -> ComputedStep:
    """What a critical difference allows for."""
    spread = rank_equals()
    at = SET_COUNTS.index(N_SETS)
    x = np.array(SET_COUNTS)
    strip = Strip(
        title="Best and worst mean rank of ten equal methods, apart by",
        x=x,
        lines=[
            StripLine("half of the boards", spread.median, BLUE),
            StripLine("95 % of the boards", spread.most, ORANGE),
            StripLine("Nemenyi's critical difference", spread.critical, "text", dash=True),
        ],
        x_label="sets",
        y_label="ranks",
        y_limits=(0.0, 10.0),
    )
    gap = float(np.max(np.abs(spread.most - spread.critical)[at:]))
    notes = (
        f"On each set of {N_BOARDS:,} boards the order is drawn by lot. {_MADE_UP} Nemenyi's "
        f"critical difference follows from the studentized range; from {N_SETS} sets on it lies "
        f"within {short(gap, 2)} ranks of what the lots give. With {SET_COUNTS[-1]} sets it is "
        f"{short(spread.critical[-1])}.",
    )
    text = (
        f"{number_word(N_METHODS).capitalize()} equally good methods are ranked on {N_SETS} "
        "sets. Only luck decides each rank."
    )
    answer = (
        f"About {short(spread.median[at], 2)} ranks. One board in 20 has them more than "
        f"{short(spread.most[at], 2)} apart, and that is what Nemenyi's critical difference, "
        f"{short(spread.critical[at], 2)}, allows for. Methods that a bar joins are not equal: "
        "six sets cannot tell."
    )
    alt = f"Distance of the best and the worst mean rank for {x[0]} to {x[-1]} sets."
    right = Between(float(spread.median[at]), (1.0, 3.0))
    return ComputedStep(text, right, answer, _sheet([strip], alt, "sets", SET_COUNTS, at), notes)


def many_numbers() -> ComputedStep:
    """Of many comparisons one is significant by chance."""
    boards = compare_many()
    at = COUNTS.index(20)
    x = np.array(COUNTS)
    strip = Strip(
        title="At least one difference by chance",
        x=x,
        lines=[
            StripLine("two standard errors", 100 * boards.two_errors, ORANGE),
            StripLine("Student's t at 5 % each", 100 * boards.student, BLUE),
            StripLine("5 % for all together (Holm)", 100 * boards.holm, GREEN),
        ],
        x_label="comparisons",
        y_label="%",
        y_limits=(0.0, 103.0),
    )
    judged = judged_numbers()
    by_luck = _percent(flag_equals().two_errors[SPLITS.index(THREE)])
    notes = (
        f"Holm's rule asks the largest difference for 5 % divided by the number of comparisons. "
        f"{_MADE_UP}",
        f"The scoreboard judges {counted(judged, 'number')} against a paper's. If all of ours were "
        f"right, {LEVEL * judged:.0f} of them would differ at 5 % each; on three splits and "
        f"against numbers without an error, two standard errors call up to {by_luck} of them "
        "different.",
    )
    text = (
        "You compare 20 pairs of equal methods on three splits each, with a test that is wrong in "
        "5 % of cases."
    )
    answer = (
        f"{_percent(boards.student[at])} of {N_REPEATS:,} boards. With two standard errors it is "
        f"{_percent(boards.two_errors[at])}; if all share the 5 % (Holm), "
        f"{_percent(boards.holm[at])}. Expect a surprising number. Look for several that point the "
        "same way."
    )
    alt = f"Chance of at least one false difference for 1 to {COUNTS[-1]} comparisons."
    right = Between(float(boards.student[at]), (0.2, 0.5))
    sheet = _sheet([strip], alt, "comparisons", COUNTS, at)
    return ComputedStep(text, right, answer, sheet, notes)


def better_than() -> ComputedStep:
    """A leak and an untuned rival both look like progress."""
    tuned = tune_neighbours()
    at = TEST_ROWS.index(30)
    x = np.array(TEST_ROWS)
    strip = Strip(
        title="RMSE of nearest neighbours",
        x=x,
        lines=[
            StripLine("k chosen on the test rows, as stated", tuned.leaked, ORANGE),
            StripLine("the same k on new rows", tuned.true, ORANGE, dash=True),
            StripLine("k chosen on other rows", tuned.honest, BLUE),
            StripLine(f"the rival's k = {DEFAULT_K}", tuned.default, GREY),
        ],
        x_label="rows of the test",
        y_label="units of y",
    )
    leak = float(1.0 - tuned.leaked[at] / tuned.true[at])
    rival = float(1.0 - tuned.honest[at] / tuned.default[at])
    notes = (
        f"Nearest neighbours on {N_TABLES} made-up tables of 150 rows, with k from 1 to "
        f"{NEIGHBOURS} and noise with a std of 0.5. The new rows are 500 that chose nothing.",
        f"With {TEST_ROWS[-1]} test rows "
        f"{_percent(float(1.0 - tuned.leaked[-1] / tuned.true[-1]))} is luck. The scoreboard "
        "therefore asks for a reason where ours is better than the paper, as it does where ours is "
        "worse.",
    )
    text = (
        f"One method three times: k chosen on {TEST_ROWS[at]} test rows, k chosen on other rows, "
        f"and a rival that keeps k = {DEFAULT_K}."
    )
    answer = (
        f"Test rows that choose k flatter it by {_percent(leak)}: {short(tuned.leaked[at])} "
        f"stated, {short(tuned.true[at])} on new rows. An honest k beats k = {DEFAULT_K} by "
        f"{_percent(rival)}. Ask who tuned what, on which rows."
    )
    alt = f"RMSE of one method, tuned in three ways, for {x[0]} to {x[-1]} test rows."
    right = Largest(both_of(leak - _WORTH, rival - _WORTH))
    sheet = _sheet([strip], alt, "test rows", TEST_ROWS, at)
    return ComputedStep(text, right, answer, sheet, notes)


def what_it_takes() -> ComputedStep:
    """Seconds belong beside the score."""
    table, sets = time_stored()
    every = table == BoardSettings().table
    measured = "every method with its defaults, CRPS" if every else "SGLB, RMSE"
    times = np.array([each.times for each in sets])
    start = int(np.argsort(times, kind="stable")[len(times) // 2])
    median = sets[start]
    alt = "Score against processor seconds of each method, set by set."
    several = "; ".join(
        f"{each.set}: {each.best.method.label} {seconds_text(each.best.seconds)}, "
        f"{each.quickest.method.label} {seconds_text(each.quickest.seconds)}"
        for each in sets
    )
    quick = int((times >= 2.0).sum())
    notes = (
        f"These are the stored results of the scoreboard ({measured}): means over splits, and "
        "the processor time of the median split on one core. Methods over "
        f"{_MOST_WORSE:.0f} % worse are left out.",
        f"On {quick} of {counted(len(sets), 'set')}, a method that is as good takes at most half "
        f"of the time of the best one. The best one, and the quickest as good: {several}.",
    )
    text = (
        "Each dot is a method. Beside the best one, look for the quickest that is not worse by two "
        "standard errors."
    )
    best, quickest = median.best, median.quickest
    if best.method == quickest.method:
        quicker = f"nothing as good is quicker than {best.method.label}"
    else:
        quicker = (
            f"{best.method.label} is best in {seconds_text(best.seconds)}, and "
            f"{quickest.method.label} as good in {seconds_text(quickest.seconds)}"
        )
    answer = (
        f"On {median.set}, the median set, {quicker}. Over {counted(len(sets), 'set')}, it is "
        f"{short(times.min(), 2)} to {short(times.max(), 2)} times."
    )
    right = Between(float(times[start]), (1.2, 5.0))
    sheet = _sheet([_times_strip(sets)], alt, "set", [each.set for each in sets], start)
    return ComputedStep(text, right, answer, sheet, notes)


def _times_strip(sets: Sequence[Timing]) -> Strip:
    """All methods of all sets over one axis of seconds; a frame shows those of its set."""
    places = [(number, point) for number, each in enumerate(sets) for point in each.points]
    places.sort(key=lambda place: place[1].seconds)
    kinds = {name: np.full((len(sets), len(places)), np.nan) for name in _KINDS}
    for column, (number, point) in enumerate(places):
        best, quickest = sets[number].best, sets[number].quickest
        name = "other methods"
        if point.method == quickest.method:
            name = "the quickest that is as good"
        if point.method == best.method:
            name = "the best mean"
        worse = abs(point.score.mean / best.score.mean - 1.0)
        kinds[name][number, column] = 100.0 * worse
    return Strip(
        title="Score, worse than the best by",
        x=np.log10([point.seconds for _, point in places]),
        lines=[StripLine(name, kinds[name], colour, dots=True) for name, colour in _KINDS.items()],
        x_label="log10 of processor seconds (0: one second, 1: ten)",
        y_label="%",
        y_limits=(-1.0, _MOST_WORSE),
        mode="frame",
    )


LESSON = Lesson(
    name="scoreboard",
    title="How to read a scoreboard, and what its numbers cannot say",
    lead="Seven questions about tables of methods. Six are asked of made-up boards, where the "
    "truth is known, and the last one of the stored results. All numbers are computed while you "
    "read.",
    page="scoreboard",
    source="Mean ranks and critical differences are those of Demšar, Statistical comparisons of "
    "classifiers over multiple data sets (2006).",
    steps=(
        Step(
            "Luck of three splits",
            "How often does that call equal methods different?",
            ("About 5 %", "About 10 %", "Nearly 20 %"),
            IBUG,
            three_splits,
        ),
        Step(
            "Split by split",
            "Which comparison sees it in over half of the runs?",
            ("Of the two means", "Split by split", "Neither"),
            IBUG,
            in_pairs,
        ),
        Step(
            "What ranks hide",
            "By which measure is A the better one?",
            ("Mean rank and mean error", "Mean rank only", "Mean error only", "Neither"),
            BoardSettings(),
            ranks_hide,
        ),
        Step(
            "Who differs",
            "How far apart are the best and the worst mean rank?",
            ("Under 1 rank", "1 to 3 ranks", "Over 3 ranks"),
            BoardSettings(view=APART),
            who_differs,
        ),
        Step(
            "The best of many",
            "How often is at least one of them significant?",
            ("Under 20 %", "20 to 50 %", "Over 50 %"),
            SGLB,
            many_numbers,
        ),
        Step(
            "Better than the paper",
            "What makes it look more than 1 % better?",
            ("Leak and rival", "The leak only", "The rival only", "Neither"),
            SGLB,
            better_than,
        ),
        Step(
            "What it takes",
            "How much longer does the best one take than that?",
            ("Hardly longer", "Up to 5 times", "More"),
            BoardSettings(view=TIME),
            what_it_takes,
        ),
    ),
)
