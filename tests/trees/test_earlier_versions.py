"""Files that LightGBM 2.3 to 4.6 and XGBoost 1.7 to 3.0 wrote themselves, with what they predicted.

`earlier_versions.xz` holds 300 rows' models of 8 rounds, with missing cells and, in LightGBM, a
category, and each library's predictions and leaves of 40 rows.
"""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from gbuq_core.errors import ModelFileError
from gbuq_core.given_models.parsing import parse_model
from gbuq_core.trees.importers import load_leaf_source
from gbuq_core.trees.importers.plain_source import PlainSource

FILES = json.loads(lzma.decompress(Path(__file__).with_name("earlier_versions.xz").read_bytes()))
ROWS = np.array(FILES["rows"], dtype=float)
MODELS = FILES["models"]
SINGLE = 2e-6  # XGBoost adds float32 numbers


@pytest.mark.parity
@pytest.mark.parametrize("name", [name for name in MODELS if "xgboost-1" not in name])
def test_what_an_earlier_version_wrote_predicts_as_it_did(name):
    content, expected = MODELS[name]["content"].encode(), np.array(MODELS[name]["predict"])
    plain = PlainSource(parse_model(content))
    of_file = load_leaf_source(content, task=plain.task)
    if plain.task == "classification" and expected.ndim == 1:
        expected = np.column_stack([1.0 - expected, expected])
    for source in (plain, of_file):
        ask = source.predict if plain.task == "regression" else source.predict_proba
        np.testing.assert_allclose(ask(ROWS), expected, rtol=SINGLE, atol=SINGLE)
    leaves = plain.leaf_matrix(ROWS)
    np.testing.assert_array_equal(of_file.leaf_matrix(ROWS), leaves)
    theirs = np.array(MODELS[name]["leaves"]).reshape(len(ROWS), -1)
    for mine, other in zip(leaves.T, theirs.T, strict=True):  # other names of the same leaves
        pairs = len(set(zip(mine.tolist(), other.tolist(), strict=True)))
        assert pairs == len(set(mine.tolist())) == len(set(other.tolist()))


@pytest.mark.parametrize("name", [name for name in MODELS if "xgboost-1" in name])
def test_a_version_that_is_not_read_is_named(name):
    with pytest.raises(ModelFileError, match=r"by XGBoost 1, and 2 or later is read"):
        parse_model(MODELS[name]["content"].encode())
