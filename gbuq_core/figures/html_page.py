"""The HTML around a figure that is a file of its own: nothing in it may reach for the network."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape


def html_page(title: str, body: str, script: str, style: str) -> str:
    """A whole page with a policy that runs this script and this style and no other.

    Parameters
    ----------
    title : str
        Plain text; escaped here, for the tab and for the heading.
    body : str
        HTML below the heading, already escaped, that closes ``main``; scripts in it hold data only.
    script, style : str
        Of this project; they are known to the browser by their hashes.

    Examples
    --------
    >>> "<h1>a &lt; b</h1>" in html_page("a < b", "", "", "")
    True
    """
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
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
<script type="module">{script}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
