"""The script of docs/cluster.md runs, with workers of its own, and prints what is said there."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_script_of_the_docs_runs(tmp_path, require_or_fail):
    there = importlib.util.find_spec("distributed") is not None
    require_or_fail(there, "Dask is not installed (extra cluster)")
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (printed,) = re.findall(r"It prints `(.*?)`", text)
    script = tmp_path / "script.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed
