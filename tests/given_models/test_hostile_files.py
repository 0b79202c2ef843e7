"""Mutations of valid files cost a sentence each, and never the process that asked."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_mutated_files_end_no_server(tmp_path):
    """A few of the 500 a kind that benchmarks/hostile_models.py goes through."""
    out = tmp_path / "outcomes.json"
    script = ROOT / "benchmarks" / "hostile_models.py"
    ended = subprocess.run(
        [sys.executable, str(script), "--count", "3", "--seed", "7", "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2000:]
    result = json.loads(out.read_text())
    assert result["worse"] == []
    assert len(result["outcomes"]) == 9
    for outcomes in result["outcomes"].values():
        assert sum(outcomes.values()) == 3
        assert any(outcome.startswith("refused") for outcome in outcomes)
