"""Novelty maps: what makes a place new to a forest, and which scores notice.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(MACAU, 2023), sections 3.2, 4.1, 4.2 and 5. A score over a map is no uncertainty with parts: one
fit has eight of them, which `novelty_maps.py` computes. Read from top to bottom: view, a place,
numbers, claims, picture, words.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.claims import Threshold
from gbuq_core.experiments.ranking import auroc_of, rank_correlation
from gbuq_core.figures.canvas.live import offered
from gbuq_core.figures.canvas.panels import (
    Line,
    Marker,
    Panel,
    PanelSheet,
    Points,
    Strip,
    StripLine,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import pack_table
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.macau.results import LeafEllipses
from gbuq_core.methods import METHODS as RECORDS
from gbuq_core.presentation import digits, percent, short
from gbuq_core.settings import check, plan_of, with_fit
from gbuq_core.study.novelty_maps import (
    APART,
    DATASETS,
    FIRST,
    MAP_LABELS,
    OF_THE_FORESTS,
    ORDER,
    OWN,
    OWN_LABEL,
    POSITIVE,
    SCORES,
    SHOWS,
    SIDE,
    TABLES,
    Array,
    Disagreement,
    InUse,
    Mask,
    NoveltyData,
    NoveltyFit,
    NoveltyMaps,
    NoveltySettings,
    Place,
    PlaceLook,
    PlaceValue,
    Score,
    admit,
    compare_ranks,
    data,
    data_arguments,
    describe_erased,
    erase,
    estimator_arguments,
    fit,
    forest_of,
    in_use,
    keep,
    make_data,
    maps_of,
    offer_undo,
    rank_among,
    ranks_of,
    span_around,
    squares_around,
    true_log_density,
    why_not,
    with_tail,
)
from gbuq_core.study.study import Claim, Code, Row, Run, Study

if TYPE_CHECKING:
    from gbuq_core.macau import MacauClassifier, MacauRegressor

# --- View: what today's settings show of a fit ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class NoveltyView:
    """What today's settings show of a fit; each part is worked out when it is asked for."""

    fit: NoveltyFit
    settings: NoveltySettings  # with all that the fit depends on
    refused: str = ""  # why no rows are erased, if that was asked for
    method = "macau"

    @property
    def data(self) -> NoveltyData:
        """The rows that are left."""
        return make_data(self.fit.plan)

    @property
    def used(self) -> InUse:
        """What the scores depend on besides the fit."""
        return in_use(self.settings, self.data)

    @cached_property
    def maps(self) -> NoveltyMaps:
        """Every score over the map."""
        return maps_of(self.fit, self.settings)

    @property
    def keys(self) -> tuple[str, ...]:
        """The scores among the settings' maps, the truth first; none where nobody knows it."""
        wanted = [key for key in ORDER if key in self.settings.maps]
        keys = tuple(key for key in wanted if key in self.maps.keys)
        return keys if keys or not wanted else ("novelty",)

    @cached_property
    def apart(self) -> Disagreement | None:
        """Where ranks lie apart, those that are shown; None of fewer than two scores."""
        there = set(self.settings.compared) & set(self.maps.keys)
        compared = [key for key in SCORES if key in there]
        if len(compared) < 2:
            return None
        by = "rows" if self.settings.show == "rows" else "cells"
        return compare_ranks(compared, np.stack([ranks_of(self.maps, key, by) for key in compared]))

    @property
    def notes(self) -> list[str]:
        """What was left out, a sentence each."""
        maps, notes = self.settings.maps, []
        if self.refused:
            notes.append(f"{self.refused} The maps show all rows.")
        if APART in maps and len(self.settings.compared) < 2:
            notes.append("Ranks can only disagree between two or more scores. Choose another one.")
        if "truth" in maps and "truth" not in self.maps.keys:
            notes.append(f"The true density of the rows of {self.data.title} is not known.")
        if self.keys == ("novelty",) and "novelty" not in maps:
            notes.append("The map shows novelty instead.")
        return notes

    @cached_property
    def look(self) -> PlaceLook:
        """The cell of the settings looked at."""
        if self.fit.look is not None:
            return self.fit.look
        (row, column), (x, y) = self.settings.cell, self.data.axes
        name = ("place", row, column, self.settings.drawn)
        place = float(x[column]), float(y[row])
        return keep(self.fit, self.used, name, lambda: explain_place(self, place))

    @cached_property
    def support(self) -> Mask | None:
        """Where rows can lie: outside the squares whose rows are erased."""
        if self.data.in_support is None:
            return None
        support: Mask = np.array(self.data.in_support, dtype=bool)
        support[squares_around(self.fit.plan.erased)] = False
        return support if support.any() and not support.all() else None

    @cached_property
    def numbers(self) -> dict[str, dict[str, Any]]:
        """Each score as a detector of places without rows, by key."""
        return keep(self.fit, self.used, "numbers", lambda: score_detectors(self))


def view(fitted: NoveltyFit, settings: NoveltySettings) -> NoveltyView:
    """What today's settings show of a fit; trains nothing."""
    check(settings, besides=("erased",))
    refused = why_not(settings) if settings.erased else ""
    settings = with_fit(settings, fitted.plan)
    if fitted.model is None:  # a stored fit shows what the page opens with
        settings = replace(settings, **{name: getattr(FIRST, name) for name in OF_THE_FORESTS})
    return NoveltyView(fitted, settings, refused)


def unit_of(shown: NoveltyView, key: str, ranks: str = "value") -> str:
    """What the numbers of a map are."""
    if ranks != "value":
        return "% of cells below" if ranks == "cells" else "% of training rows below"
    if SCORES[key].unit == "variance":
        return f"variance of {shown.data.target_name if not shown.data.classes else 'p'}"
    return SCORES[key].unit


# --- A place: which feature makes it novel, in which trees, beside which rows ---------------------


def explain_place(shown: NoveltyView, point: tuple[float, float]) -> PlaceLook:
    """Look at a place. The shares are Shapley values in closed form, from the authors' code."""
    rows, maps = shown.data, shown.maps
    x = rows.places(np.array([point]), maps.third_at)
    model = with_tail(shown.fit.model[0], maps.tail)
    detail = model.inspect_novelty(x)
    z, contributions = detail.z[0], detail.contributions[0].mean(axis=0)
    total = float(contributions.sum())
    top = np.argsort(-z, kind="stable")[: shown.settings.drawn].astype(np.int64)
    shared = model.forest_.leaf_matrix(rows.X) == model.forest_.leaf_matrix(x)
    names = rows.feature_names
    return PlaceLook(
        title=f"{names[0]} = {short(point[0])}, {names[1]} = {short(point[1])}",
        point=point,
        shares=contributions / total if total > 0.0 else np.zeros_like(contributions),
        z=z,
        top=top,
        ellipses=model.leaf_ellipses(x, features=(0, 1), trees=top),
        leaf_rows=tuple(np.flatnonzero(shared[:, tree]).astype(np.int64) for tree in top),
        prediction=np.atleast_1d(predict_places(shown.fit, x)[0]),
        values=_values_at(shown, model, x),
    )


def predict_places(fitted: NoveltyFit, places: Array) -> Array:
    """Class probabilities (n, n_classes), or means of y (n,)."""
    model = fitted.model[0]
    return model.predict_proba(places) if hasattr(model, "classes_") else model.predict(places)


def _values_at(shown: NoveltyView, model: Any, x: Array) -> tuple[PlaceValue, ...]:
    """Every score at the place, ranked among the cells and the rows."""
    from gbuq_core.baselines.isolation import DistanceScore

    rows, maps = shown.data, shown.maps
    novel, uncertain = model.score_novelty(x), model.predict_uncertainty(x)
    at_place = {
        "novelty": novel.novelty,
        "conditional": novel.conditional_novelty,
        "inference": np.abs(novel.inference_novelty),
        "knowledge": uncertain.knowledge,
        "data": uncertain.data,
        "isolation": shown.fit.model[1].score_novelty(x),
        "distance": DistanceScore(maps.neighbours, n_jobs=1).fit(rows.X).score_novelty(x),
    }
    if "truth" in maps.keys:
        at_place["truth"] = -true_log_density(rows.key, x[:, :2], shown.fit.plan.noise)
    values = []
    for key in maps.keys:
        value = float(at_place[key][0])
        ranks = [float(rank_among([value], own)[0]) for own in (maps.of(key), maps.of_rows(key))]
        values.append(PlaceValue(key, value, ranks[0], ranks[1]))
    return tuple(values)


# --- Numbers: whether a score tells where rows are from where none are ----------------------------

_APART = 50.0  # percentage points between ranks that count as a disagreement
MOST_VARIANCE = 0.25  # of a number between 0 and 1
_NEXT_TO_NOTHING = 1e-3  # of the largest KU


def score_detectors(shown: NoveltyView) -> dict[str, dict[str, Any]]:
    """Each score of the maps but the truth itself, as a detector of cells without rows.

    Over the cells as table 1 of the paper judges it over rows; NaN where nobody knows, and the rank
    correlation with minus the log of the true density once rows are erased, which changes it.
    """
    fitted, maps, support = shown.fit, shown.maps, shown.support
    crossing = None if support is None else crossings(support)
    knows = "truth" in maps.keys and not fitted.plan.erased
    scores = {}
    for key in maps.keys:
        if key == "truth":
            continue
        family = "macau" if SCORES[key].of_macau else key
        seconds, size = fitted.costs.get(family, (math.nan, math.nan))
        outside = beside = math.nan
        if support is not None and crossing is not None:
            outside = auroc_of(~support, support, maps.of(key))
            beside = auroc_of(crossing, support, maps.of(key)) if crossing.any() else math.nan
        scores[key] = {
            "label": SCORES[key].label,
            "auroc": outside,
            "auroc_crossings": beside,
            "rank_correlation": (
                rank_correlation(maps.of(key), maps.of("truth")) if knows else math.nan
            ),
            "seconds": seconds,
            "bytes": size,
        }
    return scores


def crossings(support: Mask) -> Mask:
    """Cells (3600,) outside the support that have some of it in their row and in their column.

    Cuts along one feature at a time cannot tell them apart.
    """
    square = support.reshape(SIDE, SIDE)
    columns, rows = np.asarray(square.any(axis=0)), np.asarray(square.any(axis=1))
    return (rows[:, None] & columns[None, :] & ~square).ravel()


def score(run: Run) -> dict[str, dict[str, Any]]:
    """Each score's numbers, and what sentences take."""
    if not run.views:
        waits = "The picture appears when the first fit is done."
        return {"": {"words": waits if run.data is not None else "There is no such picture."}}
    shown: NoveltyView = run.views[0]
    where, empty = "map", slice(None)
    if shown.support is not None:
        where, empty = "empty places", ~shown.support  # type: ignore[assignment]
    known = shown.data.in_support is not None
    said = {
        "corner": "Score",
        "caption": _HOW_TO_READ if known else _UNREADABLE,
        "words": describe_novelty(shown),
        "where": where,
        "novelty_above": _share_above(shown.maps, "novelty", empty),
        "knowledge_above": _share_above(shown.maps, "knowledge", empty),
    }
    return {"": said | dict(*run.measured.values()), **shown.numbers}


def _share_above(maps: NoveltyMaps, key: str, where: Any = slice(None)) -> float:
    """The percentage of cells with more of a score than any training row."""
    return 100.0 * float((maps.of(key)[where] > np.nanmax(maps.of_rows(key))).mean())


def describe_novelty(shown: NoveltyView) -> str:
    """The maps in words, from their numbers."""
    rows, fitted = shown.data, shown.fit
    parts = [
        f"{rows.title}: {forest_of(fitted.plan).label} with {fitted.n_trees:,} "
        f"tree{'s' if fitted.n_trees > 1 else ''} on {len(rows.y):,} rows of "
        f"{rows.X.shape[1]} features. The map has 60 x 60 cells over "
        f"{rows.feature_names[0]} and {rows.feature_names[1]}."
    ]
    if fitted.plan.erased:
        parts.append(describe_erased(rows))
    if fitted.plan.third:
        parts.append(f"The third feature is {short(shown.maps.third_at)} everywhere on the map.")
    scores = [each for each in shown.numbers.values() if not math.isnan(each["auroc"])]
    ranked = sorted(scores, key=lambda each: -each["auroc"])
    listed = ", ".join(f"{each['label']} {each['auroc']:.2f}" for each in ranked)
    parts.append(
        f"AUROC for detecting cells where rows hardly ever lie: {listed}."
        if scores
        else "Nobody knows where the rows of this table can lie. In "
        f"{_share_above(shown.maps, 'novelty'):.0f} % of the cells, novelty is higher than at any "
        "training row."
    )
    if shown.apart is not None:
        parts.append(describe_disagreement(shown, shown.apart))
    return " ".join([*parts, *shown.notes])


def describe_disagreement(shown: NoveltyView, apart: Disagreement) -> str:
    """Where the ranks of scores lie apart, and who says what there."""
    at = int(np.nanargmax(apart.spread))
    x, y = shown.data.grid[at]
    most, least = (SCORES[apart.keys[index[at]]].label for index in (apart.most, apart.least))
    share = 100.0 * float((apart.spread > _APART).mean())
    return (
        f"The ranks of {len(apart.keys)} scores differ by more than {_APART:.0f} points in "
        f"{share:.0f} % of the cells. They differ most, by {apart.spread[at]:.0f} points, at "
        f"{short(x)}, {short(y)}: {most} ranks this place highest and {least} lowest."
    )


def describe_place(shown: NoveltyView, look: PlaceLook) -> str:
    """The place that is looked at, in words."""
    novelty = next(value for value in look.values if value.key == "novelty")
    text = (
        f"At {look.title} novelty is z = {novelty.value:.2f}, higher than at "
        f"{novelty.rank_rows:.0f} % of the training rows and in {novelty.rank_cells:.0f} % of the "
        f"map's cells. Single trees give {look.z.min():.2f} to {look.z.max():.2f} (standard "
        f"deviation {look.z.std():.2f})."
    )
    if look.shares.any():
        order, names = np.argsort(-look.shares), shown.data.feature_names
        listed = ", ".join(f"{names[j]} {100 * look.shares[j]:.0f} %" for j in order)
        text += f" Shares of the squared distance: {listed}."
        if (look.shares < 0.0).any():
            text += (
                " A feature with a share below 0 makes the distance smaller, given the other "
                "features."
            )
    if len(look.top):
        sizes = [len(rows) for rows in look.leaf_rows]
        text += (
            f" In the {len(look.top)} trees with the highest z, its leaf has {min(sizes):,} to "
            f"{max(sizes):,} training rows."
        )
    if classes := shown.data.classes:
        best = int(look.prediction.argmax())
        return f"{text} Predicted: {classes[best]}, probability {look.prediction[best]:.2f}."
    return f"{text} Predicted {shown.data.target_name}: {short(look.prediction[0], 4)}."


def about(run: Run) -> str:
    """What the statements are held against, and with which view where it is not today's."""
    shown, parts = run.views[0], []
    if shown.data.in_support is not None:
        parts.append(
            "The paper uses other data, and its out-of-distribution rows lie beyond the range of a "
            "feature. Here they are the map's cells where rows hardly ever lie, gaps included."
        )
    near = in_use(shown.fit.plan, shown.data)
    if shown.used != near:
        third = f", the third feature at {near[1]:g}" if shown.fit.plan.third else ""
        parts.append(
            f"The checks use z-scores that keep rising and the distance to {near[2]} rows{third}, "
            "whatever the maps show."
        )
    return " ".join(parts)


def reading(run: Run) -> str:
    """What ranks hide, and which scores contradict each other most."""
    words = ["Maps, ranks, leaves and places update the picture without retraining."]
    if not run.views:
        return words[0]
    shown: NoveltyView = run.views[0]
    if shown.data.classes and (most := float(shown.maps.of("data").max())) > MOST_VARIANCE:
        words.append(
            f"Data uncertainty reaches {short(most, 2)} on this map, as a variance of the class "
            f"probability p. No probability has a variance above {MOST_VARIANCE:g}. MACAU works it "
            "out along a straight line, which leaves the range from 0 to 1."
        )
    values = shown.maps.of("knowledge")
    half, most = float(np.nanmedian(values)), float(np.nanmax(values))
    drawn = "knowledge" in shown.keys and shown.settings.show == "cells"
    if drawn and half < _NEXT_TO_NOTHING * most:
        words.append(
            f"Knowledge uncertainty is below {digits(half)} ({unit_of(shown, 'knowledge')}) in "
            f"half of the cells; its largest value is {digits(most)}. Ranks give that half of the "
            f'cells half of the colours. The map "{OWN_LABEL}" shows sizes on a logarithmic scale.'
        )
    if APART in shown.settings.maps and shown.apart is not None:
        words.append(describe_disagreement(shown, shown.apart))
    return " ".join(words)


def store(fitted: NoveltyFit) -> NoveltyFit:
    """A fit with the place and the numbers that the page opens with, and without its costs."""
    look = view(fitted, FIRST).look
    return fitted._replace(costs={}, look=look, measured=measure(fitted))


def refit_leaves(fitted: NoveltyFit, leaf_model: str) -> MacauClassifier | MacauRegressor:
    """The same forest with another kind of model in its leaves."""
    rows, forest = make_data(fitted.plan), fitted.model[0]
    known = estimator_arguments(replace(fitted.plan, leaf_model=leaf_model), rows.task)
    of_leaves = {name: known[name] for name in ("leaf_model", "leaf_features") if name in known}
    seed = fitted.plan.seed
    model = type(forest)(**of_leaves, base_model=forest.forest_, n_jobs=1, random_state=seed)
    return model.fit(rows.X, rows.y)


# --- Claims: the levels that count as agreeing are ours; the paper has words and a table. ---------

NEAR = 4  # cells around the support: farther away every score is right
SHIFT = 4.0  # stds of the irrelevant feature

_DETECTED = Threshold("AUROC of the near cells", 0.9, 0.75, decimals=3)
_AHEAD = Threshold("difference of the AUROCs", 0.0, -0.01, decimals=3)
_LOCAL_AHEAD = Threshold("difference of the AUROCs", 0.01, -0.01, decimals=3)
_LEAVES = Threshold("AUROC above that of one ellipse", 0.05, 0.01, decimals=3)
_IGNORED = Threshold("share of the rise", 0.1, 0.4, decimals=2)
_FOLLOWED = Threshold("rank correlation", 0.8, 0.5, decimals=2)
_LOST = Threshold("rank correlation", 0.5, 0.8, decimals=2)
_BLIND = Threshold("AUROC", 0.6, 0.7, decimals=3)  # no better than chance
_INFERS = Threshold("AUROC", 0.9, 0.6, decimals=3)


def measure(fitted: NoveltyFit) -> dict[str, Any]:
    """What the claims need, with the view that the page opens with."""
    shown = NoveltyView(fitted, fitted.plan)
    maps, support = shown.maps, shown.support
    numbers: dict[str, Any] = _measure_rise(shown)
    if fitted.plan.third:
        numbers |= _measure_third(shown)
    if support is None:
        return numbers
    # A score of far cells is nearly free: one ellipse around all rows finds them as well.
    ellipse, near, crossing = one_ellipse(shown), near_cells(support), crossings(support)
    for key in ("novelty", "isolation", "distance"):
        numbers[key] = shown.numbers[key]["auroc"]
        numbers[f"{key}_crossings"] = shown.numbers[key]["auroc_crossings"]
    correlation = shown.numbers["novelty"]["rank_correlation"]
    numbers |= {
        "near": auroc_of(near, support, maps.of("novelty")),
        "ellipse_near": auroc_of(near, support, ellipse),
        "ellipse": auroc_of(~support, support, ellipse),
        "ellipse_crossings": (auroc_of(crossing, support, ellipse) if crossing.any() else math.nan),
        "empty": 100.0 * float((~support).mean()),
        "follows": ""
        if math.isnan(correlation)
        else f" Its rank correlation with minus the log of the density is {correlation:.2f}.",
    }
    beside = numbers["novelty_crossings"]
    numbers["ahead"] = numbers["novelty"] - numbers["isolation"]
    numbers["local_ahead"] = beside - numbers["isolation_crossings"]
    numbers["gain"] = beside - numbers["ellipse_crossings"]
    for leaf_model in ("basic", "linear"):  # on the same forest
        knowledge, inference = maps.of("knowledge"), maps.of("inference")
        if leaf_model != fitted.plan.leaf_model:
            other, places = refit_leaves(fitted, leaf_model), shown.data.places(third=maps.third_at)
            knowledge = other.predict_uncertainty(places).knowledge
            inference = np.abs(other.score_novelty(places).inference_novelty)
        numbers[f"knowledge_{leaf_model}"] = auroc_of(~support, support, knowledge)
        numbers[f"inference_{leaf_model}"] = auroc_of(~support, support, inference)
    return numbers


def one_ellipse(shown: NoveltyView) -> Array:
    """The distance of every cell (3600,) from the middle of all rows, in one ellipse around them.

    It needs no trees: what it finds is nearly free.
    """
    rows = shown.data.X
    away = shown.data.places(third=shown.maps.third_at) - rows.mean(axis=0)
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(rows, rowvar=False)))
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", away, inverse, away), 0.0))


def near_cells(support: Mask) -> Mask:
    """Cells (3600,) outside the support within `NEAR` cells of it.

    >>> support = np.zeros(3600, bool)
    >>> support[0] = True
    >>> int(near_cells(support).sum())  # a corner: 1 to 4 cells away in steps along the sides
    14
    """
    from scipy.ndimage import binary_dilation  # slow to import

    grown = binary_dilation(support.reshape(SIDE, SIDE), iterations=NEAR)
    return np.asarray(grown).ravel() & ~support


def _measure_third(shown: NoveltyView) -> dict[str, float]:
    """Move the irrelevant feature of every training row, and nothing else."""
    rows, model = shown.data.X, shown.fit.model[0]
    moved = rows.copy()
    moved[:, 2] += SHIFT * float(rows[:, 2].std())
    before, after = model.score_novelty(rows), model.score_novelty(moved)
    rise = float((after.novelty - before.novelty).mean())
    conditional = float((after.conditional_novelty - before.conditional_novelty).mean())
    share = conditional / rise if rise > 0.0 else math.nan
    return {"third_rise": rise, "third_conditional": conditional, "third_share": share}


def _measure_rise(shown: NoveltyView) -> dict[str, Any]:
    """Whether the knowledge uncertainty of the leaves goes on rising outside."""
    maps, plan = shown.maps, shown.fit.plan
    if shown.support is not None:
        outside = ~shown.support
    else:  # farther from the rows than any row is
        outside = maps.of("distance") > maps.of_rows("distance").max()
    known = maps.of("knowledge")[outside], maps.of("distance")[outside]
    agreement = rank_correlation(*known) if outside.any() else math.nan  # also of a single tree
    squeezed = ". These are class probabilities: near 0 or 1 all trees agree"
    return {f"rise_{plan.leaf_model}": agreement, "squeezed": squeezed * bool(shown.data.classes)}


_AGREES = "away from the rows its rank correlation with the distance to them is "

CLAIMS = (
    Claim(
        "ellipses",
        "Within a leaf it is more reasonable to assume that the data follow an elliptical "
        "distribution (section 3.2).",
        "for empty cells with rows beside them along both features, such as holes and gaps, the "
        "AUROC of novelty is {novelty_crossings:.3f}, and that of one ellipse around all rows "
        "{ellipse_crossings:.3f}. The distance to the nearest rows, which assumes no shape, has "
        "{distance_crossings:.3f}. A leaf that covers a hole treats the middle of the hole as "
        "typical.",
        "gain", _LEAVES, chip="Leaves beat one ellipse at crossings", name="AUROC gain",
    ),
    Claim(
        "crossings",
        "Novelty may win because the isolation forest considers the global feature space, and "
        "novelty the sub-spaces of leaves (section 4.2).",
        "some empty cells have rows beside them along both features. There the axis-parallel cuts "
        "of an isolation forest draw stripes. For these cells the AUROC of novelty is "
        "{novelty_crossings:.3f}, that of the isolation forest {isolation_crossings:.3f}.",
        "local_ahead", _LOCAL_AHEAD, chip="Novelty beats isolation at crossings", name="AUROC gain",
    ),
    Claim(
        "novelty",
        "MACAU's novelty detects rows out of distribution (AUROC 0.93 to 1.00 in table 1).",
        f"its AUROC for empty cells within {NEAR} cells of the rows is {{near:.3f}}. One ellipse "
        "around all rows has {ellipse_near:.3f} there. Empty cells are {empty:.0f} % of the map. "
        "For all of them novelty has {novelty:.3f} and the ellipse {ellipse:.3f}, so most of that "
        "is free.{follows}",
        "near", _DETECTED, chip="Novelty finds near empty cells", name="AUROC",
    ),
    Claim(
        "isolation",
        "Novelty outperforms the isolation forest in OOD detection (section 4.2).",
        "the AUROC of novelty is {novelty:.3f}, that of the isolation forest {isolation:.3f}. The "
        "distance to the nearest rows, which needs no forest, has {distance:.3f}.",
        "ahead", _AHEAD, name="difference",
    ),
    Claim(
        "third",
        "Conditional novelty is not aware of features that the trees do not select; novelty is "
        "(sections 3.2 and 4.2).",
        f"when the irrelevant feature of the training rows moves by {SHIFT:g} stds, novelty rises "
        "by {third_rise:.2f} on average and conditional novelty by {third_conditional:.2f}, a "
        "share of {third_share:.2f}. Trees that chose the feature by chance do see it.",
        "third_share", _IGNORED, name="share",
    ),
    Claim(
        "rise",
        "MACAU (linear) exhibits a linear increase in epistemic uncertainty out of distribution "
        "(section 4.1).",
        _AGREES + "{rise_linear:.2f}{squeezed}.",
        "rise_linear", _FOLLOWED, chip="KU rises away from the rows",
    ),
    Claim(
        "rise",
        "MACAU (basic), lacking extrapolation, struggles to express its epistemic uncertainty out "
        "of distribution (section 4.1).",
        _AGREES + "{rise_basic:.2f}.",
        "rise_basic", _LOST,
    ),
    Claim(
        "knowledge:basic",
        "MACAU (basic)'s knowledge uncertainty does not detect OOD rows (AUROC 0.20 to 0.50 in "
        "table 1).",
        "its AUROC is {knowledge_basic:.3f}.",
        "knowledge_basic", _BLIND,
    ),
    Claim(
        "knowledge:linear",
        "MACAU (linear)'s knowledge uncertainty detects OOD rows with one feature (AUROC 0.95) but "
        "not with several (0.50 and 0.57).",
        "its AUROC is {knowledge_linear:.3f}.",
        "knowledge_linear", _BLIND,
    ),
    Claim(
        "inference:linear",
        "Inference novelty detects extrapolation with linear leaves (AUROC 1.00 with one feature, "
        "about 0.6 with several).",
        "the AUROC of its absolute value is {inference_linear:.3f}.",
        "inference_linear", _INFERS,
    ),
    Claim(
        "inference:basic",
        "MACAU (basic) cannot use inference novelty to detect extrapolation (AUROC 0.50).",
        "the AUROC of its absolute value is {inference_basic:.3f}.",
        "inference_basic", _BLIND,
    ),
)  # fmt: skip


# --- Picture: maps side by side; training rows lie on every map, leaves on novelty's --------------

MACAU = METHOD_STYLES["macau"]
# Rows lie where novelty is low and maps are dark: light colours, told apart by any eye.
CLASS_COLOURS = ("#e69f00", "#56b4e9", "#cc79a7", "#f0e442", "#ffffff")
MOST_POINTS = 1500
_ELLIPSE, _ELLIPSE_STDS, _CORNERS = "#ffffff", 2.0, 48
_LEAVES_LABEL = "leaves that call this place newest (two standard deviations)"
_MOST_BARS = 30


def picture(run: Run, knobs: Sequence[LiveKnob]) -> PanelSheet:
    """The row of maps, with an edge around the place."""
    if not run.views:
        return PanelSheet(panels=[], note=score(run)[""]["words"])
    shown: NoveltyView = run.views[0]
    has_log = any(key in POSITIVE for key in shown.settings.maps)
    knobs = [knob for knob in knobs if knob.key != "log" or has_log]
    bar = [knob for knob in knobs if knob.key in ("show", "log")]
    sheet = novelty_sheet(shown, look=shown.look, bar=bar, knobs=knobs)
    note = "" if sheet.panels else "No map is chosen. Choose one under All settings."
    return replace(sheet, lines=(edge_around(shown.data, shown.settings.cell),), note=note)


def novelty_sheet(
    shown: NoveltyView,
    panels: Mapping[str, Panel] | None = None,
    *,
    look: PlaceLook | None = None,
    point: tuple[float, float] | None = None,
    bar: Sequence[LiveKnob] = (),
    knobs: Sequence[LiveKnob] = (),
) -> PanelSheet:
    """The settings' maps, or those that are given, which follow the knobs of ``bar``."""
    drawn = novelty_panels(shown, look) if panels is None else panels
    sheet = [replace(panel, points=_dots(shown.data)) for panel in drawn.values()]
    known, outline_label = shown.support, ""
    if known is not None and sheet:
        sheet[0] = replace(sheet[0], outlined=as_map(known))
        outline_label = "where nearly all rows lie"
    point = point if look is None else look.point
    at, n = {knob.key for knob in bar}, len(sheet)
    (x0, y0), (x1, y1) = (ends(shown.data.X[:, :2], axis=0).tolist() for ends in (np.min, np.max))
    focus = (x0, x1), (y0, y1)
    return PanelSheet(
        panels=sheet,
        # One row of up to four maps, then two rows of nearly the same length.
        columns=n if n <= 4 else 3 if n <= 6 else 4 if n <= 8 else 5,
        panel_height=300 if n <= 4 else 193,
        outline_label=outline_label,
        markers=() if point is None else (Marker(*point, legend="the place you look at"),),
        alt=describe_novelty(shown),
        name="novelty",
        knobs=offered([*bar, *(knob for knob in knobs if knob.key not in at)], focus=focus),
        focus=focus,
        near=follow_ranks(shown, drawn, bar) if bar else None,
        **map_axes(shown.data),
    )


def novelty_panels(shown: NoveltyView, look: PlaceLook | None = None) -> dict[str, Panel]:
    """The maps of the settings, by their key there; with a look, its leaves on novelty's."""
    chosen = shown.settings.maps
    panels = {key: score_panel(shown, key, look=look) for key in shown.keys}
    if OWN in chosen:
        panels[OWN] = score_panel(shown, "knowledge", OWN_LABEL, show="value", log=True)
    if APART in chosen and shown.apart is not None:
        panels[APART] = Panel(
            title="Where ranks disagree",
            name="where ranks disagree",
            values=as_map(shown.apart.spread),
            unit="points apart",
            limits=(0.0, 100.0),
        )
    return panels


def score_panel(
    shown: NoveltyView,
    key: str,
    title: str = "",
    *,
    show: str = "",
    log: bool = False,
    look: PlaceLook | None = None,
) -> Panel:
    """One score: its own values, or ranks from 0 to 100, as the settings say if not given."""
    show = show or shown.settings.show
    own = show == "value"
    lines: tuple[Line, ...] = ()
    if key == "novelty" and look is not None and len(look.ellipses.centre):
        lines = (Line(*ellipse_corners(look.ellipses), _ELLIPSE, legend=_LEAVES_LABEL),)
    return Panel(
        title=title or SCORES[key].label,
        values=as_map(shown.maps.of(key) if own else ranks_of(shown.maps, key, show)),
        unit=unit_of(shown, key, show),
        limits=None if own else (0.0, 100.0),
        log=own and (log or shown.settings.log) and key in POSITIVE,
        accent=accent_of(key),
        lines=lines,
    )


def accent_of(key: str) -> str | None:
    """The colour of the method that a score comes from; the truth has none."""
    if SCORES[key].of_macau:
        return MACAU.colour
    return None if key == "truth" else METHOD_STYLES["vrf"].colour


class ScoreTable(NamedTuple):
    """Every score over the map and of the training rows, for `pack_table`; both float64.

    name : the same for the same scores; values : (n_scores, n_cells); rows : (n_scores, n_rows)
    """

    name: str
    values: Array
    rows: Array


def score_table(maps: NoveltyMaps) -> ScoreTable:
    """What maps need in the browser to follow a choice between ranks and own values."""
    digest = blake2b(maps.values.tobytes() + maps.rows.tobytes(), digest_size=8)
    return ScoreTable(f"scores-{digest.hexdigest()}", maps.values, maps.rows)


def follow_ranks(
    shown: NoveltyView,
    drawn: Collection[str],
    bar: Sequence[LiveKnob],
    units: Mapping[str, str] | None = None,
    maps: NoveltyMaps | None = None,
) -> dict[str, Any]:
    """How maps of these keys follow the knobs of the bar, as rank_maps.js reads it.

    ``maps`` and ``units`` are of scores that are no method's.
    """
    maps, apart = shown.maps if maps is None else maps, shown.apart
    return {
        "kind": "ranks",
        "table": score_table(maps).name,
        "keys": [key if key in (*maps.keys, APART) else None for key in drawn],
        "rows": {key: row for row, key in enumerate(maps.keys)},
        "at": {"log": False, **{knob.key: knob.value for knob in bar}},
        "kinds": list(SHOWS.values()),
        "rankUnits": {show: unit_of(shown, "novelty", show) for show in ("cells", "rows")},
        "units": dict(units or {key: unit_of(shown, key) for key in maps.keys}),
        "positive": list(POSITIVE),
        "compared": list(apart.keys) if apart is not None and APART in drawn else [],
    }


def map_axes(rows: NoveltyData) -> dict[str, Any]:
    """Names and outer edges of a map's axes, as `PanelSheet` takes them."""
    (x, y), (x_extent, y_extent) = rows.feature_names[:2], rows.extent
    return {"x_label": x, "y_label": y, "x_extent": x_extent, "y_extent": y_extent}


def as_map(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values (..., 3600) of cells as rows and columns."""
    return values.reshape(*values.shape[:-1], SIDE, SIDE)


def edge_around(rows: NoveltyData, place: Place) -> Line:
    """The edge of the square around a place, with "here" beside it."""
    row, column = map(span_around, place)
    (left, right), (bottom, top) = (
        low + (high - low) * np.array(span) / SIDE
        for span, (low, high) in zip((column, row), rows.extent, strict=True)
    )
    x, y = [right, right, left, left, right], [top, bottom, bottom, top, top]
    return Line(np.array(x), np.array(y), label="here", dash=True)


def ellipse_corners(leaves: LeafEllipses, stds: float = _ELLIPSE_STDS) -> tuple[Array, Array]:
    """Corners of ellipses one after the other, with a NaN behind each."""
    angle = np.linspace(0.0, 2.0 * np.pi, _CORNERS + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    values, vectors = np.linalg.eigh(leaves.covariance)
    # Rounding may leave a flat leaf a variance just below 0.
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    corners = leaves.centre[:, :, None] + stds * (roots @ circle)
    gaps = np.full((len(corners), 2, 1), np.nan)
    flat = np.concatenate([corners, gaps], axis=2).transpose(1, 0, 2).reshape(2, -1)
    return flat[0], flat[1]


def _dots(rows: NoveltyData) -> Points:
    """Training rows, evenly thinned to as many as a map shows."""
    n = len(rows.y)
    few = np.linspace(0, n - 1, min(n, MOST_POINTS)).astype(np.int64)
    group = rows.y[few].astype(np.int64) if rows.classes else np.zeros(len(few), dtype=np.int64)
    return Points(
        rows.X[few, 0],
        rows.X[few, 1],
        group % len(CLASS_COLOURS),
        tuple(rows.classes) or ("training rows",),
        CLASS_COLOURS,
        radius=1.5,
        opacity=0.8,
    )


def why(run: Run) -> list[tuple[Section, ...]]:
    """Every score at the place, and its trees."""
    shown: NoveltyView = run.views[0]
    look, trees = shown.look, tree_sheet(shown.look)
    rows = [
        (
            SCORES[each.key].label + ("" if unit == "score" else f" ({unit})"),
            digits(each.value),
            percent(each.rank_cells / 100, 0),
            percent(each.rank_rows / 100, 0),
        )
        for each in look.values
        for unit in [unit_of(shown, each.key)]
    ]
    place = Section(
        heading=f"At {look.title}: what makes it new",
        text=describe_place(shown, look),
        table=[("Score", "Value", "Rank, cells", "Rank, rows"), *rows],
        caption="Rank: the share of the map's cells, or of the training rows, with a lower score.",
    )
    return [(place, Section(heading="Tree by tree", sheet=trees, caption=trees.alt))]


def tree_sheet(look: PlaceLook) -> PanelSheet:
    """A histogram of the trees' z-scores of a place, the mean marked."""
    z, mean = look.z, float(look.z.mean())
    edges = histogram_edges(z)
    counts = np.histogram(z, bins=edges)[0].astype(np.float64)
    heights = np.append(counts, counts[-1:])
    heights[heights <= 0] = np.nan
    strip = Strip(
        title="Novelty, tree by tree",
        x=edges,
        lines=[StripLine("trees", heights, MACAU.colour, bars=True)],
        x_label="z-score",
        y_label="trees",
        y_limits=(0.0, 1.15 * float(np.nanmax(heights, initial=1.0))),
        marks=[float(np.clip(mean, edges[0], edges[-1]))],
        mark_label=f"mean {short(mean)}",
    )
    alt = (
        f"{len(z)} trees give this place z-scores from {digits(float(z.min()))} to "
        f"{digits(float(z.max()))}, {digits(mean)} on average."
    )
    return PanelSheet(panels=[], strips=[strip], strip_height=150, alt=alt, name="trees")


def histogram_edges(values: Array) -> Array:
    """Edges of bars over all values, at least one unit wide in all."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1.0:
        middle = (low + high) / 2
        low, high = middle - 0.5, middle + 0.5
    bars = int(np.clip(round(1.5 * np.sqrt(len(values))), 10, _MOST_BARS))
    return np.linspace(low, high, bars + 1)


_CSV = {
    "conditional": "conditional_novelty",
    "inference": "abs_inference_novelty",
    "knowledge": "knowledge_uncertainty",
    "data": "data_uncertainty",
    "isolation": "isolation_forest",
    "distance": "distance_to_rows",
    "truth": "minus_log_density",
}


def map_columns(run: Run) -> dict[str, Any]:
    """Of each cell: its middle, every score and its percentile among the cells, the support."""
    rows, maps = run.views[0].data, run.views[0].maps
    columns = dict(zip(rows.feature_names[:2], rows.grid.T, strict=True))
    columns |= {_CSV.get(key, key): maps.of(key) for key in maps.keys}
    columns |= {f"{_CSV.get(key, key)}_rank": ranks_of(maps, key) for key in maps.keys}
    return columns if rows.in_support is None else columns | {"in_support": rows.in_support}


def row_columns(run: Run) -> dict[str, Any]:
    """Of each training row that is left: its number from 1, features, target and its scores."""
    rows, maps = run.views[0].data, run.views[0].maps
    target = np.array(rows.classes)[rows.y.astype(np.int64)] if rows.classes else rows.y
    columns = {"row": rows.origin + 1, **dict(zip(rows.feature_names, rows.X.T, strict=True))}
    columns[rows.target_name] = target
    return columns | {_CSV.get(key, key): maps.of_rows(key) for key in maps.keys}


def copied(settings: NoveltySettings) -> Code:
    """What the copied code calls."""
    plan = plan_of(admit(settings))
    task = "classification" if plan.data != "table" else TABLES[plan.table].task
    places = f"data.places({f'third={settings.third_at!r}' if plan.third else ''})"
    isolation, distance = (RECORDS[key].builder("novelty") for key in ("isolation", "distance"))
    of_forest = {**estimator_arguments(plan, task), "tail": settings.tail}
    both = " | ".join(
        f"model.{name}({places})._asdict()" for name in ("score_novelty", "predict_uncertainty")
    )
    of_trees = {"n_trees": plan.trees, "random_state": plan.seed}
    other = f'{{"novelty": model.score_novelty({places})}}'
    forest = f"gbuq_core:{forest_of(plan).builder(task).name}"
    nearest = {"n_neighbors": settings.neighbours}
    return Code(
        "gbuq_core.study.novelty_maps:load_novelty_data",
        data_arguments(plan),
        [
            (forest_of(plan).label, forest, of_forest, both),
            (SCORES["isolation"].label, isolation.of, of_trees, other),
            (SCORES["distance"].label, distance.of, nearest, other),
        ],
    )


# --- Words ----------------------------------------------------------------------------------------

_COST = "Seconds and megabytes are those of the fit behind a score. MACAU's scores share one."
_UNREADABLE = (
    f"There is no AUROC, because nobody knows where the rows of this table can lie. {_COST}"
)
_HOW_TO_READ = (
    "AUROC: the chance that a cell where rows hardly ever lie scores higher than a cell where they "
    "do. Crossings: only empty cells with rows beside them along both features. All: every empty "
    "cell; most lie so far out that any distance finds them. Rank correlation: Spearman's, with "
    "minus the log of the true density; there is none where rows are erased, which changes that "
    f"density. {_COST}"
)


def _labels_of(*keys: str) -> tuple[str, ...]:
    """The words for maps."""
    words = {key: label for label, key in MAP_LABELS.items()}
    return tuple(words[key] for key in keys)


NOVELTY = Study(
    name="novelty",
    question="What makes a place new to the model?",
    lede="Does the model's **novelty** rise where it has seen no rows? Click a place to erase the "
    "rows around it. Which map notices?",
    settings=NoveltySettings,
    beginning=FIRST,
    methods={"macau": Score("Forest and leaves", "")},
    data=data,
    admit=admit,
    fit=fit,
    view=view,
    viewed=(*OF_THE_FORESTS, "show", "log", "maps", "compared", "erased"),
    dragged=("third_at", "neighbours", "drawn"),
    measure=lambda fitted, settings: measure(fitted),
    kind=NoveltyFit,
    store=store,
    bits=15,
    asks=OF_THE_FORESTS,
    why_not=why_not,
    warn=lambda shown: " ".join(shown.notes),
    picture=picture,
    score=score,
    claims=CLAIMS,
    scorecard={
        "Scorecard": (
            Row("AUROC, crossings", "auroc_crossings"),
            Row("AUROC, all", "auroc"),
            Row("Rank correlation", "rank_correlation"),
            Row("Seconds", "seconds"),
            Row("Megabytes", "bytes", "MB"),
        )
    },
    caption="{caption}",
    answer="In {novelty_above:.0f} % of the {where}, novelty is higher than at any training row. "
    "The trees disagree more than at any training row in {knowledge_above:.0f} %.",
    said="{words}",
    said_of=(),
    files={"Maps": map_columns, "Rows": row_columns},
    copied=copied,
    reading=reading,
    about=about,
    why=why,
    packed=lambda run, kept: {
        "scores": kept(
            "novelty-table",
            [run.views[0].maps],
            None,
            lambda: pack_table(score_table(run.views[0].maps)),
        )
    },
    first=(),
    maps=tuple(MAP_LABELS),
    by_kind=False,
    presets=(
        (
            "Third feature nobody uses",
            {
                "third": True,
                "third_at": 3.0,
                "show": "ranks among rows",
                "column": 27,  # among the rows
                "row": 36,
                "maps": _labels_of("truth", "novelty", "conditional"),
            },
            "All places are far out along an irrelevant feature. Novelty counts it; conditional "
            "novelty counts only the features on a leaf's path.",
        ),
        (
            "Clipped tail",
            {
                "tail": "clipped, as the authors'",
                "show": "own values",
                "maps": _labels_of("truth", "novelty", "distance"),
            },
            "The authors' novelty stops rising just outside the rows.",
        ),
        ("A table", {"data": DATASETS["table"]}, "Two columns of real rows."),
    ),
    story=(
        ("Truth at the left, scores beside it. Which scores rise where rows are rare?", {}),
        (
            "Own values instead of ranks. How far does each score reach?",
            {"show": "own values", "map": SCORES["knowledge"].label},
        ),
        (
            "An irrelevant feature is added. Whose map changes?",
            {"show": "ranks among cells", "third": True},
        ),
    ),
    click=erase,
    undo=offer_undo,
    title="Novelty maps",
    lead="What makes a place new to a forest: novelty, conditional novelty and other scores over "
    "the same map. After MACAU (doi 10.5121/csit.2023.131920), section 3.2.",
    equations=r"""
MACAU ([doi 10.5121/csit.2023.131920](https://doi.org/10.5121/csit.2023.131920)), section 3.2. Every
leaf of every tree keeps the mean and the covariance of its training rows, shrunk by OAS, after
robust scaling. In each tree, a row has a distance to the rows of its leaf. A z-score says how large
this distance is among the training rows' own distances in that tree. Novelty is the mean z-score
over T trees:

$$
d_t(x)=\sqrt{(x-\mu_\ell)^\top\Sigma_\ell^{-1}(x-\mu_\ell)},\qquad
z_t(x)=\Phi^{-1}\!\big(\hat F_t(d_t(x))\big),\qquad
\text{novelty}(x)=\tfrac1T\sum_t z_t(x)
$$

Conditional novelty uses only the features on the path to the leaf. The squared distance is a sum
over features. Its terms are Shapley values in closed form:

$$
d^2=\sum_j\varphi_j,\qquad \varphi_j=(x_j-\mu_j)\,\big[\Sigma^{-1}(x-\mu)\big]_j
$$

Beyond the farthest training row, the authors' z-score stops at 5.2. Here it keeps rising, unless
you choose theirs. For classes, knowledge uncertainty is the variance of the class probability over
the trees. It is not in nats.
""",
    terms=("novelty", "knowledge", "auroc", "leaf_index"),
    departures="MACAU",
)
