"""The heart's methods and settings, and what a fit depends on.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4;
forests from appendix C.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from gbuq_core.errors import refusal_of_call
from gbuq_core.experiments import ensembles
from gbuq_core.experiments.heart.data import SIDE, make_painted_heart
from gbuq_core.glossary import VIEWS
from gbuq_core.settings import Codec, arguments, setting

FOREST_DEPTH = 10  # the paper's


METHODS = ensembles.ensemble_methods(
    "regression", ("sgb", "sglb", "virtual_sglb", "vrf", "catboost", "virtual_catboost")
)


MOST_PAINTED = 66  # cells that fit into the text box
_RATES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)


def read_cells(text: str) -> tuple[int, ...]:
    """Cell numbers from row and column digits."""
    pairs = [part for part in text.split(".") if part]
    return tuple(sorted({SIDE * int(pair[0]) + int(pair[1]) for pair in pairs}))


def write_cells(cells: Iterable[int]) -> str:
    """The text of cell numbers."""
    return ".".join(f"{cell // SIDE}{cell % SIDE}" for cell in sorted(set(cells)))


def problem_with_cells(cells: Collection[int]) -> str:
    """One sentence on why these cells cannot be painted; empty if they can."""
    if len(cells) > MOST_PAINTED:
        return f"At most {MOST_PAINTED} cells can be painted. Undo some of them."
    return refusal_of_call(partial(make_painted_heart, 1, cells=cells))


@dataclass(frozen=True, kw_only=True)
class HeartSettings(ensembles.OfEnsembles):
    """Everything that the maps depend on. The defaults are the paper's."""

    known = METHODS

    rows: int = setting(
        1000, "Training rows per cell", group="data", shrink=(0.5, 100),
        choices=(1, 3, 10, 30, 100, 300, 1000, 3000),
    )  # fmt: skip
    noise: float = setting(
        0.01, "Noise variance", group="data", choices=(0.0001, 0.001, 0.003, 0.01, 0.03, 0.1),
        help="In squared units of y. Around the heart it is four times as large.",
    )  # fmt: skip
    # Numbered from 0 row by row. A filled cell loses its rows; an empty one gets some.
    cells: tuple[int, ...] = setting(
        (), "Painted cells", group="data", codec=Codec(read_cells, write_cells),
        pattern=rf"(?:[0-8]{{2}}(?:\.[0-8]{{2}}){{0,{MOST_PAINTED - 1}}})?",
        check=lambda text: problem_with_cells(read_cells(text)),
        help="The row and the column of each cell, separated by dots: 34.35.44 for example.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, arg="random_state",
        help="Sets the cells' means, the noise and the models' random numbers.",
    )  # fmt: skip
    methods: tuple[str, ...] = setting(
        ("sglb", "virtual_sglb"), "Methods, at most three", group="method", most=3, each=True,
        named={method.label: key for key, method in METHODS.items()},
        help="vRF is one random forest whose members are groups of trees. CatBoost trains the same "
        "ensembles with its own code.",
    )  # fmt: skip
    members: int = setting(
        10, of="sglb.n_members", low=2, high=20, step=1, arg="n_members", shrink=(0.5, 5),
        uses=lambda plan: not plan.kind.virtual,
        help="The number of independent models, or of groups of vRF's trees. The members of a "
        "virtual ensemble follow from K.",
    )  # fmt: skip
    trees: int = setting(
        1000, of="sglb.n_trees", arg="n_trees", shrink=(0.5, 200),
        choices=(20, 50, 100, 200, 300, 500, 700, 1000, 1500, 2000),
        help="The trees of each boosted model, and of the whole forest.",
    )  # fmt: skip
    depth: int = ensembles.DEPTH()
    rate: float = setting(
        0.3, "Learning rate, SGLB", of="sglb.learning_rate", choices=_RATES, arg="learning_rate",
        uses=lambda plan: plan.kind.langevin,
    )  # fmt: skip
    rate_sgb: float = setting(
        0.1, "Learning rate, SGB", of="sgb.learning_rate", choices=_RATES, arg="learning_rate",
        uses=lambda plan: plan.kind.boosting == "sgb",
        help="Each SGB tree sees a random half of the rows.",
    )  # fmt: skip
    temperature: str | float = ensembles.TEMPERATURE()
    leaf_noise: bool | None = ensembles.LEAF_NOISE()
    step: int = setting(
        50, of="virtual_sglb.truncation_step", low=5, high=200, step=5, group="picture", brief="K",
        arg="truncation_step", uses=lambda plan: plan.kind.virtual,
    )  # fmt: skip
    start: float = ensembles.START()
    # The first models, or the last truncations
    shown: int | None = setting(
        None, "Members shown", group="picture", brief="Members", kind="ladder",
        named={**{str(n): n for n in (2, 3, 4, 5, 7, 10)}, "all": None},
        help="Uses only this many members. Nothing is retrained.",
    )  # fmt: skip
    unit: str = setting(
        "std", "Uncertainty as", group="picture", brief="As", choices=VIEWS, drawn=True
    )
    log: bool = ensembles.LOG()
    scale: str = ensembles.SCALE(
        help="Shared: all noise maps share one scale, and all knowledge maps another. Own: each "
        "map has its own scale.",
    )  # fmt: skip


def heart_arguments(plan: HeartSettings) -> dict[str, Any]:
    """All arguments of the estimator for settings of one method.

    >>> heart_arguments(HeartSettings(methods=("sglb",), rate=0.2))["learning_rate"]
    0.2
    """
    kind, options = plan.kind, arguments(plan)
    if kind.boosting:
        return kind.builder.arguments({**options, "categorical_features": [0, 1]})
    groups = options.pop("n_members")
    each = max(1, options.pop("n_trees") // groups)
    forest = {"n_groups": groups, "trees_per_group": each, "max_depth": FOREST_DEPTH}
    return kind.builder.arguments({**forest, **options})
