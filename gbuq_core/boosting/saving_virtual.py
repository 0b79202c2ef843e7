"""Virtual ensembles of other libraries' models to a file and back.

The model is held as its own library writes it: CatBoost's cbm, LightGBM's text, XGBoost's UBJ. The
importers check and read it, as any model file. scikit-learn's regressions are held node by node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gbuq_core.boosting.virtual import VirtualEnsemble
from gbuq_core.errors import InvalidParameter
from gbuq_core.model_files.archive import write_archive
from gbuq_core.model_files.contents import (
    describe_classes,
    pack,
    read_classes,
    require,
    unpack,
    whole,
    write_bytes,
)
from gbuq_core.model_files.library_models import model_bytes
from gbuq_core.model_files.sklearn_models import build_sklearn, describe_sklearn
from gbuq_core.trees.importers import leaf_source, load_leaf_source
from gbuq_core.trees.importers.finding import FILE_KINDS
from gbuq_core.trees.importers.source import TASKS

KINDS: dict[str, Any] = {"VirtualEnsemble": VirtualEnsemble}


def save_virtual(ensemble: VirtualEnsemble, target: Any) -> None:
    """Write a virtual ensemble; what `VirtualEnsemble.save` does.

    Raises
    ------
    InvalidParameter
        If the model has no file format that can be read without pickle.
    """
    if type(ensemble) is not VirtualEnsemble:
        raise InvalidParameter(f"A {type(ensemble).__name__} is of another class than gbuq's own.")
    source = ensemble._source
    described: dict[str, Any] = {}
    if source.kind == "sklearn" and source.task == "regression":
        described, arrays = describe_sklearn(source.model)
        described["class"] = type(source.model).__name__
    else:
        arrays = pack("model", model_bytes(source))
    step = ensemble.step
    header: dict[str, Any] = {
        "kind": "VirtualEnsemble",
        "library": source.kind,
        "task": source.task,
        "n_trees": ensemble.n_trees_,
        "step": None if step is None else int(step),
        "start": float(ensemble.start),
        **described,
    }
    if source.task == "classification":
        header["classes"] = describe_classes(ensemble.classes_)
    write_bytes(write_archive(header, arrays), target)


def build_virtual(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> VirtualEnsemble:
    """The virtual ensemble that a file describes; its model is the library's plain booster.

    scikit-learn's is the estimator that it was.

    Raises
    ------
    ModelFileError
        If the model cannot be read, or is not what the header says.
    """
    library, task, step, start = (header[name] for name in ("library", "task", "step", "start"))
    known = (
        library in (*FILE_KINDS, "sklearn")
        and task in TASKS
        and (step is None or type(step) is int)
    )
    require(known and type(start) is float, "its header is odd")
    if library == "sklearn":
        require(task == "regression", "its model is of an unknown kind")
        source = leaf_source(build_sklearn(header["class"], header, arrays))
    else:
        source = load_leaf_source(unpack(arrays, "model"), library, task)
    ensemble = VirtualEnsemble(source, step, start)
    require(ensemble.n_trees_ == whole(header["n_trees"]), "its model has other trees")
    ensemble.model = source.model
    if task == "classification":
        classes = read_classes(header["classes"])
        require(len(classes) == len(ensemble.classes_), "its model has other classes")
        ensemble.classes_ = classes
    return ensemble
