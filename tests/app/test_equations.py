"""The equations of the pages, without a browser."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Names that KaTeX knows; another one is drawn in red. A new name is added when it has been seen.
NAMES = """
    Phi Sigma Vert Big Bigl Bigr Var alpha approx arg argmin bar beta big bigl bigr bigm bmod cdot
    cos dots ell epsilon eta exp frac gamma hat in infty int lambda left leq ldots ln log mathbb
    mathbf mathcal mathrm max mid min mu nabla nu operatorname pi prod psi qquad quad right sigma
    sim sin sqrt sum tau text tfrac theta tilde times top underbrace varepsilon varphi xi zeta
"""
KNOWN = frozenset(NAMES.split())


def equations():
    """Each constant that a page hands to st.latex or a record has between $$, with its file."""
    records = [
        *ROOT.glob("gbuq_core/experiments/*/experiment.py"),
        *ROOT.glob("gbuq_core/study/*.py"),
    ]
    for path in sorted(records):
        name = path.parent.name if path.name == "experiment.py" else path.stem
        for text in re.findall(r"\$\$(.+?)\$\$", path.read_text(encoding="utf-8"), re.DOTALL):
            yield name, text
    for path in sorted((ROOT / "pages").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "latex":
                yield path.name, ast.literal_eval(node.args[0])


def test_equations_use_only_names_that_are_drawn():
    pairs = list(equations())
    used = {(name, word) for name, text in pairs for word in re.findall(r"\\([A-Za-z]+)", text)}
    assert len(pairs) > 10
    assert "heart" in dict(pairs)
    assert {(name, word) for name, word in used if word not in KNOWN} == set()
