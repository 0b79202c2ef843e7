"""How cells are read, on the command line: number styles, missing values and words that are kept.

The same for a second file, for a project and for rows that are streamed.
"""

import json

import numpy as np
import pandas as pd
import pytest

from gbuq_core.__main__ import main

MODEL = ["--trees", "6", "--depth", "2", "--ensemble", "virtual", "--unfamiliarity", "no"]
N = 60
LEVELS = ["None", "low", "high", "NA"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Inhabitants in groups of three digits, gaps written as -999.0, and words for nothing."""
    path = tmp_path_factory.mktemp("cells")
    lines = ["people;gap;risk;y"]
    for k in range(N):
        people = f"{1200 * k + 1_000:,}".replace(",", ".")
        gap = "-999.0" if k % 6 == 0 else f"{k % 7}.5"
        lines.append(f"{people};{gap};{LEVELS[k % 4]};{1200 * k}")
    lines.append("1.234.567;1.5;low;1234567")
    (path / "rows.csv").write_text("\n".join(lines))
    new = ["people;gap;risk", *[f"{2 * k + 1}.300;{k}.5;NA" for k in range(30)]]
    (path / "new.csv").write_text("\n".join(new))
    same = [line.replace(".300", "300") for line in new]
    (path / "plain.csv").write_text("\n".join(same))
    return path


def written(folder, name, *words):
    out = folder / name
    assert main([*map(str, words), "--quiet", "--out", str(out)]) == 0
    return pd.read_csv(out)["prediction"].to_numpy()


def test_a_second_file_is_read_with_the_style_of_the_first(folder):
    rows, new, plain = (folder / name for name in ("rows.csv", "new.csv", "plain.csv"))
    asked = ["--target", "y", *MODEL]
    expected = written(folder, "plain_scored.csv", "score", rows, plain, *asked)
    assert len(np.unique(expected)) > 3  # 1,300 and 59,300 are not the same
    scored = written(folder, "scored.csv", "score", rows, new, *asked)
    np.testing.assert_array_equal(scored, expected)
    streamed = written(folder, "streamed.csv", "score", rows, new, *asked, "--stream")
    np.testing.assert_array_equal(streamed, expected)
    fitted = [word for word in asked if word not in ("--unfamiliarity", "no")]
    project = folder / "fit.gbuq"
    assert main(["fit", str(rows), *fitted, "--quiet", "--out", str(project)]) == 0
    again = written(
        folder, "again.csv", "score", "--project", project, new, "--unfamiliarity", "no"
    )
    np.testing.assert_array_equal(again, expected)


def notices(capsys, folder, *words):
    command = ["score", str(folder / "rows.csv"), "--out", str(folder / "out.csv"), *MODEL]
    assert main([*command, "--target", "y", "--folds", "2", *words]) == 0
    return capsys.readouterr().err


def test_what_is_missing_is_said_and_can_be_changed(folder, capsys):
    noted = notices(capsys, folder)
    assert 'Note: 15 cells of the column "risk" are None, which is kept as a value' in noted
    assert 'Note: 15 cells of the column "risk" ("NA") count as missing' in noted
    assert "Keep words (--keep-words)" in noted
    noted = notices(capsys, folder, "--keep-words", "risk", "--missing", "gap=-999")
    assert "risk" not in noted
    assert "gap" not in noted  # -999.0 is -999, so it is no suspect any more
    assert "-999" not in notices(capsys, folder, "--missing", "gap=-999", "--missing", "gap=x")
    noted = notices(capsys, folder, "--missing", "gap=-998")
    assert 'No cell of the column "gap" is "-998"' in noted


def test_words_are_kept_by_a_settings_file(folder, capsys):
    (folder / "words.toml").write_text('[score]\nkeep-words = ["risk"]\n')
    assert "risk" not in notices(capsys, folder, "--config", str(folder / "words.toml"))
    capsys.readouterr()
    command = ["info", str(folder / "rows.csv"), "--json"]
    assert main(command) == 0
    notes = json.loads(capsys.readouterr().out)["notices"]
    assert any("None" in notice for notice in notes)
