"""One function that reads whatever an estimator's ``save`` has written."""

from __future__ import annotations

from typing import Any

from gbuq_core.baselines.saving import KINDS as BASELINES
from gbuq_core.baselines.saving import build_baseline
from gbuq_core.boosting.saving import build_ensemble
from gbuq_core.boosting.saving_virtual import KINDS as VIRTUAL
from gbuq_core.boosting.saving_virtual import build_virtual
from gbuq_core.calibration.saving import KINDS as CALIBRATED
from gbuq_core.calibration.saving import build_calibrated
from gbuq_core.errors import ModelFileError, UntrustedModel
from gbuq_core.ibug.saving import KINDS as IBUG
from gbuq_core.ibug.saving import build_ibug
from gbuq_core.macau.saving import KINDS as MACAU
from gbuq_core.macau.saving import build_macau
from gbuq_core.model_files.archive import read_archive
from gbuq_core.model_files.contents import errors_as_damage, read_bytes, require
from gbuq_core.soft_trees.saving import KINDS as SOFT_TREES
from gbuq_core.soft_trees.saving import build_soft_trees
from gbuq_core.unfamiliarity.saving import KINDS as UNFAMILIARITY
from gbuq_core.unfamiliarity.saving import build_unfamiliarity

_BUILDERS = {
    **dict.fromkeys(("regressor", "classifier"), build_ensemble),
    **dict.fromkeys(MACAU, build_macau),
    **dict.fromkeys(SOFT_TREES, build_soft_trees),
    **dict.fromkeys(VIRTUAL, build_virtual),
}
# Estimators whose files hold files of others.
_BUILDERS_AROUND = {
    **dict.fromkeys(CALIBRATED, build_calibrated),
    **dict.fromkeys(IBUG, build_ibug),
    **dict.fromkeys(BASELINES, build_baseline),
    **dict.fromkeys(UNFAMILIARITY, build_unfamiliarity),
}
_DEEPEST = 4  # files within files


def load(source: Any, *, trust: bool = True) -> Any:
    """Read a fitted estimator that its ``save`` has written.

    Parameters
    ----------
    source : path, bytes or binary file
        Nothing in it is ever executed or unpickled. Files with models of CatBoost inside only from
        sources you trust: CatBoost parses them itself.
    trust : bool
        Whether models of CatBoost are read. If False, a file that holds one is refused.

    Returns
    -------
    estimator
        Of the class that was saved, with the same predictions, bit for bit. A `VirtualEnsemble`
        holds its library's plain booster, and so does an `IBUGRegressor` with LightGBM.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, foreign, or written by a newer version.
    UntrustedModel
        If it holds a model of CatBoost, and ``trust`` is False.
    MemoryLimitExceeded
        If it does not fit into the free memory.
    MissingPackage
        If the file needs a package that is not installed, such as CatBoost.

    Examples
    --------
    >>> import io
    >>> from gbuq_core import VariationalSoftTreeRegressor, load
    >>> X = [[0.0], [1.0], [2.0]]
    >>> model = VariationalSoftTreeRegressor(depth=1, n_steps=50, random_state=0)
    >>> model = model.fit(X, [0.0, 1.0, 4.0])
    >>> file = io.BytesIO()
    >>> model.save(file)
    >>> bool((load(file.getvalue()).predict(X) == model.predict(X)).all())
    True
    """
    content = read_bytes(source)
    with errors_as_damage():
        return _read(content, 0, trust)


def _read(content: bytes, depth: int, trust: bool) -> Any:
    """The estimator of a file that lies ``depth`` files deep in another."""
    header, arrays = read_archive(content)
    if not trust and _is_catboost(header):
        raise UntrustedModel(
            "The model file holds a model of CatBoost, which is only read from files that you "
            "trust: pass trust=True if you know who made it."
        )
    kind = header["kind"]
    if kind in _BUILDERS:
        return _BUILDERS[kind](header, arrays)
    if kind not in _BUILDERS_AROUND:
        raise ModelFileError(
            f"The model file holds a {kind!r}, probably from a newer version: update gbuq."
        )
    nests = depth < _DEEPEST and not (depth and kind in CALIBRATED)
    require(nests, "its files lie too deep in each other")
    return _BUILDERS_AROUND[kind](header, arrays, lambda inner: _read(inner, depth + 1, trust))


def _is_catboost(part: Any) -> bool:
    """Whether a header says anywhere that CatBoost is to read an array."""
    if isinstance(part, dict):
        named = any(part.get(key) == "catboost" for key in ("engine", "library"))
        return named or any(map(_is_catboost, part.values()))
    return isinstance(part, list) and any(map(_is_catboost, part))
