"""Part files: whole or not there, never twice, and never mixed with those of another run."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest
from full_disk import fill_disk
from pyarrow import parquet

from gbuq_core.errors import TableError
from gbuq_core.streaming import PartFiles, Run, parts
from gbuq_core.tables import to_csv_bytes

RUN = Run(inputs={"TRAIN": "aa", "NEW": "bb"}, settings={"trees": 30}, seed=3, n_parts=4)


def piece(number, n_rows=3):
    return pd.DataFrame(
        {"n": range(number * n_rows, (number + 1) * n_rows), "word": ['=a,"b"', None, "é"][:n_rows]}
    ).astype({"word": "str"})


@pytest.mark.parametrize("suffix", parts.SUFFIXES)
def test_joined_parts_are_the_rows_in_order(tmp_path, suffix):
    files = PartFiles(tmp_path / "parts", replace(RUN, suffix=suffix))
    for number in (2, 0, 3, 1):
        files.write(number, [piece(number)[:1], piece(number)[1:]])
    out = tmp_path / f"out{suffix}"
    files.join(out)
    whole = pd.concat([piece(number) for number in range(4)], ignore_index=True)
    if suffix == ".csv":
        assert out.read_bytes() == to_csv_bytes(whole)
    else:
        assert parquet.read_table(out).to_pylist() == pa.Table.from_pandas(whole).to_pylist()
        assert parquet.ParquetFile(out).num_row_groups == 8
    files.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"inputs": {"TRAIN": "aa", "NEW": "cc"}}, '"NEW" is not as in the run'),
        ({"settings": {"trees": 31}}, 'had another "trees"'),
        ({"settings": {"trees": 30, "depth": 2}}, 'had another "depth"'),
        ({"seed": 4}, 'had another "seed"'),
        ({"n_parts": 5}, 'had another "n_parts"'),
        ({"version": "9.9.9"}, "by gbuq"),
    ],
)
def test_parts_of_another_run_are_refused(tmp_path, change, sentence):
    PartFiles(tmp_path, RUN).write(0, [piece(0)])
    with pytest.raises(TableError) as refusal:
        PartFiles(tmp_path, replace(RUN, **change), resume=True)
    assert sentence in str(refusal.value)
    assert str(refusal.value).count(". ") == 0
    with pytest.raises(TableError, match="holds parts of an earlier run"):
        PartFiles(tmp_path, RUN)
    assert PartFiles(tmp_path, RUN, resume=True).missing == [1, 2, 3]


def test_a_part_that_was_damaged_is_written_again(tmp_path):
    files = PartFiles(tmp_path, RUN)
    for number in range(3):
        files.write(number, [piece(number)])
    whole = (tmp_path / "part-000001.parquet").read_bytes()
    (tmp_path / "part-000001.parquet").write_bytes(whole[:-1] + b"?")
    (tmp_path / "part-000002.parquet").unlink()
    (tmp_path / ".part-left").write_bytes(b"of a process that was killed")
    assert PartFiles(tmp_path, RUN, resume=True).missing == [1, 2, 3]
    assert not (tmp_path / ".part-left").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}', '{"format": 2, "run": {}}'])
def test_a_manifest_that_cannot_be_read_is_refused(tmp_path, text):
    (tmp_path / parts.MANIFEST).write_text(text)
    with pytest.raises(TableError, match="cannot be read"):
        PartFiles(tmp_path, RUN, resume=True)


def test_a_directory_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(TableError, match="holds other files"):
        PartFiles(tmp_path, RUN)


@pytest.mark.parametrize("suffix", parts.SUFFIXES)
def test_a_full_disk_loses_no_part(tmp_path, monkeypatch, suffix):
    run = replace(RUN, n_parts=2, suffix=suffix)
    files = PartFiles(tmp_path / "parts", run)
    files.write(0, [piece(0)])
    with monkeypatch.context() as full:
        fill_disk(full)
        with pytest.raises(TableError, match=r"disk is full.*--resume"):
            files.write(1, [piece(1)])
    assert sorted(path.name for path in files.directory.iterdir()) == [
        parts.MANIFEST,
        f"part-000000{suffix}",
    ]
    again = PartFiles(files.directory, run, resume=True)
    assert again.missing == [1]
    again.write(1, [piece(1)])
    out = tmp_path / f"out{suffix}"
    out.write_bytes(b"what was there")
    with monkeypatch.context() as full:
        fill_disk(full)
        with pytest.raises(TableError, match="disk is full"):
            again.join(out)
    assert out.read_bytes() == b"what was there"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("at", ["replace", "manifest"])
def test_a_killed_writer_leaves_whole_parts_only(tmp_path, at):
    """Killed before a part takes its name, or after that but before the manifest names it."""
    target = "name.startswith('part-000002')" if at == "replace" else "files.records.get(2)"
    script = f"""
import os, signal
from pathlib import Path
import pandas as pd
from gbuq_core.streaming import PartFiles, Run
run = Run(inputs={{}}, settings={{}}, seed=0, n_parts=4)
files = PartFiles({str(tmp_path)!r}, run)
real = os.replace
def replace(old, new):
    name = Path(new).name
    if {target}:
        os.kill(os.getpid(), signal.SIGKILL)
    real(old, new)
os.replace = replace
for number in range(4):
    files.write(number, [pd.DataFrame({{"n": [number] * 3}})])
"""
    killed = subprocess.run([sys.executable, "-c", script], env=os.environ, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    run = Run(inputs={}, settings={}, seed=0, n_parts=4)
    manifest = json.loads((tmp_path / parts.MANIFEST).read_text())
    assert [entry["number"] for entry in manifest["parts"]] == [0, 1]
    files = PartFiles(tmp_path, run, resume=True)
    assert files.missing == [2, 3]
    for number in files.missing:
        files.write(number, [pd.DataFrame({"n": [number] * 3})])
    out = tmp_path.parent / f"{at}.parquet"
    files.join(out)
    assert pd.read_parquet(out).n.tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
