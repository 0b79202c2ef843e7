"""The HTML around a standalone figure. The page may not use the network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape


def html_page(title: str, body: str, scripts: Sequence[str], style: str) -> str:
    """A whole page. Its security policy allows only these scripts and this style.

    >>> "<h1>a &lt; b</h1>" in html_page("a < b", "", [], "")
    True
    """
    allowed = " ".join(_hash(script) for script in scripts) or "'none'"
    modules = "\n".join(f'<script type="module">{script}</script>' for script in scripts)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}
{modules}
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
