"""Novelty maps as a page and a download find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.experiment import Keep, Single, Work
from gbuq_core.experiments.novelty.claims import STUDY, check_novelty_claims
from gbuq_core.experiments.novelty.data import (
    DATASETS,
    SIDE,
    TABLES,
    TableChoice,
    load_novelty_data,
)
from gbuq_core.experiments.novelty.fit import (
    NoveltyFit,
    NoveltyMaps,
    NoveltyRun,
    fit_novelty_maps,
    map_novelty,
    maps_key,
    ranks_of,
    unit_of,
    view_novelty,
)
from gbuq_core.experiments.novelty.look import PlaceLook, explain_place
from gbuq_core.experiments.novelty.opening import CLAIMS, LOOK, OPENING, first_view
from gbuq_core.experiments.novelty.picture import (
    edge_around,
    novelty_sheet,
    score_table,
    tree_sheet,
)
from gbuq_core.experiments.novelty.plan import (
    APART,
    FIRST,
    OWN_LABEL,
    POSITIVE,
    NoveltySettings,
    forest_of,
    novelty_arguments,
    plan_data,
)
from gbuq_core.experiments.novelty.scores import (
    MapScore,
    answer_novelty,
    describe_disagreement,
    describe_novelty,
    describe_place,
    explain_variances,
    score_maps,
)
from gbuq_core.experiments.python_text import call_lines, import_lines
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import pack_table
from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob
from gbuq_core.methods import METHODS
from gbuq_core.presentation import csv_text, digits, megabytes, percent
from gbuq_core.settings import from_values, plan_of, sliders, with_fit

_DATA = """\
from gbuq_core.experiments.novelty.data import load_novelty_data
from gbuq_core.experiments.novelty.erasing import erase_rows

data = load_novelty_data({arguments})
rows = erase_rows(data, {erased!r})
X, y, grid = rows.X, rows.y, data.grid"""
_MOONS = """\
from gbuq_core.synthetic import make_moons3

moons = make_moons3({rows}, noise={noise!r}, random_state={seed})
X, y = moons.X[:, :2], moons.y  # the third feature means nothing
{grid}"""
_PLANE = """\
from gbuq_core.synthetic import make_{key}

data = make_{key}({rows}, noise={noise!r}, random_state={seed})
X, y = data.X, data.y
{grid}"""
_GRID = """\
middles = [low + (np.arange({side}) + 0.5) * (high - low) / {side} for low, high in {extent}]
grid = np.stack(np.meshgrid(*middles), axis=-1).reshape(-1, 2)"""
_NOISE = {"moons": 0.15, "rings": 0.15, "blobs": 0.6}
_VIEW = NoveltySettings()
_CLAIMS = "novelty-claims"  # what is asked for behind
_NEXT_TO_NOTHING = 1e-3  # of the largest KU
_OF_TABLE = ("data", (DATASETS["table"].label,))


def novelty_code(settings: NoveltySettings) -> str:
    """Python that fits, scores the map and explains a place, with public names."""
    plan = plan_of(settings)
    data = plan_data(plan)
    task = data.task
    forest = forest_of(plan).builder(task).name
    isolation, distance = (METHODS[key].builder("novelty") for key in ("isolation", "distance"))
    lines = [
        "import numpy as np",
        "",
        *import_lines([f"gbuq_core:{forest}", isolation.of, distance.of]),
        _rows_code(plan),
    ]
    if plan.third:
        lines.append(f"grid = np.column_stack([grid, np.full(len(grid), {settings.third_at!r})])")
    of_forest = {**novelty_arguments(plan, task), "tail": settings.tail}
    (row, column), (x, y) = settings.cell, data.axes
    place = [float(x[column]), float(y[row])] + ([settings.third_at] if plan.third else [])
    seed, k = plan.seed, settings.neighbours
    lines += [
        "",
        *call_lines(f"model = {forest}", of_forest)[:-1],
        ").fit(X, y)",
        "novel, uncertain = model.score_novelty(grid), model.predict_uncertainty(grid)",
        f"isolation = {isolation.name}({plan.trees}, random_state={seed}).fit(X)",
        "maps = {",
        "    'novelty': novel.novelty,",
        "    'conditional novelty': novel.conditional_novelty,",
        "    '|inference novelty|': np.abs(novel.inference_novelty),",
        "    'knowledge uncertainty': uncertain.knowledge,",
        "    'data uncertainty': uncertain.data,",
        "    'isolation forest': isolation.score_novelty(grid),",
        f"    'distance to rows': {distance.name}({k}).fit(X).score_novelty(grid),",
        "}",
        "for name, values in maps.items():",
        f"    square = values.reshape({SIDE}, {SIDE})  # the second feature upwards",
        "    print(f'{name}: {square.min():.4g} to {square.max():.4g}')",
        "",
        f"place = np.array([{place}])",
        "print('shares of the squared distance:', model.explain_novelty(place, normalize=True)[0])",
        "detail = model.inspect_novelty(place)",
        "for tree in np.argsort(-detail.z[0])[:5]:",
        "    print(f'tree {tree}: z = {detail.z[0, tree]:.3g}, '",
        "          f'{detail.rows_in_leaf[0, tree]} training rows in the leaf')",
    ]
    return "\n".join(lines).replace("'", '"') + "\n"


def _rows_code(plan: NoveltySettings) -> str:
    if plan.erased or plan.third or plan.data not in _NOISE:
        own = ("table", "columns") if plan.data == "table" else ("rows", "noise")
        of_data = {name: getattr(plan, name) for name in (*own, "seed")}
        of_data["third"] = plan.third or None
        named = [f"{name}={value!r}" for name, value in of_data.items() if value is not None]
        arguments = ", ".join([repr(plan.data), *named])
        return _DATA.format(arguments=arguments, erased=plan.erased)
    template = _MOONS if plan.data == "moons" else _PLANE
    extent = load_novelty_data(plan.data, plan.rows, plan.noise, plan.seed).extent
    return template.format(
        key=plan.data,
        rows=plan.rows,
        noise=_NOISE[plan.data] * plan.noise,
        seed=plan.seed,
        grid=_GRID.format(side=SIDE, extent=extent),
    )


def novelty_csv(fit: NoveltyFit, maps: NoveltyMaps) -> str:
    """One line a cell: its middle, every score and its percentile among the cells, the support."""
    data = fit.data
    names = [*data.feature_names[:2], *(_column(key) for key in maps.keys)]
    columns = [*data.grid.T, *maps.values]
    names += [f"{_column(key)}_rank" for key in maps.keys]
    columns += [ranks_of(maps, key) for key in maps.keys]
    if data.in_support is not None:
        names.append("in_support")
        columns.append(data.in_support)
    return csv_text(names, zip(*columns, strict=True))


def novelty_rows_csv(fit: NoveltyFit, maps: NoveltyMaps) -> str:
    """One line a training row that is left: its number from 1, features, target and its scores."""
    data, rows = fit.data, fit.rows
    names = ["row", *data.feature_names, data.target_name, *(_column(key) for key in maps.keys)]
    target: Sequence[object] = rows.y.tolist()
    if data.classes:
        target = [data.classes[int(label)] for label in rows.y]
    columns = [rows.origin + 1, *rows.X.T, target, *maps.rows]
    return csv_text(names, zip(*columns, strict=True))


def _column(key: str) -> str:
    return {
        "conditional": "conditional_novelty",
        "inference": "abs_inference_novelty",
        "knowledge": "knowledge_uncertainty",
        "data": "data_uncertainty",
        "isolation": "isolation_forest",
        "distance": "distance_to_rows",
        "truth": "minus_log_density",
    }.get(key, key)


def score_section(fit: NoveltyFit, scores: Sequence[MapScore]) -> Section:
    """A line a score; a column without a number is left out."""
    columns = [
        ("AUROC, crossings", [digits(score.auroc_crossings) for score in scores]),
        ("AUROC, all", [digits(score.auroc) for score in scores]),
        ("Rank correlation", [digits(score.rank_correlation) for score in scores]),
        ("Seconds", [digits(score.seconds) for score in scores]),
        ("Megabytes", [megabytes(score.memory_bytes) for score in scores]),
    ]
    filled = [(name, texts) for name, texts in columns if set(texts) != {"\u2013"}]
    lines = zip([score.label for score in scores], *(texts for _, texts in filled), strict=True)
    table = [("Score", *(name for name, _ in filled)), *lines]
    return Section(heading="Scorecard", table=table, caption=_how_to_read(fit))


def _how_to_read(fit: NoveltyFit) -> str:
    cost = "Seconds and megabytes are those of the fit behind a score. MACAU's scores share one."
    if fit.data.in_support is None:
        return (
            f"There is no AUROC, because nobody knows where the rows of this table can lie. {cost}"
        )
    return (
        "AUROC: the chance that a cell where rows hardly ever lie scores higher than a cell where "
        "they do. Crossings: only empty cells with rows beside them along both features. All: "
        "every empty cell; most lie so far out that any distance finds them. Rank correlation: "
        "Spearman's, with minus the log of the true density; there is none where rows are erased, "
        f"which changes that density. {cost}"
    )


def place_section(fit: NoveltyFit, look: PlaceLook) -> Section:
    """Every score at a place."""
    rows = [
        (
            each.label if (unit := unit_of(fit, each.key)) == "score" else f"{each.label} ({unit})",
            digits(each.value),
            percent(each.rank_cells / 100, 0),
            percent(each.rank_rows / 100, 0),
        )
        for each in look.values
    ]
    return Section(
        heading=f"At {look.title}: what makes it new",
        text=describe_place(fit, look),
        table=[("Score", "Value", "Rank, cells", "Rank, rows"), *rows],
        caption="Rank: the share of the map's cells, or of the training rows, with a lower score.",
    )


def _columns_of(choice: TableChoice) -> tuple[Knob, ...]:
    """The two columns of a table that are the map's axes."""

    def is_chosen(values: Mapping[str, Any]) -> bool:
        return bool(values["table"] == choice.title)

    return tuple(
        Knob(
            f"{choice.key}_{axis}",
            f"Column {way}",
            "choice",
            default,
            choices=tuple(choice.columns),
            group="data",
            needs=_OF_TABLE,
            when=is_chosen,
            plain=True,
        )
        for axis, way, default in zip("xy", ("across", "upwards"), choice.default, strict=True)
    )


COLUMNS = {choice.key: _columns_of(choice) for choice in TABLES}


def read_settings(values: SimpleNamespace) -> NoveltySettings:
    """The settings for the knobs' values, with the columns of the chosen table."""
    settings = from_values(NoveltySettings, vars(values))
    x, y = (getattr(values, knob.key) for knob in COLUMNS[settings.table])
    return replace(settings, columns=(x, y))


class FitWithMaps(NamedTuple):
    """A fit with the maps that were wanted first; other tails and places need others."""

    fit: NoveltyFit
    maps: NoveltyMaps

    @property
    def plan(self) -> NoveltySettings:
        """The plan of the fit."""
        return self.fit.plan


def _fit(plan: NoveltySettings) -> FitWithMaps:
    """Train the forests and score the map."""
    fit = fit_novelty_maps(plan)
    return FitWithMaps(fit, map_novelty(fit, plan))


def _stored(settings: NoveltySettings) -> FitWithMaps | None:
    fit = OPENING.answer(plan_of(settings), settings)
    return None if fit is None else FitWithMaps(fit, fit.opening)


def _maps_of(first: FitWithMaps, settings: NoveltySettings, keep: Keep) -> NoveltyMaps:
    """Every score over the map, worked out once."""
    fit, maps = first
    key = maps_key(fit, settings)
    if key != (maps.tail, maps.third_at, maps.neighbours):
        maps = keep("novelty-maps", [fit], key, lambda: map_novelty(fit, settings))
    return maps


def _look(first: FitWithMaps, settings: NoveltySettings, keep: Keep) -> NoveltyRun:
    fit = first.fit
    settings = with_fit(settings, fit.plan)
    if fit.opening is not None:
        settings = first_view(settings)
    maps = _maps_of(first, settings, keep)
    view = keep(
        "novelty-view",
        [maps],
        (settings.maps, settings.compared, settings.show),
        lambda: view_novelty(fit, maps, settings),
    )
    look = keep(
        "novelty-look",
        [maps],
        (settings.cell, settings.drawn),
        lambda: LOOK.find(FIRST) if fit.opening is not None else explain_place(fit, maps, settings),
    )
    words = keep("novelty-words", [view], None, lambda: describe_novelty(fit, maps, view))
    return NoveltyRun(settings, fit, maps, view, look, words)


def _pictures(run: NoveltyRun, knobs: Sequence[LiveKnob]) -> dict[str, Section]:
    """The row of maps, with an edge around the place."""
    has_log = any(key in POSITIVE for key in run.settings.maps)
    knobs = [knob for knob in knobs if knob.key != "log" or has_log]
    bar = [knob for knob in knobs if knob.key in ("show", "log")]
    sheet = novelty_sheet(run, look=run.look, bar=bar, knobs=knobs, alt=run.words)
    if not sheet.panels:
        text = "No map is chosen. Choose one under All settings."
        return {"novelty-maps": Section(text=text)}
    lines = (edge_around(run.fit, run.settings.cell),)
    return {"novelty-maps": Section(sheet=replace(sheet, lines=lines))}


def _packed(run: NoveltyRun, keep: Keep) -> dict[str, bytes]:
    """Every score, packed once for the browser."""
    maps = run.maps
    return {"scores": keep("novelty-table", [maps], None, lambda: pack_table(score_table(maps)))}


def _check(fit: NoveltyFit) -> tuple[Claim, ...]:
    """Hold a fit's maps against the paper, with the view that the page opens with."""
    return check_novelty_claims(fit, map_novelty(fit, _VIEW))


def _behind(run: NoveltyRun, keep: Keep) -> list[Work]:
    """The statements, which take longer to check than a slider may."""
    plan = run.fit.plan
    opening = CLAIMS.find(plan)
    label, stored = "The paper's statements", None if opening is None else opening.claims
    return [Work(_CLAIMS, (_CLAIMS, plan), partial(_check, run.fit), label, stored)]


def _join(
    run: NoveltyRun, results: Mapping[str, Any], values: SimpleNamespace, keep: Keep
) -> NoveltyRun:
    fit, maps = run.fit, run.maps
    scores = keep("novelty-scores", [maps], None, lambda: score_maps(fit, maps))
    return run._replace(scores=scores, claims=results.get(_CLAIMS, ()))


def _about(run: NoveltyRun) -> str:
    """What the statements are held against, and with which view where it is not today's."""
    parts = []
    if run.fit.data.in_support is not None:
        parts.append(
            "The paper uses other data, and its out-of-distribution rows lie beyond the range of a "
            "feature. Here they are the map's cells where rows hardly ever lie, gaps included."
        )
    near = maps_key(run.fit, _VIEW)
    if maps_key(run.fit, run.settings) != near:
        third = f", the third feature at {_VIEW.third_at:g}" if run.fit.plan.third else ""
        parts.append(
            f"The checks use z-scores that keep rising and the distance to {near[2]} rows{third}, "
            "whatever the maps show."
        )
    return " ".join(parts)


def _reading(run: NoveltyRun) -> str:
    """What ranks hide, and which scores contradict each other most."""
    words = [
        "Maps, ranks, leaves and places update the picture without retraining.",
        explain_variances(run.fit, run.maps),
    ]
    values = run.maps.of("knowledge")
    half, most = float(np.nanmedian(values)), float(np.nanmax(values))
    drawn = "knowledge" in run.view.keys and run.settings.show == "cells"
    if drawn and half < _NEXT_TO_NOTHING * most:
        words.append(
            f"Knowledge uncertainty is below {digits(half)} ({unit_of(run.fit, 'knowledge')}) in "
            f"half of the cells; its largest value is {digits(most)}. Ranks give that half of the "
            f'cells half of the colours. The map "{OWN_LABEL}" shows sizes on a logarithmic scale.'
        )
    apart = run.view.disagreement
    if APART in run.settings.maps and apart is not None:
        words.append(describe_disagreement(run.fit, apart))
    return " ".join(text for text in words if text)


def _appendix(run: NoveltyRun) -> list[Section]:
    """The place, and its trees."""
    trees = tree_sheet(run.look)
    return [
        place_section(run.fit, run.look),
        Section(heading="Tree by tree", sheet=trees, caption=trees.alt),
    ]


NOVELTY = Single(
    name="novelty",
    question="What makes a place new to the model?",
    lede="Does the model's **novelty** rise where it has seen no rows? Click a place to erase the "
    "rows around it. Which map notices?",
    settings=NoveltySettings,
    read=read_settings,
    label="Forest and leaves",
    fit=_fit,
    stored=_stored,
    wait=1.0,
    look=_look,
    notes=lambda run: [*run.view.notes, *run.look.notes],
    pictures=_pictures,
    packed=_packed,
    followed=(*sliders(NoveltySettings), "third_at", "neighbours", "drawn"),
    behind=_behind,
    slots=(_CLAIMS,),
    join=_join,
    behind_statements=True,
    words=lambda run: run.words,
    claims=lambda run: run.claims,
    about=_about,
    silence=lambda run: f"{_about(run)} The statements are being checked.".strip(),
    appendix=_appendix,
    reading=_reading,
    answer=answer_novelty,
    scores=lambda run: score_section(run.fit, run.scores),
    seeds=STUDY,
    code=lambda run: novelty_code(run.settings),
    tables=lambda run: {
        "Maps": lambda run: novelty_csv(run.fit, run.maps),
        "Rows": lambda run: novelty_rows_csv(run.fit, run.maps),
    },
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
