"""Methods whose members are models, truncations or groups of trees, as their records declare them.

Heart and Spiral show these methods. What they need to know besides a method's name follows from
the arguments that its record fixes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from gbuq_core.methods import METHODS, Builder, Method
from gbuq_core.settings import setting

SCALES = ("shared", "own")
# Settings of both. The words of a link for the temperature and the noise in leaves stand beside
# what estimators call them.
DEPTH = partial(
    setting, 6, of="sglb.depth", high=8, step=1, arg="depth",
    uses=lambda plan: bool(plan.kind.boosting),
)  # fmt: skip
TEMPERATURE = partial(
    setting, "catboost", of="sglb.temperature", arg="temperature",
    uses=lambda plan: plan.kind.langevin,
    named={
        "posterior": "posterior",
        **{str(n): float(n) for n in (10, 100, 1000, 10000)},
        "catboost": "catboost",
    },
)  # fmt: skip
LEAF_NOISE = partial(
    setting, None, of="sglb.leaf_noise", arg="leaf_noise",
    named={"automatic": None, "on": True, "off": False},
    uses=lambda plan: plan.kind.langevin and plan.kind.engine == "numba",
)  # fmt: skip
START = partial(
    setting, 0.5, of="virtual_sglb.truncation_start", high=0.9, step=0.05, group="picture",
    brief="Start", arg="truncation_start", uses=lambda plan: plan.kind.cut,
)  # fmt: skip
LOG = partial(
    setting, True, "Logarithmic colours for knowledge", group="picture", brief="Log KU", drawn=True,
    kinds=("knowledge",),
)  # fmt: skip
SCALE = partial(
    setting, "shared", "Colour scales", group="picture", brief="Scales", choices=SCALES, drawn=True
)


class EnsembleMethod(NamedTuple):
    """A method's record, and how its ensemble is built for one task."""

    record: Method
    builder: Builder

    @property
    def label(self) -> str:
        """Its name for people; links use it too."""
        return self.record.label

    @property
    def boosting(self) -> str:
        """The boosting method: "sgb", "sglb", "csglb" or "cbsglb"; empty for a forest."""
        return str(self.builder.fixed.get("method", ""))

    @property
    def cyclical(self) -> bool:
        """Whether its members come from the ends of cycles."""
        return self.boosting in ("csglb", "cbsglb")

    @property
    def virtual(self) -> bool:
        """Whether it trains one model, and cuts it to get the members."""
        return self.cyclical or self.builder.fixed.get("ensemble") == "virtual"

    @property
    def cut(self) -> bool:
        """Whether truncations of its one model are the members."""
        return self.virtual and not self.cyclical

    @property
    def langevin(self) -> bool:
        """Whether it trains with Langevin noise, so that the temperature matters."""
        return self.boosting not in ("", "sgb")

    @property
    def engine(self) -> str:
        """Whose code trains it: "numba" or "catboost"."""
        return str(self.builder.fixed.get("engine", "numba"))

    def make(self, arguments: Mapping[str, Any]) -> Any:
        """Its estimator, not fitted."""
        return self.builder.make(**arguments)

    def describe(self, n_members: int, n_trees: int) -> str:
        """Its name with what its members are."""
        members = f"{n_members} models of {n_trees:,} trees"
        if self.virtual:
            members = f"{n_members} truncations of one model of {n_trees:,} trees"
        elif not self.boosting:
            members = f"one forest of {n_trees:,} trees in {n_members} groups"
        return f"{self.label} ({members})"


def ensemble_methods(task: str, keys: Sequence[str]) -> Mapping[str, EnsembleMethod]:
    """The methods of these keys, in this order.

    >>> methods = ensemble_methods("regression", ("sglb", "catboost", "vrf"))
    >>> [(each.label, each.boosting, each.engine) for each in methods.values()]
    [('SGLB', 'sglb', 'numba'), ('CatBoost', 'sglb', 'catboost'), ('vRF', '', 'numba')]
    """
    methods = {}
    for key in keys:
        record = METHODS[key]
        own = task == "regression" and "ensemble" in record.builders
        methods[key] = EnsembleMethod(record, record.builder("ensemble" if own else task))
    return MappingProxyType(methods)


class OfEnsembles:
    """Settings of several methods, or of one as a fit's key."""

    known: ClassVar[Mapping[str, EnsembleMethod]]
    methods: tuple[str, ...]

    @property
    def method(self) -> str:
        """The first method, the only one of a fit's key."""
        return self.methods[0]

    @property
    def kind(self) -> EnsembleMethod:
        """What that method is."""
        return self.known[self.method]
