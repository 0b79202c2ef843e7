"""Boosting that predicts a normal for each row: NGBoost and CatBoost."""

from __future__ import annotations

import re
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.interval_regressor import IntervalParts, IntervalRegressor
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.jobs import effective_n_jobs, tick
from gbuq_core.knobs import check_within
from gbuq_core.lazy import import_optional
from gbuq_core.methods import METHODS
from gbuq_core.methods.forests import FOREST_KNOBS
from gbuq_core.model_files.contents import require
from gbuq_core.trees.importers import leaf_source
from gbuq_core.validation import check_number

_LARGEST_RATE = 0.3


class _BoostedNormal(IntervalRegressor):
    """What both share: the learning rate, and a target that has to vary."""

    n_trees: int
    subsample: float
    learning_rate: float | None
    _trees_times_rate: float

    learning_rate_: float

    def _check_parameters(self) -> None:
        check_within(FOREST_KNOBS[0], self.n_trees)
        check_number("subsample", self.subsample, 0.0, 1.0, low_open=True)
        if self.learning_rate is None:
            self.learning_rate_ = min(_LARGEST_RATE, self._trees_times_rate / self.n_trees)
        else:
            rate = check_number("learning_rate", self.learning_rate, 0.0, 1.0, low_open=True)
            self.learning_rate_ = float(rate)

    def _check_target(self, y: FloatArray, name: str) -> None:
        if y.min() == y.max():
            raise InvalidData(f"y has only one value, but {name} needs a target that varies.")
        tick(0)


class NGBoostRegressor(_BoostedNormal):
    """Natural gradient boosting of a normal's mean and log std, by the package ngboost.

    All of its uncertainty counts as data uncertainty.

    Parameters
    ----------
    n_trees : int
        Boosting iterations, one tree of depth 3 for each of the two parameters.
    subsample : float
        Share of the rows that each iteration sees.
    learning_rate : float or None
        None divides the library's own product of rate and trees, 0.01 x 500, by ``n_trees``, up to
        0.3. A rate of 0.01 with 100 trees leaves the std near its start, far too wide.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    model_ : ngboost.NGBRegressor
        On the standardised target.
    learning_rate_, fit_seconds_ : float

    References
    ----------
    Duan et al. (2020); MACAU, section 4 and table 1.

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heteroscedastic
    >>> data = make_heteroscedastic(300, random_state=0)
    >>> model = NGBoostRegressor(n_trees=20, random_state=0).fit(data.X, data.y)
    >>> quiet, noisy = model.predict_distribution([[1.0], [9.0]]).scale
    >>> bool(noisy > quiet)
    True
    """

    _reads_gaps = False
    _name = "NGBoost"
    _trees_times_rate = 5.0

    model_: Annotated[Any, "ngboost.NGBRegressor"]

    def check_file(self) -> None:
        """Refuse trees of other columns."""
        super().check_file()
        require(self.model_.n_features == self.n_features_in_, "its trees have other columns")

    def __init__(
        self,
        n_trees: int = 100,
        subsample: float = 1.0,
        learning_rate: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.subsample = subsample
        self.learning_rate = learning_rate
        self.random_state = random_state

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        library = import_optional("ngboost")
        self._check_target(y, "NGBoost")
        if self.subsample * len(y) < 2.0:
            raise InvalidData(
                f"A share of {self.subsample:g} of {len(y)} rows is fewer than 2: pass more rows "
                "or raise subsample."
            )
        # The library's own trees have no seed, and columns that split equally well are drawn.
        tree = clone(library.learners.default_tree_learner).set_params(random_state=self.seed_)
        model = library.NGBRegressor(
            Base=tree,
            n_estimators=int(self.n_trees),
            learning_rate=self.learning_rate_,
            minibatch_frac=float(self.subsample),
            random_state=self.seed_,
            verbose=False,
        )
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                self.model_ = model.fit(X, y)
        except ValueError as error:  # NaN, or a LinAlgError: the rows themselves were checked
            raise InvalidData(
                "NGBoost's std fell to 0 on these rows, so it cannot take its next step: use "
                "fewer trees or a lower learning_rate."
            ) from error

    def _parts(self, X: FloatArray) -> IntervalParts:
        law = self.model_.pred_dist(X)
        loc, scale = np.asarray(law.loc, np.float64), np.asarray(law.scale, np.float64)
        return IntervalParts(loc, scale * scale, np.zeros(len(X)))


class CatBoostUncertaintyRegressor(_BoostedNormal):
    """CatBoost's ``RMSEWithUncertainty``: a normal for each row and a virtual ensemble.

    ``loc`` is the whole model's mean. CatBoost truncates this one model at several trees to get a
    virtual ensemble. The mean of its variances is data uncertainty; the variance of its means is
    knowledge uncertainty.

    Parameters
    ----------
    n_trees : int
    depth : int
        The paper's 3.
    subsample : float
        Share of the rows that each tree sees.
    learning_rate : float or None
        None divides the library's own product of rate and trees, 0.03 x 1000, by ``n_trees``, up to
        0.3. A rate of 0.03 with 100 trees leaves the model far from trained.
    n_members : int
        Members of the virtual ensemble: truncations in the second half of the trees.
    standardize_target : bool
        False leaves y as it is, as the plain library does. The result then depends on the unit of
        y.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None

    Attributes
    ----------
    model_ : catboost.CatBoostRegressor
    learning_rate_, fit_seconds_ : float

    References
    ----------
    Malinin et al. (2021); MACAU, section 4 and table 1 ("CatBoost").

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heteroscedastic
    >>> data = make_heteroscedastic(300, random_state=0)
    >>> model = CatBoostUncertaintyRegressor(n_trees=50, random_state=0).fit(data.X, data.y)
    >>> total, noise, knowledge = model.predict_uncertainty([[1.0], [9.0]])
    >>> bool(noise[1] > noise[0]), bool((knowledge < noise).all())
    (True, True)
    """

    _name = "CatBoost"
    _trees_times_rate = 30.0

    model_: Annotated[Any, "catboost.CatBoostRegressor"]

    def check_file(self) -> None:
        """Refuse a model without a std, or of other columns."""
        super().check_file()
        source = leaf_source(self.model_)
        require(source.n_features == self.n_features_in_, "its model has other columns")
        require(source.n_iterations >= 2 * self.n_members, "its model has too few trees")
        has_std = len(self.model_.get_leaf_values()) == 2 * int(source.leaf_counts.sum())
        require(has_std, "its model predicts no std")

    def __init__(
        self,
        n_trees: int = 100,
        depth: int = 3,
        subsample: float = 0.8,
        learning_rate: float | None = None,
        n_members: int = 10,
        standardize_target: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.depth = depth
        self.subsample = subsample
        self.learning_rate = learning_rate
        self.n_members = n_members
        self.standardize_target = standardize_target
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _standardizes(self) -> bool:  # type: ignore[override]
        return bool(self.standardize_target)

    def predict_knowledge(self, X: Any) -> FloatArray:
        """Variance of the virtual members' means, (n_samples,), in squared units of y."""
        return self.predict_uncertainty(X).knowledge

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("depth", "n_members"):
            check_within(METHODS["catboost"].knob(name), getattr(self, name))
        if self.n_trees < 2 * self.n_members:
            raise InvalidParameter(
                f"n_members = {self.n_members} needs at least {2 * self.n_members} trees; got "
                f"n_trees = {self.n_trees}."
            )
        if not isinstance(self.standardize_target, bool | np.bool_):
            raise InvalidParameter(
                f"standardize_target must be True or False; got {self.standardize_target!r}."
            )

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        catboost = import_optional("catboost")
        self._check_target(y, "CatBoost")
        # A share of all rows is no sampling to CatBoost.
        sampling: dict[str, Any] = {"bootstrap_type": "No"}
        if self.subsample < 1.0:
            sampling = {"bootstrap_type": "Bernoulli", "subsample": float(self.subsample)}
        model = catboost.CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            iterations=int(self.n_trees),
            depth=int(self.depth),
            learning_rate=self.learning_rate_,
            random_seed=self.seed_,
            thread_count=effective_n_jobs(self.n_jobs),
            verbose=False,
            allow_writing_files=False,
            **sampling,
        )
        try:
            self.model_ = model.fit(X, y)
        except catboost.CatBoostError as error:
            reason = re.sub(r"^.*?\.cpp:\d+:\s*", "", str(error)).strip().rstrip(".")
            raise InvalidData(f"CatBoost cannot be fitted to these rows: {reason}.") from error

    def _parts(self, X: FloatArray) -> IntervalParts:
        _, knowledge, data = self.model_.virtual_ensembles_predict(
            X,
            prediction_type="TotalUncertainty",
            virtual_ensembles_count=int(self.n_members),
            thread_count=effective_n_jobs(self.n_jobs),
        ).T
        return IntervalParts(self._loc(X), data, np.maximum(knowledge, 0.0))

    def _loc(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.model_.predict(X), dtype=np.float64)[:, 0]
