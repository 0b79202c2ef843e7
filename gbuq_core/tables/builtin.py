"""Real tables that come with scikit-learn, so that the page works before anybody has a file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.tables.files import Table, table_from_columns
from gbuq_core.tables.schema import Schema, edit_schema, infer_schema
from gbuq_core.validation import check_choice


class BuiltinTable(NamedTuple):
    """A built-in table: its key, and what the page says about it."""

    key: str
    title: str
    description: str
    target: str
    task: str


BUILTIN_TABLES = (
    BuiltinTable(
        "diabetes",
        "Diabetes",
        "442 patients: age, sex, body mass index, blood pressure and six blood values, and a "
        "measure of how far the disease progressed within a year (Efron et al., 2004).",
        "disease progression",
        "regression",
    ),
    BuiltinTable(
        "wine",
        "Wine",
        "178 Italian wines of three cultivars and 13 chemical measurements (Forina et al., 1991).",
        "cultivar",
        "classification",
    ),
    BuiltinTable(
        "breast_cancer",
        "Breast cancer",
        "569 tumours: 30 measurements of cell nuclei in an image, and the diagnosis (Wolberg, "
        "Street and Mangasarian, 1995).",
        "diagnosis",
        "classification",
    ),
)

# Units only where the source or the definition gives them; sex is coded 1 and 2 there.
_DIABETES_COLUMNS = {
    "age": "age (years)",
    "sex": "sex",
    "bmi": "body mass index (kg/m\u00b2)",
    "bp": "average blood pressure (mm Hg)",
    "s1": "total serum cholesterol",
    "s2": "low-density lipoproteins",
    "s3": "high-density lipoproteins",
    "s4": "total cholesterol / HDL",
    "s5": "log of serum triglycerides",
    "s6": "blood sugar level",
}


class LoadedTable(NamedTuple):
    """A built-in table with its schema; its categories are declared."""

    about: BuiltinTable
    table: Table
    schema: Schema


def load_builtin(key: str) -> LoadedTable:
    """A built-in table; nothing is downloaded.

    Parameters
    ----------
    key : {"diabetes", "wine", "breast_cancer"}

    Examples
    --------
    >>> loaded = load_builtin("diabetes")
    >>> loaded.table.n_rows, loaded.schema.column("sex").kind
    (442, 'category')
    """
    check_choice("key", key, [about.key for about in BUILTIN_TABLES])
    about = next(about for about in BUILTIN_TABLES if about.key == key)
    columns = {"diabetes": _diabetes, "wine": _wine, "breast_cancer": _breast_cancer}[key]()
    table = table_from_columns(columns, key)
    schema = infer_schema(table)
    if key == "diabetes":
        schema = edit_schema(table, schema, kinds={"sex": "category"})
    return LoadedTable(about, table, schema)


def _diabetes() -> dict[str, np.ndarray]:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False, as_frame=True).frame
    columns = {new: data[old].to_numpy() for old, new in _DIABETES_COLUMNS.items()}
    return columns | {"disease progression": data["target"].to_numpy()}


def _wine() -> dict[str, np.ndarray]:
    from sklearn.datasets import load_wine

    data = load_wine()
    names = [name.replace("_", " ") for name in data.feature_names]
    columns = dict(zip(names, data.data.T, strict=True))
    return columns | {"cultivar": np.array([f"cultivar {k + 1}" for k in data.target])}


def _breast_cancer() -> dict[str, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = dict(zip(data.feature_names.tolist(), data.data.T, strict=True))
    return columns | {"diagnosis": data.target_names[data.target]}
