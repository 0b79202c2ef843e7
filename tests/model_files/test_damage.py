"""Files of ours with something wrong in them: a sentence, or a model that still predicts."""

import copy
import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gbuq_core import load
from gbuq_core.errors import GbuqError
from gbuq_core.model_files.archive import read_archive, write_archive
from tests.model_files.saved_models import FEW, MODELS, answers, file_of

# CatBoost's own reader judges its models, and survives not all of them.
DAMAGED = [name for name in MODELS if "catboost" not in name and name != "ibug"]
ODD = (None, True, -1, 0, 3, 2**70, 1e300, float("nan"), "odd", "", [], {}, [[]], {"same": 0},
       {"same": 10**6}, {"tuple": [1, "a"]}, {"array": "a0"}, {"class": "Bins", "fields": {}},
       {"class": "os.system", "fields": {}}, {"number": "<f8", "value": "x"},
       {"few": "<i8", "shape": [2], "values": [1, 2]}, {"of": "lightgbm.Booster", "value": {}},
       {"labels": "|O", "values": [[1]]}, {"dict": [[1, 2]]})  # fmt: skip


def places(value, path=()):
    """Every place in a header."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in inside:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))


def with_part(header, path, value):
    """The header with another value at a place, or without it."""
    changed = copy.deepcopy(header)
    part = changed
    for key in path[:-1]:
        part = part[key]
    if value is places:
        del part[path[-1]]
    else:
        part[path[-1]] = copy.deepcopy(value)
    return changed


def bent(array, kind, place):
    """The array with another type, shape or number."""
    flat = array.reshape(-1).copy()
    if kind == "type":
        return array.astype(np.float64 if array.dtype.kind in "iub" else np.int64)
    if kind == "axis":
        return array[..., None]
    if kind == "shorter":
        return array[:-1]
    if kind == "longer":
        return np.concatenate([array, array[:1]])
    if kind == "bytes":
        flat.view(np.uint8)[place % flat.nbytes] ^= 0x55
    else:
        extreme = np.iinfo(flat.dtype) if flat.dtype.kind in "iu" else np.finfo(np.float64)
        odd = {"largest": extreme.max, "smallest": extreme.min, "none": np.nan, "zero": 0}[kind]
        flat[place % len(flat)] = odd if flat.dtype.kind == "f" or kind != "none" else 1
    return flat.reshape(array.shape)


BENT = ("type", "axis", "shorter", "longer", "bytes", "largest", "smallest", "none", "zero")


def use(header, arrays):
    """Read the file and ask the model everything; the sentence with which it was refused."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers(load(write_archive(header, arrays)), FEW)
    except GbuqError as error:
        return str(error)
    return "."


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_any_part_of_a_file_may_be_damaged(data):
    name = data.draw(st.sampled_from(DAMAGED))
    header, arrays = read_archive(file_of(name))
    del header["arrays"]  # `write_archive` describes them itself
    if data.draw(st.booleans()):
        known = [path for path in places(header) if path != ("format",)]
        path = known[data.draw(st.integers(0, len(known) - 1))]
        header = with_part(header, path, data.draw(st.sampled_from([*ODD, places])))
    elif arrays:
        part = data.draw(st.sampled_from(sorted(arrays)))
        kind = data.draw(st.sampled_from(BENT))
        arrays[part] = bent(arrays[part], kind, data.draw(st.integers(0, 10**6)))
    said = use(header, arrays)
    assert said.endswith(".")
    assert "\n" not in said
