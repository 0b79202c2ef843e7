"""docs/own_models.md: its Python runs, and the command gives the same numbers."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
from command_parts import printed

from gbuq_core.__main__ import main

DOC = Path(__file__).parents[2] / "docs" / "own_models.md"


def test_the_python_runs_and_the_command_says_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", DOC.read_text("utf-8"), flags=re.DOTALL):
        exec(block, names)
    assert names["large"] > 1.5 * names["small"]
    assert names["far"] > names["usual"] + 3
    assert (names["knowledge"] > 0).all()
    assert "It falls into the same leaves as the training rows" in capsys.readouterr().out

    command = ["score", "flats.csv", "--target", "rent", "--model", "flats.txt"]
    assert main([*command, "--out", "scored.csv", "--quiet"]) == 0
    written, frame = pd.read_csv("scored.csv"), names["found"].frame
    assert written.columns.tolist() == frame.columns.tolist()
    for name in ("prediction", "ibug_std", "knowledge_uncertainty", "novelty"):
        np.testing.assert_array_equal(written[name], frame[name])

    line = ["explain", "flats.csv", "--target", "rent", "--model", "flats.txt", "--row"]
    assert main([*line, "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    explained = names["explain_with_model"](names["found"], 0)
    assert answer["words"] == list(explained.sentences)
    assert [near["row"] for near in answer["neighbours"]] == [
        n.row + 1 for n in explained.neighbours
    ]
    assert "Share of the novelty" in printed(capsys, *line, "1")
    assert main([*line, "501"]) == 2
    assert "There is no row 501" in capsys.readouterr().err

    for wrong, answer in (
        (["--trees", "5"], "--trees does not go with --model"),
        (["--model", "flats.csv"], "The file is no model of CatBoost"),
        (["--drop", "age", "--target", "size"], 'The model needs the column "size"'),
    ):
        pairs = zip(command[2::2], command[3::2], strict=True)
        usual = [word for pair in pairs if pair[0] not in wrong for word in pair]
        assert main([*command[:2], *usual, "--out", "other.csv", *wrong]) == 2
        error = capsys.readouterr().err
        assert answer in error
        assert error.count("\n") == 1
    assert not Path("other.csv").exists()
