"""The answers of the lesson on growing noise, written from the numbers of a run.

Levels of agreement are those of `claims`. Each answer has sentences for other numbers too, so that
it never says what a run refutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.heteroscedastic.claims import (
    BLIND,
    CALLED_DATA,
    CHANCE,
    FOLLOWS,
    KNOWS,
    RISES_LINEARLY,
    SEPARATES,
    Ray,
)
from gbuq_core.experiments.heteroscedastic.data import Array
from gbuq_core.experiments.heteroscedastic.scores import HeteroscedasticScore

_SAME = 0.05  # relative change that counts as none
_EVEN = 0.05  # coverages of thirds that lie as near to each other


def names(words: Sequence[str]) -> str:
    """Words with an "and" before the last.

    >>> names(["a", "b", "c"]), names(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def change(old: float, new: float, form: str = ".2g") -> str:
    """A change as a verb and two numbers.

    >>> change(1.0, 0.5), change(0.5, 1.0), change(0.5, 0.51)
    ('falls from 1 to 0.5', 'rises from 0.5 to 1', 'stays near 0.51')
    """
    if abs(new - old) <= _SAME * max(abs(old), abs(new)):
        return f"stays near {new:{form}}"
    return f"{'rises' if new > old else 'falls'} from {old:{form}} to {new:{form}}"


def who_sees_noise(scores: Mapping[str, HeteroscedasticScore]) -> str:
    """Which stds follow the noise, and how far off the others are."""
    noise = next(iter(scores.values())).mean_noise
    sees = [s for s in scores.values() if s.std_error <= FOLLOWS * noise]
    blind = [s for s in scores.values() if s.std_error > FOLLOWS * noise]
    parts = [f"On average over new rows, the std of the noise is {noise:.2f}."]
    if sees:
        off = names([f"{s.std_error:.2f}" for s in sees])
        several = f"follow it: the RMSEs of their stds are {off}."
        one = f"follows it: the RMSE of its std is {off}."
        parts.append(f"{names([s.label for s in sees])} {several if len(sees) > 1 else one}")
    else:
        parts.append("None of them follows it.")
    for score in blind:
        last = score.coverage[-1]
        parts.append(
            f"{score.label} does not ({score.std_error:.2f}): on average, its std is "
            f"{100 * score.noise_ratio:.0f} % of the noise, and its {100 * last.level:.0f} % "
            f"intervals hold {100 * last.observed:.0f} % of new rows."
        )
    if "forest" in scores:
        parts.append(_why_forest(scores["forest"].std_error > FOLLOWS * noise))
    return " ".join(parts)


def held_by(scores: Mapping[str, HeteroscedasticScore], level: float) -> str:
    """What the methods' intervals of the last level hold, in one sentence."""
    told = names(
        [f"{score.label} {100 * score.coverage[-1].observed:.0f} %" for score in scores.values()]
    )
    return f"Intervals of {100 * level:.0f} % hold: {told}."


def _why_forest(blind: bool) -> str:
    why = (
        "A forest's spread is how much the means of its trees differ. A mean over many rows hardly "
        "changes with their noise. So the spread says how uncertain the mean is, not how far y "
        "lies from it."
    )
    return why if blind else f"For the forest this is chance. {why}"


def data_or_knowledge(linear: HeteroscedasticScore, basic: HeteroscedasticScore, gap: float) -> str:
    """Shares of the two parts, and how a line in the leaf changes them."""
    exact = "to the last digit" if gap < 1e-9 else f"to within {gap:.1g}"
    shares = [f"{100 * s.data_share:.0f} %" for s in (linear, basic)]
    nearly = all(s.data_share >= CALLED_DATA for s in (linear, basic))
    parts = [
        f"The two parts add up to the total {exact}. Where there are rows, {shares[0]} of it is "
        f"data uncertainty for {linear.label} and {shares[1]} for {basic.label}. "
        + ("This is as it should be." if nearly else "Nearly all of it should be.")
        + " With so many rows the mean is nearly certain. The rest is noise, which more rows would "
        "not remove."
    ]
    if basic.noise_ratio > linear.noise_ratio + _SAME:
        parts.append(
            "A plain leaf overestimates the noise. It has one mean for a range of x in which the "
            "true mean goes up and down, and takes these changes for noise. On average its std is "
            f"{basic.noise_ratio:.2f} times the true one. With a line in the leaf it is "
            f"{linear.noise_ratio:.2f} times."
        )
    else:
        parts.append(
            "A line in the leaf hardly changes the noise. The std is "
            f"{linear.noise_ratio:.2f} times the true one with a line and {basic.noise_ratio:.2f} "
            "times without."
        )
    better = "nearer" if linear.rmse < basic.rmse else "no nearer"
    parts.append(
        f"With lines, the mean is {better} to the truth: its RMSE is {linear.rmse:.2f} instead of "
        f"{basic.rmse:.2f}."
    )
    return " ".join(parts)


def who_notices_the_end(
    rays: Mapping[str, tuple[Ray, Ray]], scores: Mapping[str, HeteroscedasticScore], seeds: Array
) -> str:
    """How knowledge uncertainty changes outside the rows; ``seeds`` are CatBoost's AUROCs."""
    parts = []
    for key, (left, right) in rays.items():
        score = scores[key]
        value = score.auroc_of("knowledge")
        parts.append(
            f"{score.label}: {_outwards(left, right)} Its AUROC for foreign rows is {value:.2f} "
            f"({_as_a_judge(value)})."
        )
    low, high = float(seeds.min()), float(seeds.max())
    told = ", ".join(f"{value:.2f}" for value in seeds)
    parts.append(f"With other seeds, CatBoost has an AUROC of {told}.")
    if high - low > 2 * CHANCE:
        parts.append(
            "Its knowledge uncertainty has one flat value on each side. Whether they are high or "
            "low is chance."
        )
    else:
        parts.append("Chance changes it little.")
    return " ".join(parts)


def _as_a_judge(value: float) -> str:
    """An AUROC in words.

    >>> _as_a_judge(0.97), _as_a_judge(0.5), _as_a_judge(0.2)
    ('it detects most of them', 'it detects none of them', 'worse than chance')
    """
    if value >= KNOWS:
        return "it detects most of them"
    if value > BLIND:
        return "it detects some of them"
    return "it detects none of them" if value >= 0.5 - CHANCE else "worse than chance"


def _outwards(left: Ray, right: Ray) -> str:
    both = (left, right)
    if all(ray.spearman == 0.0 for ray in both):
        return (
            f"its std is {left.first:.2g} everywhere on the left and {right.first:.2g} everywhere "
            "on the right."
        )
    ends = (
        f"from {left.first:.2g} to {left.last:.2g} on the left and from {right.first:.2g} to "
        f"{right.last:.2g} on the right"
    )
    if all(ray.slope > 0.0 and ray.linear >= RISES_LINEARLY for ray in both):
        return f"its std rises in a straight line, {ends}."
    if all(ray.slope > 0.0 for ray in both):
        return f"its std rises, {ends}."
    return f"its std does not rise on both sides. It goes {ends}."


def which_novelty(
    scores: Sequence[HeteroscedasticScore], beyond: Mapping[tuple[str, str], float]
) -> str:
    """AUROC of each score, and the share of foreign rows above the 95 % level of other rows."""
    parts = [
        "The brackets give the AUROC and a share. 95 % of new rows between 0 and 10 score below a "
        "certain value. The share is how many foreign rows score above it."
    ]
    for score in scores:
        asked = [found for found in score.auroc if (score.method, found.key) in beyond]
        shown = {
            found.key: f"{found.label.lower()} ({found.value:.2f}, "
            f"{100 * beyond[score.method, found.key]:.0f} %)"
            for found in asked
        }
        told = [shown[found.key] for found in asked if found.value >= SEPARATES]
        blind = [shown[found.key] for found in asked if not found.value >= SEPARATES]
        if told:
            more = f", but not by {names(blind)}" if blind else ""
            parts.append(
                f"{score.label} detects all or nearly all foreign rows by {names(told)}{more}."
            )
        elif blind:
            parts.append(f"{score.label} does not detect them by {names(blind)}.")
    return " ".join(parts)


def why_novelty(same: bool, flat: bool) -> str:
    """How one feature and a leaf without a line affect the scores."""
    parts = []
    if same:
        parts.append(
            "There is only one feature, so every path to a leaf uses all features. Novelty and "
            "conditional novelty are the same here."
        )
    else:
        parts.append("Novelty and conditional novelty differ, although there is one feature.")
    if flat:
        parts.append(
            "Inference novelty asks whether a prediction is unusual for its leaf. A leaf that "
            "predicts one value has no unusual one. So its inference novelty can be 0 far away "
            "from all rows."
        )
    return " ".join(parts)


def what_breaks(
    base: HeteroscedasticScore,
    more: HeteroscedasticScore,
    tiny: HeteroscedasticScore,
    far: Sequence[float],
    share: float,
) -> str:
    """Larger samples and smaller leaves beside the defaults; far: stds at the right end."""
    known, inference = (
        [s.auroc_of(key) for s in (base, more, tiny)] for key in ("knowledge", "inference_novelty")
    )
    parts = [
        f"With a subsample of {share:g}, two trees have {100 * share:.0f} % of their rows in "
        f"common. The std of knowledge at the right end {change(far[0], far[1])}. Its AUROC "
        f"{change(known[0], known[1], '.2f')}. The RMSE of the mean "
        f"{change(base.rmse, more.rmse)}.",
        f"With leaves of one row, the RMSE of the mean {change(base.rmse, tiny.rmse)}. That of the "
        f"std {change(base.std_error, tiny.std_error)}. The 95 % intervals hold "
        f"{100 * tiny.coverage[-1].observed:.0f} % instead of "
        f"{100 * base.coverage[-1].observed:.0f} %. The std of knowledge at the right end "
        f"{change(far[0], far[2])}. Its AUROC {change(known[0], known[2], '.2f')}.",
    ]
    told = ", ".join(f"{value:.3f}" for value in inference)
    if min(inference) >= SEPARATES:
        parts.append(f"Inference novelty works in all three forests (AUROC {told}).")
    else:
        parts.append(f"Inference novelty does not work in all three forests (AUROC {told}).")
    return " ".join(parts)


def right_on_average(
    labels: Sequence[str], overall: Sequence[float], thirds: Sequence[Array], level: float
) -> str:
    """Coverage of all test rows, and of thirds of x."""
    held = names([f"{label} {100 * o:.0f} %" for label, o in zip(labels, overall, strict=True)])
    parts = [f"The intervals should hold {100 * level:.0f} % of new rows. They hold: {held}."]
    told = [
        f"{label} {', '.join(f'{100 * share:.0f}' for share in shares)} %"
        for label, shares in zip(labels, thirds, strict=True)
    ]
    parts.append(f"In the left, middle and right third of x they hold: {'; '.join(told)}.")
    spread = np.array([np.ptp(shares) for shares in thirds])
    worst, best = int(spread.argmax()), int(spread.argmin())
    if spread[worst] <= _EVEN:
        parts.append("So the level holds in each third as well.")
        return " ".join(parts)
    parts.append(
        "A conformal step promises the level for all rows together. Intervals that are too wide in "
        "one place and too narrow in another can still keep this promise. For "
        f"{labels[worst]}, the highest and the lowest third differ by "
        f"{100 * spread[worst]:.0f} percentage points"
        + (f", for {labels[best]} by {100 * spread[best]:.0f}." if best != worst else ".")
    )
    parts.append(
        "One factor cannot move coverage from one place to another. For that, the std itself has "
        "to follow the noise."
    )
    return " ".join(parts)


def what_reproduces(claims: Sequence[Claim], scores: Sequence[HeteroscedasticScore]) -> str:
    """Counts of the verdicts, the statements that fail, and the largest differences."""
    by = {
        verdict: [claim for claim in claims if claim.verdict == verdict]
        for verdict in ("holds", "partly", "does not hold")
    }
    parts = [
        f"Of {len(claims)} statements, {len(by['holds'])} hold here, {len(by['partly'])} partly "
        f"hold and {len(by['does not hold'])} do not."
    ]
    parts += [f"Does not hold: {claim.paper} Here: {claim.here}" for claim in by["does not hold"]]
    parts += [f"Partly holds: {claim.paper}" for claim in by["partly"]]
    known = [s for s in scores if not np.isnan(s.crps + s.paper_crps)]
    if known:
        off = max(known, key=lambda s: abs(s.crps - s.paper_crps))
        parts.append(
            f"{off.label} has the largest difference in CRPS: {off.crps:.2f} here and "
            f"{off.paper_crps:.2f} in the table."
        )
    cells = [(s, cell) for s in scores for cell in s.auroc if not np.isnan(cell.paper)]
    if cells:
        near = sum(abs(cell.value - cell.paper) <= CHANCE for _, cell in cells)
        score, cell = max(cells, key=lambda pair: abs(pair[1].value - pair[1].paper))
        parts.append(
            f"Of {len(cells)} AUROCs, {near} are within {CHANCE:g} of the table's. The farthest is "
            f"{cell.label.lower()} of {score.label}, {cell.value:.2f} instead of {cell.paper:.2f}."
        )
    return " ".join(parts)
