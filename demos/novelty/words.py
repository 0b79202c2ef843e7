"""What the numbers of the lesson on novelty mean, in words: whatever they are."""

from __future__ import annotations

from collections.abc import Sequence

from gbuq_core.experiments.novelty.look import PlaceLook
from gbuq_core.presentation import digits

_FINDS, _LEANS, _CHANCE = 0.9, 0.55, 0.45  # AUROCs
_NEW, _HARDLY = 95.0, 75.0  # ranks among the training rows


def detects(auroc: float) -> str:
    """What a detector of empty cells is worth.

    >>> [detects(auroc) for auroc in (0.99, 0.7, 0.5)]
    ['finds them too', 'finds some of them', 'is no better than chance']
    >>> detects(0.3)
    'points the other way: it is higher where rows can lie'
    """
    if auroc >= _FINDS:
        return "finds them too"
    if auroc > _LEANS:
        return "finds some of them"
    if auroc >= _CHANCE:
        return "is no better than chance"
    return "points the other way: it is higher where rows can lie"


def nearer_words(blobs: float, moons: float) -> str:
    """How often novelty is nearer to the truth than the isolation forest, on two sets.

    >>> nearer_words(0.25, 0.8)[-47:]
    'On the moons: 80 %. So neither is always right.'
    >>> nearer_words(0.75, 0.8)[-44:]
    'On the moons: 80 %. So novelty wins on both.'
    """
    if (blobs > 0.5) != (moons > 0.5):
        end = "So neither is always right."
    else:
        end = f"So {'novelty' if blobs > 0.5 else 'the isolation forest'} wins on both."
    return (
        f"In {100 * blobs:.0f} % of those cells novelty is closer to the true rank; in the others "
        f"the isolation forest is. On the moons: {100 * moons:.0f} %. {end}"
    )


def new_there(rank: float) -> str:
    """Whether a mean rank among the training rows is one of a new place.

    >>> new_there(99.0), new_there(80.0), new_there(60.0)
    ('so they are new', 'so they are somewhat new', 'so they are nothing special')
    """
    if rank >= _NEW:
        return "so they are new"
    return "so they are somewhat new" if rank >= _HARDLY else "so they are nothing special"


def middle_words(look: PlaceLook) -> str:
    """How new the empty middle of the rings is to novelty, and to the distance to rows."""
    ranks = {value.key: value for value in look.values}
    novelty, distance = ranks["novelty"], ranks["distance"]
    sizes = [len(rows) for rows in look.leaf_rows]
    if novelty.rank_cells < 1.0:
        start = "It is the least novel place of the map"
    elif novelty.rank_rows < 50.0:
        start = "Novelty finds it less new than most training rows"
    else:
        start = "Novelty finds it newer than most training rows"
    leaves = f"the leaves drawn hold {min(sizes):,} to {max(sizes):,} rows around it"
    if novelty.rank_rows < 50.0:
        why = (
            f"The reason: {leaves}, and a distance from a mean and a covariance is smallest in "
            "the middle of a ring."
        )
    else:
        why = f"And yet {leaves}."
    return (
        f"{start}: z is {digits(novelty.value)}, higher than at {novelty.rank_rows:.0f} % of the "
        "training rows. The plain distance to rows is higher there than at "
        f"{distance.rank_rows:.0f} % of them. {why}"
    )


def tail_words(
    flat: float, top: float, highest: float, follows: Sequence[float], aurocs: Sequence[float]
) -> str:
    """What clipping does: the share of the map at the top, and scores rising and clipped.

    >>> tail_words(0.8, 5.2, 51.0, (0.9, 0.5), (0.99, 0.99))[-59:]
    'Clipped z finds empty cells as well: AUROC 0.990 and 0.990.'
    """
    lost = follows[0] - follows[1]
    if lost > 0.05:
        order = "Clipped z ranks the empty cells worse"
    elif lost < -0.05:
        order = "Clipped z ranks the empty cells better"
    else:
        order = "Clipped z ranks the empty cells as well"
    if abs(aurocs[0] - aurocs[1]) < 0.01:
        detected = "Clipped z finds empty cells as well"
    else:
        how = "worse" if aurocs[1] < aurocs[0] else "better"
        detected = f"Clipped z finds empty cells {how}"
    return (
        f"{100 * flat:.0f} % of the cells lie within 0.01 of the top, {digits(top)}. Without the "
        f"stop, z rises up to {digits(highest)}. {order}: the rank correlation with the true "
        f"density is {follows[0]:.2f} with rising z and {follows[1]:.2f} with clipped z. "
        f"{detected}: AUROC {aurocs[0]:.3f} and {aurocs[1]:.3f}."
    )


def erased_words(novelty: str, knowledge: str, taken: float, top: float) -> str:
    """What novelty and knowledge uncertainty make of an arc that is gone, from how they went.

    ``taken`` is the share of its cells that is now given to the other class, ``top`` the highest
    novelty in it.

    >>> erased_words("stays (0.1 to 0.2)", "rises (0.1 to 0.2)", 0.5, 2.0)[-60:]
    'Knowledge uncertainty notices: the trees disagree there now.'
    >>> erased_words("rises (0.1 to 2)", "stays (0.1 to 0.1)", 0.5, 9.0)[-53:]
    'Knowledge uncertainty does not notice, or too little.'
    """
    if novelty.startswith("stays"):
        first = (
            "A leaf ends at a split, not at its last row. Leaves of the rows to the left and right "
            f"now cover the hole, and {100 * taken:.0f} % of its cells change their class. From "
            f"the rows of these leaves, the highest z in the hole is {digits(top)}."
        )
    elif novelty.startswith("rises"):
        first = "Here novelty notices, although rows lie on both sides of the arc."
    else:
        first = "Novelty goes the wrong way: the arc is less novel without its rows."
    if knowledge.startswith("rises"):
        return f"{first} Knowledge uncertainty notices: the trees disagree there now."
    return f"{first} Knowledge uncertainty does not notice, or too little."


def flipped_words(novelty: str) -> str:
    """What it means that novelty went so where only labels changed.

    >>> flipped_words("rises (-1.2 to 1.3)")
    'so labels alone can make a place new.'
    >>> flipped_words("stays (0.1 to 0.2)")
    'so the labels do not matter there either.'
    """
    if novelty.startswith("rises"):
        return "so labels alone can make a place new."
    if novelty.startswith("stays"):
        return "so the labels do not matter there either."
    return "so labels alone can make a place less new."
