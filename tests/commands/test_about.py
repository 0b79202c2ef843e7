"""`gbuq app`, `info`, `methods` and `completion`: commands that train nothing."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import catboost
import lightgbm
import pandas as pd
import pytest
from command_parts import printed, record_of, refusal

import gbuq_core
from gbuq_core import MacauClassifier
from gbuq_core.__main__ import main
from gbuq_core.commands import app
from gbuq_core.commands.completion import SHELLS
from gbuq_core.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def started(monkeypatch):
    """What the process would become, and where."""
    seen = []
    monkeypatch.setattr("os.chdir", lambda folder: seen.append(Path(folder)))

    def become(program, words):
        seen.append(words)
        raise SystemExit  # the process is Streamlit's from here on

    monkeypatch.setattr("os.execv", become)
    return seen


def test_the_app_of_this_clone_is_started_by_streamlit(started):
    with pytest.raises(SystemExit):
        main(["app", "--port", "8600", "--address", "127.0.0.1", "--no-browser"])
    folder, words = started
    assert (folder / "app.py").samefile(ROOT / "app.py")
    assert words[:5] == [sys.executable, "-m", "streamlit", "run", "app.py"]
    assert words[5:] == [
        "--server.port=8600",
        "--server.address=127.0.0.1",
        "--server.headless=true",
    ]


def test_an_app_that_is_not_there_is_one_sentence(started, monkeypatch, tmp_path, capsys):
    assert "name the folder of a clone" in refusal(capsys, "app", "--dir", tmp_path)
    assert "--port must be a whole number" in refusal(capsys, "app", "--port", 0)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "needs Streamlit, which is not installed" in refusal(capsys, "app")
    monkeypatch.setattr("gbuq_core.commands.app._THIS_CLONE", tmp_path)
    monkeypatch.setattr(Path, "cwd", lambda: tmp_path)
    assert "came without it" in refusal(capsys, "app")
    assert started == []
    installed = tmp_path / "gbuq_app"  # where a wheel puts it
    (installed / "pages" / "_ui").mkdir(parents=True)
    for name in ("app.py", "pages/_ui/site_map.py"):
        (installed / name).touch()
    assert app._folder_of_the_app(None) == installed


def test_a_table_is_told_by_its_columns(tmp_path, capsys):
    frame = pd.DataFrame({"x": [1.5, 2.5, None] * 5, "red\u202e": ["a", "b", "c"] * 5})
    path = tmp_path / "rows.csv"
    frame.assign(y=range(15)).to_csv(path, index=False, sep=";")
    text = printed(capsys, "info", str(path), "--delimiter", ";")
    assert text.startswith("rows.csv holds a table: 15 rows and 3 columns, ")
    assert "\u202e" not in text
    assert "red?" in text
    assert 'A likely target is "y"' in text
    record = record_of(capsys, "info", str(path))
    assert (record["holds"], record["rows"], record["suggested_target"]) == ("table", 15, "y")
    assert [column["missing"] for column in record["columns"]] == [5, 0, 0]


def test_a_saved_model_is_told_by_its_header(tmp_path, capsys):
    X = pd.DataFrame({"a": range(60), "b": [k % 7 for k in range(60)]})
    path = tmp_path / "model.gbuq"
    model = MacauClassifier(n_trees=2, random_state=0).fit(X, ["no", "yes"] * 30)
    model.save(path)
    text = printed(capsys, "info", str(path))
    assert text.startswith("model.gbuq holds a saved model (MacauClassifier), ")
    assert "It reads 2 features: a, b." in text
    assert "It tells 2 classes apart: no, yes." in text
    assert "  n_trees = 2" in text
    record = record_of(capsys, "info", str(path))
    assert (record["holds"], record["kind"]) == ("model", "MacauClassifier")
    assert record["settings"]["n_trees"] == 2
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refusal(capsys, "info", path)
    path.write_bytes(whole.replace(b'"n_features_in_": 2', b'"n_features_in_":{}'))
    assert "damaged" in refusal(capsys, "info", path)


def test_a_model_of_a_library_is_told_by_its_trees(tmp_path, capsys, monkeypatch):
    X = pd.DataFrame({"a": range(60), "b": [k % 7 for k in range(60)]})
    settings = {"verbose": -1, "num_leaves": 4, "max_depth": 2, "min_data_in_leaf": 5}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, X.a * 1.0), 20)
    path = tmp_path / "model.txt"
    path.write_text(booster.model_to_string())
    text = printed(capsys, "info", str(path))
    assert "LightGBM regression, boosted trees: 20 trees, 2 features." in text
    n_leaves = int(booster.trees_to_dataframe()["left_child"].isna().sum())
    assert f"The loss is regression. 20 rounds, {n_leaves} leaves, at most 2 splits" in text
    assert "It reads 2 features: a, b." in text
    assert "gbuq score TRAIN NEW --model model.txt tells of each row: the prediction; " in text
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    record = record_of(capsys, "info", "-")
    assert (record["library"], record["trees"], record["depth"]) == ("LightGBM", 20, 2)
    assert record["features"] == ["a", "b"]
    path.write_text(booster.model_to_string()[:200])
    refusal(capsys, "info", path)


def test_a_model_whose_file_names_no_loss_is_told_with_the_one_that_is_named(tmp_path, capsys):
    X = [[k, k % 7] for k in range(60)]
    quiet = {"iterations": 3, "depth": 2, "verbose": False, "allow_writing_files": False}
    summands = [
        catboost.CatBoost({"loss_function": loss, **quiet}).fit(X, [*range(1, 61)])
        for loss in ("RMSE", "Poisson")
    ]
    path = tmp_path / "sum.cbm"
    catboost.sum_models(summands).save_model(str(path))
    assert "--loss on the command line" in refusal(capsys, "info", path)
    text = printed(capsys, "info", str(path), "--loss", "Poisson")
    assert "The loss is Poisson. 6 rounds, " in text
    assert "gbuq score TRAIN NEW --model sum.cbm --loss Poisson tells of each row" in text
    assert record_of(capsys, "info", str(path), "--loss", "Poisson")["loss"] == "Poisson"
    assert "loss must be one of" in refusal(capsys, "info", path, "--loss", "Poison")
    summands[0].save_model(str(path))
    assert "was trained with RMSE, not" in refusal(capsys, "info", path, "--loss", "Poisson")
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n3,4\n")
    sentence = refusal(capsys, "info", tmp_path / "rows.csv", "--loss", "RMSE")
    assert sentence == "--loss is for a model of CatBoost: leave it out."


def test_files_that_cannot_be_told_are_one_sentence(tmp_path, capsys):
    assert "There is no file" in refusal(capsys, "info", tmp_path / "none.csv")
    refusal(capsys, "info", tmp_path)
    (tmp_path / "zeros").write_bytes(bytes(99))
    assert "binary data" in refusal(capsys, "info", tmp_path / "zeros")


def test_every_method_is_listed(capsys):
    records = record_of(capsys, "methods")["methods"]
    assert [record["key"] for record in records] == list(METHODS)
    by_key = {record["key"]: record for record in records}
    assert by_key["gp"]["scores"] == ["regression"]
    assert by_key["isolation"]["scores"] == []
    lines = printed(capsys, "methods", "--task", "novelty", "--quiet").splitlines()
    novel = [key for key, method in METHODS.items() if "novelty" in method.tasks]
    assert [line.split()[0] for line in lines] == ["Method", *novel]


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_names_commands_and_options(shell, capsys):
    script = printed(capsys, "completion", shell)
    for word in ("gbuq", "score", "compare", "truncation-step", "two_clocks"):
        assert word in script, word


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_a_command_and_an_option(tmp_path, capsys):
    main(["completion", "bash"])
    script = tmp_path / "gbuq.bash"
    script.write_text(capsys.readouterr().out)
    ask = f"""source {script}
    complete -p gbuq
    COMP_WORDS=(gbuq comp); COMP_CWORD=1; _shtab_gbuq; echo "${{COMPREPLY[@]}}"
    COMP_WORDS=(gbuq score --trunc); COMP_CWORD=2; _shtab_gbuq; echo "${{COMPREPLY[@]}}"
    """
    lines = subprocess.run(
        ["bash", "-c", ask],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
    ).stdout.splitlines()
    assert set(lines[-2].split()) == {"compare", "completion"}
    assert set(lines[-1].split()) == {"--truncation-step", "--truncation-start"}


def test_without_shtab_completion_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert "needs the package shtab" in refusal(capsys, "completion", "bash")


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"gbuq {gbuq_core.__version__}\n"
