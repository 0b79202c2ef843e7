"""Novelty maps as a page and a download find them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gbuq_core.experiments.experiment import Account
from gbuq_core.experiments.novelty.claims import STUDY
from gbuq_core.experiments.novelty.data import SIDE, load_novelty_data
from gbuq_core.experiments.novelty.edits import encode_edits
from gbuq_core.experiments.novelty.fit import NoveltyFit, NoveltyMaps, ranks_of, unit_of
from gbuq_core.experiments.novelty.look import PlaceLook
from gbuq_core.experiments.novelty.plan import (
    NoveltySettings,
    forest_of,
    novelty_arguments,
    plan_data,
)
from gbuq_core.experiments.novelty.scores import MapScore, answer_novelty, describe_place
from gbuq_core.experiments.python_text import call_lines, import_lines
from gbuq_core.figures.standalone import Section
from gbuq_core.methods import METHODS
from gbuq_core.presentation import csv_text, digits, megabytes, percent
from gbuq_core.settings import plan_of

_DATA = """\
from gbuq_core.experiments.novelty.data import load_novelty_data
from gbuq_core.experiments.novelty.edits import apply_edits
from gbuq_core.experiments.novelty.edits import decode_edits

data = load_novelty_data({arguments})
edits = decode_edits({edits!r})
rows = apply_edits(data, edits, seed={seed})
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
    given = {**novelty_arguments(plan, task), "tail": settings.tail}
    (row, column), (x, y) = settings.cell, data.axes
    place = [float(x[column]), float(y[row])] + ([settings.third_at] if plan.third else [])
    seed, k = plan.seed, settings.neighbours
    lines += [
        "",
        *call_lines(f"model = {forest}", given)[:-1],
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
    if plan.edits or plan.third or plan.data not in _NOISE:
        own = ("table", "columns") if plan.data == "table" else ("rows", "noise")
        given = {name: getattr(plan, name) for name in (*own, "seed")}
        given["third"] = plan.third or None
        named = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        arguments = ", ".join([repr(plan.data), *named])
        edits = encode_edits(plan.edits)
        return _DATA.format(arguments=arguments, edits=edits, seed=plan.seed)
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
    """One line a training row, as edited: where it came from, features, target and its scores.

    ``row`` is its number from 1 before any edit, empty for one that was added.
    """
    data, rows = fit.data, fit.rows
    names = ["row", *data.feature_names, data.target_name, *(_column(key) for key in maps.keys)]
    origin = np.where(rows.origin >= 0, rows.origin + 1.0, np.nan)
    target: Sequence[object] = rows.y.tolist()
    if data.classes:
        target = [data.classes[int(label)] for label in rows.y]
    columns = [origin, *rows.X.T, target, *maps.rows]
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
        ("AUROC, crossings", [digits(one.auroc_crossings) for one in scores]),
        ("AUROC, all", [digits(one.auroc) for one in scores]),
        ("Rank correlation", [digits(one.rank_correlation) for one in scores]),
        ("Seconds", [digits(one.seconds) for one in scores]),
        ("Megabytes", [megabytes(one.memory_bytes) for one in scores]),
    ]
    told = [(name, texts) for name, texts in columns if set(texts) != {"\u2013"}]
    lines = zip([one.label for one in scores], *(texts for _, texts in told), strict=True)
    table = [("Score", *(name for name, _ in told)), *lines]
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
        "Spearman's, with minus the log of the true density; an edit "
        f"changes that density, so there is none then. {cost}"
    )


def place_section(fit: NoveltyFit, look: PlaceLook) -> Section:
    """Every score at a place."""
    rows = [
        (
            one.label if (unit := unit_of(fit, one.key)) == "score" else f"{one.label} ({unit})",
            digits(one.value),
            percent(one.rank_cells / 100, 0),
            percent(one.rank_rows / 100, 0),
        )
        for one in look.values
    ]
    return Section(
        heading=f"At {look.title}: what makes it new",
        text=describe_place(fit, look),
        table=[("Score", "Value", "Rank, cells", "Rank, rows"), *rows],
        caption="Rank: the share of the map's cells, or of the training rows, with a lower score.",
    )


NOVELTY = Account(
    name="novelty",
    question="What makes a place new to the model?",
    lede="Does the model's **novelty** rise where it has seen no rows? Click a place, guess what "
    "the map will do, and erase the rows there.",
    settings=NoveltySettings,
    answer=answer_novelty,
    scores=lambda run: score_section(run.fit, run.scores),
    study=STUDY,
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
