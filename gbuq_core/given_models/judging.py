"""What the trees of a given model say about rows: IBUG, truncations, MACAU's novelty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.boosting.virtual import VirtualEnsemble
from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.given_models.matching import MatchedModel
from gbuq_core.ibug import IBUGRegressor
from gbuq_core.jobs import stage
from gbuq_core.macau import MacauClassifier, MacauRegressor
from gbuq_core.metrics.neighbour_tuning import CANDIDATES
from gbuq_core.presentation import counted
from gbuq_core.uncertainty import Uncertainty, decompose_classification
from gbuq_core.validation import check_number

NEAREST = 5  # neighbours that are named
_TUNING_ROWS = 1000
_NOVELTY_TREES = 100
_FEWEST_ROUNDS = 3  # of which the second half has two truncations
_ONE_VS_ALL = (
    "The model judges each class against all others, so its probabilities do not sum to one. They "
    "are divided by their sum, which keeps the order of a row's classes."
)
_SMALLEST_STD = 1e-6  # of the target's: an equal neighbour must not make a row certain


@dataclass(frozen=True, kw_only=True)
class GivenRows:
    """What is known about n rows."""

    loc: NDArray[np.float64]  # (n,): the model's own prediction; of classes the code in the table
    probabilities: NDArray[np.float64]  # (n, n_classes): the model's own
    # Variances of the target, or nats. The truncations tell knowledge; data is the model's own
    # variance where it predicts one, else the variance of the target among the neighbours. Where
    # there is no ensemble, knowledge is not known, and neither is total: both are NaN.
    uncertainty: Uncertainty
    scale: NDArray[np.float64] | None  # (n,): IBUG's std, in units of the target; None for classes
    # (n, at most 5): the training rows with the highest affinity, best first, as positions among
    # those with a target
    neighbours: NDArray[np.int64] | None
    members: NDArray[np.float64] | None  # (n_members, n, ...): what the truncations predict
    # novelty, conditional_novelty, inference_novelty: (n,): MACAU's, mean z-scores over the trees;
    # inference novelty of random forests only, in whose leaves there are linear models
    novelty: NDArray[np.float64] | None
    conditional_novelty: NDArray[np.float64] | None
    inference_novelty: NDArray[np.float64] | None


class GivenJudge:
    """IBUG, a virtual ensemble and MACAU's novelty on the trees of a model that exists already.

    Trains no tree. The rows that the model was trained on are needed: they are the neighbours, and
    what is novel is far from them.

    >>> import lightgbm
    >>> from gbuq_core.given_models import GivenJudge, match_table, read_model
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"x": rng.uniform(0.0, 1.0, 400)})
    >>> y = X["x"].to_numpy() * (1.0 + 0.5 * rng.normal(size=400))
    >>> booster = lightgbm.train({"verbose": -1, "num_leaves": 8}, lightgbm.Dataset(X, y), 30)
    >>> model = read_model(booster.model_to_string().encode())
    >>> judge = GivenJudge(match_table(model, X, y), X, y)
    >>> quiet, noisy, far = judge.judge(pd.DataFrame({"x": [0.1, 0.9, 3.0]})).scale
    >>> bool(noisy > 3 * quiet)
    True
    >>> novelty = judge.judge(pd.DataFrame({"x": [0.5, 3.0]})).novelty
    >>> bool(novelty[1] > novelty[0] + 3)
    True
    """

    def __init__(
        self,
        matched: MatchedModel,
        X: pd.DataFrame,
        y: NDArray[np.float64],
        n_neighbors: int | None = None,
    ) -> None:
        self.matched = matched
        source, rows = matched.source, matched.rows(X)
        target = np.asarray(y, np.float64)
        if np.isnan(target).any():
            raise InvalidData("y holds NaN: pass the rows that have a target.")
        notices: list[str] = []
        with stage(3.0):
            self._virtual, why_none = self._make_virtual()
            self._ibug: Any = None
            self.n_neighbors_: int | None = None
            if source.task == "regression":
                with stage(1.0, span=1.0):
                    self._ibug = self._fit_ibug(rows, target, n_neighbors)
                self._scale_floor = _SMALLEST_STD * float(np.std(target))
                notices.append(
                    f"IBUG's scale is the std of the target among {self.n_neighbors_} training "
                    "rows. It is not calibrated, since the model has seen all of them."
                )
            else:
                notices.append("IBUG's scale needs a number as the target, so it is left out.")
            with stage(1.0, span=2.0):
                self._macau = self._fit_macau(rows, target, notices)
        # The trees of a forest are an ensemble whose members MACAU's leaf models predict.
        is_ensemble = source.is_forest and source.task == "regression" and source.n_trees > 1
        self._asks_macau = self._macau is not None and is_ensemble
        if source.plain.link == "sigmoids":
            notices.insert(0, _ONE_VS_ALL)
        # Which number is what, and which method does not go with this model and why.
        self.notices = (self._knowledge_notice(why_none), *notices)

    def judge(self, X: pd.DataFrame) -> GivenRows:
        """What the model's trees say about rows with the columns of the training rows."""
        rows, source = self.matched.rows(X), self.matched.source
        members = None if self._virtual is None else self._virtual.predict_members(rows)
        scale = neighbours = novelty = None
        if self._ibug is not None:
            neighborhood = self._ibug.find_neighborhood(rows)
            distribution = self._ibug.predict_distribution(neighborhood)
            scale = np.maximum(distribution.scale, self._scale_floor)
            nearest = min(NEAREST, self.n_neighbors_ or NEAREST)
            neighbours = self._ibug.kneighbors(neighborhood, nearest).indices.astype(np.int64)
        if self._macau is not None:
            novelty = self._macau.score_novelty(rows)
        if source.task == "classification":
            order = list(self.matched.order)
            chances = self._probabilities(rows)[:, order]
            members = None if members is None else members[:, :, order]
            loc = chances.argmax(axis=1).astype(np.float64)
            parts = decompose_classification(chances[None] if members is None else members)
            if members is None:
                parts = _without_knowledge(parts.data)
        else:
            assert scale is not None
            loc, chances = source.predict(rows), np.empty((len(rows), 0))
            parts = self._of_regression(rows, members, scale)
        return GivenRows(
            loc=loc,
            probabilities=chances,
            uncertainty=parts,
            scale=scale,
            neighbours=neighbours,
            members=members,
            novelty=None if novelty is None else novelty.novelty,
            conditional_novelty=None if novelty is None else novelty.conditional_novelty,
            inference_novelty=novelty.inference_novelty if novelty and self._infers else None,
        )

    def explain_novelty(self, X: pd.DataFrame) -> NDArray[np.float64] | None:
        """How much each of the model's columns adds to a row's novelty, (n, n_features) shares."""
        if self._macau is None:
            return None
        return self._macau.explain_novelty(self.matched.rows(X), normalize=True)

    def _of_regression(
        self, rows: NDArray[np.float64], members: Any, scale: NDArray[np.float64]
    ) -> Uncertainty:
        source, data = self.matched.source, scale**2
        if source.plain.link == "gaussian":
            own = source.predict_outputs(rows)[None] if members is None else members
            data = own[..., 1].mean(axis=0)
        if members is not None:
            knowledge = members[..., 0].var(axis=0)
        elif self._asks_macau:
            knowledge = self._macau.predict_uncertainty(rows).knowledge
        else:
            return _without_knowledge(data)
        return Uncertainty(data + knowledge, data, knowledge)

    def _probabilities(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The model's own, of one choice among the classes."""
        chances = self.matched.source.predict_proba(rows)
        if self.matched.source.plain.link != "sigmoids":
            return chances
        floored = np.maximum(chances, np.finfo(np.float64).tiny)
        return floored / floored.sum(axis=1, keepdims=True)

    def _make_virtual(self) -> tuple[VirtualEnsemble | None, str]:
        """The truncations, or why there are none."""
        source = self.matched.source
        try:
            source.refuse_stages()
        except InvalidParameter as error:
            return None, str(error)
        if source.n_iterations < _FEWEST_ROUNDS:
            rounds = counted(source.n_iterations, "boosting round")
            return None, (
                f"The model has {rounds}, and truncations that can disagree need at least "
                f"{_FEWEST_ROUNDS}."
            )
        return VirtualEnsemble(source), ""

    def _knowledge_notice(self, why_none: str) -> str:
        """Where knowledge uncertainty comes from, or that it is empty and why."""
        source = self.matched.source
        is_number = source.task == "regression"
        data = ""
        if source.plain.link == "gaussian":
            data = ", and data uncertainty is the variance that the model predicts"
        elif is_number:
            data = ", and data uncertainty is the square of IBUG's scale"
        if self._virtual is not None:
            n_members = len(self._virtual.member_trees())
            return (
                f"Knowledge uncertainty is how much {n_members} truncations of the model "
                f"disagree{data}."
            )
        if self._asks_macau:
            return (
                "Knowledge uncertainty is the variance of what MACAU's models in the leaves of "
                f"each tree predict, because a random forest has no truncations{data}."
            )
        width = ", and intervals are as wide as data uncertainty alone makes them"
        return (
            "There is no ensemble whose members could disagree, so the columns of knowledge and "
            f"total uncertainty are empty{width if is_number else ''}. {why_none}"
        )

    def _fit_ibug(
        self, rows: NDArray[np.float64], y: NDArray[np.float64], n_neighbors: int | None
    ) -> IBUGRegressor:
        if n_neighbors is not None:
            check_number("n_neighbors", n_neighbors, 2, len(y), integer=True)
        most = max(2, min(max(CANDIDATES), len(y) - 1))
        make = partial(IBUGRegressor, self.matched.source, calibrate=False, random_state=0)
        model = make(n_neighbors=n_neighbors or most).fit(rows, y)
        if n_neighbors is None:
            model = make(n_neighbors=_choose_k(model, rows, y, most)).fit(rows, y)
        self.n_neighbors_ = int(model.n_neighbors_)
        return model

    def _fit_macau(
        self, rows: NDArray[np.float64], y: NDArray[np.float64], notices: list[str]
    ) -> Any:
        source = self.matched.source
        if source.has_categories:
            notices.append(
                "MACAU's novelty reads numbers only, and the model splits by categories."
            )
            return None
        is_class = source.task == "classification"
        kind = MacauClassifier if is_class else MacauRegressor
        self._infers = source.is_forest and not is_class
        leaf_model = "linear" if self._infers else "basic"
        forest = source.as_forest(_NOVELTY_TREES)
        model = kind(leaf_model=leaf_model, base_model=forest, random_state=0)
        try:
            model.fit(rows, y.astype(np.int64) if is_class else y)
        except GbuqError as error:
            notices.append(f"MACAU's novelty is left out. {error}")
            return None
        notices.append(
            f"Novelty is the distance to the training rows of a row's leaves in "
            f"{counted(forest.n_trees, 'tree')} of the model."
        )
        return model


def _without_knowledge(data: NDArray[np.float64]) -> Uncertainty:
    """What is left where no ensemble tells knowledge: NaN is not known."""
    unknown = np.full_like(data, np.nan)
    return Uncertainty(total=unknown, data=data, knowledge=unknown.copy())


def _choose_k(
    model: IBUGRegressor, rows: NDArray[np.float64], y: NDArray[np.float64], most: int
) -> int:
    """The candidate at which neighbours predict the targets of left-out rows best."""
    chosen = np.unique(np.linspace(0, len(y) - 1, min(_TUNING_ROWS, len(y))).astype(np.int64))
    nearest = model.kneighbors(rows[chosen], most).indices
    is_self = nearest == chosen[:, None]
    is_self[~is_self.any(axis=1), -1] = True  # a tie has put it behind the last one
    others = y[nearest[~is_self].reshape(len(chosen), -1)]
    floor = _SMALLEST_STD * float(np.std(y))
    scores = {}
    for k in [k for k in CANDIDATES if k <= others.shape[1]] or [others.shape[1]]:
        part = others[:, :k]
        std = np.maximum(part.std(axis=1), floor)
        z = (y[chosen] - part.mean(axis=1)) / std
        scores[k] = float(np.mean(np.log(std) + 0.5 * z**2))
    return max(2, min(scores, key=lambda k: scores[k]))
