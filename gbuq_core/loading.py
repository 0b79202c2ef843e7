"""One function that reads whatever an estimator's ``save`` has written."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.boosting.saving import build_ensemble
from gbuq_core.boosting.saving_virtual import KINDS as VIRTUAL
from gbuq_core.boosting.saving_virtual import build_virtual
from gbuq_core.calibration.saving import KINDS as CALIBRATED
from gbuq_core.calibration.saving import build_calibrated
from gbuq_core.errors import ModelFileError
from gbuq_core.macau.saving import KINDS as MACAU
from gbuq_core.macau.saving import build_macau
from gbuq_core.model_files.archive import read_archive
from gbuq_core.model_files.contents import errors_as_damage, read_bytes
from gbuq_core.soft_trees.saving import KINDS as SOFT_TREES
from gbuq_core.soft_trees.saving import build_soft_trees

_BUILDERS = {
    **dict.fromkeys(("regressor", "classifier"), build_ensemble),
    **dict.fromkeys(MACAU, build_macau),
    **dict.fromkeys(SOFT_TREES, build_soft_trees),
    **dict.fromkeys(VIRTUAL, build_virtual),
}


def load(source: Any) -> Any:
    """Read a fitted estimator that its ``save`` has written.

    `IBUGRegressor` and the baselines have no ``save``.

    Parameters
    ----------
    source : path, bytes or binary file
        Nothing in it is ever executed or unpickled. Files with models of CatBoost inside only from
        sources you trust: CatBoost parses them itself.

    Returns
    -------
    estimator
        Of the class that was saved, with the same predictions, bit for bit. A `VirtualEnsemble`
        holds its library's plain booster.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, foreign, or written by a newer version.
    MemoryLimitExceeded
        If it does not fit into the free memory.

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
    header, arrays = read_archive(read_bytes(source))
    with errors_as_damage():
        if header["kind"] in CALIBRATED:
            return build_calibrated(header, arrays, _load_inner)
        return _build(header, arrays)


def _load_inner(content: bytes) -> Any:
    """The estimator within a file; one within that is not built, so files do not nest deeper."""
    return _build(*read_archive(content))


def _build(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    build = _BUILDERS.get(header["kind"])
    if build is None:
        raise ModelFileError(
            f"The model file holds a {header['kind']!r}, probably from a newer version: update "
            "gbuq."
        )
    return build(header, arrays)
