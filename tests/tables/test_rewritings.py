"""One table in twenty rewritings gives the same numbers to the bit."""

import csv
import io
import itertools

import numpy as np
import pandas as pd
import pytest

from gbuq_core.tables import infer_schema, prepare_training, read_table

_RNG = np.random.default_rng(0)
_N = 90


def shops():
    """Words with accents and separators in them, dates, codes, gaps and numbers."""
    towns = ["Köln", "Besançon", "Málaga, Sur", 'Ulm "alt"', "Bonn; Beuel"]
    return {
        "ville": [towns[k] for k in _RNG.integers(0, 5, _N)],
        "ouvert": pd.date_range("2021-03-01", periods=_N).strftime("%d.%m.%Y"),
        "code": [f"{k:05d}" for k in _RNG.integers(100, 9000, _N)],
        "area": [f"{v:.2f}" if k % 11 else "" for k, v in enumerate(_RNG.normal(70, 20, _N))],
        "count": _RNG.integers(0, 5000, _N).astype(str),
        "y": [f"{v:.3f}" for v in _RNG.normal(1200, 300, _N)],
    }


def readings():
    """Units, thousands, percent, times and words that count as missing."""
    stamps = pd.date_range("2021-03-01 06:10", periods=_N, freq="97min")
    return {
        "weight": [f"{v:.1f} kg" for v in _RNG.normal(30, 5, _N)],
        "inhabitants": [f"{v:,}" for v in _RNG.integers(1_000, 900_000, _N)],
        "rate": [f"{v:.1f}%" for v in _RNG.uniform(1, 99, _N)],
        "when": stamps.strftime("%Y-%m-%d %H:%M"),
        "state": [["good", "NA", "fair"][k] for k in _RNG.integers(0, 3, _N)],
        "y": [f"{v:.4f}" for v in _RNG.normal(0, 1, _N)],
    }


def answers():
    """A target of classes, whole numbers beyond 2**53, and signs."""
    return {
        "id": [str(2**60 + 7 * k) for k in range(_N)],
        "delta": [f"{v:+.2f}" for v in _RNG.normal(0, 9, _N)],
        "size": [f"{v:.2e}" for v in _RNG.uniform(1e-9, 1e9, _N)],
        "Größe": _RNG.integers(1, 60, _N).astype(str),
        "y": [["ja", "nein", "weiß nicht"][k] for k in _RNG.integers(0, 3, _N)],
    }


SAMPLES = {make.__name__: make() for make in (shops, readings, answers)}
_WRITTEN = [
    (encoding, separator, quoting, end)
    for encoding, (separator, quoting, end) in zip(
        itertools.cycle(["utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-16-be"]),
        [
            (",", 0, "\n"), (",", 0, "\r\n"), (",", 1, "\r"), (";", 1, "\r\n"), (";", 0, "\r\n"),
            ("\t", 0, "\n"), ("\t", 1, "\r\n"), ("|", 1, "\n"), ("|", 0, "\r\n"), (",", 1, "\n"),
            (";", 0, "\n"), (",", 1, "\r\n"), ("\t", 0, "\r\n"), (",", 0, "\n"), ("|", 1, "\r\n"),
            (";", 1, "\n"), ("\t", 1, "\n"), (",", 0, "\r"), (";", 1, "\r"), ("\t", 0, "\n"),
        ],
    )
]  # fmt: skip


def written(columns, encoding, separator, quoting, end):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    return (mark + text.getvalue()).encode(encoding)


def numbers_of(data):
    table = read_table(data)
    prepared = prepare_training(table, infer_schema(table), "y")
    X = {
        name: values.astype(str) if values.dtype == "category" else values
        for name, values in prepared.X.items()
    }
    kinds = [(column.name, column.kind, column.n_missing) for column in prepared.schema.columns]
    return pd.DataFrame(X), prepared.y, prepared.target, kinds


@pytest.mark.parametrize("sample", SAMPLES)
def test_twenty_rewritings_of_a_table_are_the_same_table(sample):
    columns = SAMPLES[sample]
    assert len(_WRITTEN) == len({*_WRITTEN}) == 20
    X, y, target, kinds = numbers_of(written(columns, "utf-8", ",", 0, "\n"))
    assert len(y) == _N
    for how in _WRITTEN:
        again = numbers_of(written(columns, *how))
        pd.testing.assert_frame_equal(again[0], X, check_exact=True, obj=str(how))
        assert again[1].tobytes() == y.tobytes(), how
        assert again[2:] == (target, kinds), how
