"""How pages are made: templates, the library that draws their plots, and what scripts may do.

A page is kept without that library, for it is 5 MB, and gets it when it leaves. Its policy
allows Plotly and our own script by their digests and nothing else: no other script, no request.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

# Of a kept page: one of another version is made anew, for it is not what our script would draw.
VERSION = 4
# No text of others can hold it: in the page every `<` of theirs is escaped.
PLACE = "<script>/* the plots' library goes here */</script>"
_LIBRARY = "plotly/package_data/plotly.min.js"


def whole_page(page: str) -> bytes:
    """The page as it leaves, with what draws its plots.

    Raises:
        ValueError: It has no place for it.
    """
    head, place, tail = page.partition(PLACE)
    if not place:
        raise ValueError("the page has no place for the plots' library")
    return b"".join((head.encode(), _engine(), tail.encode()))


@lru_cache(maxsize=1)
def policy() -> str:
    """The page's Content-Security-Policy."""
    scripts = " ".join(f"'sha256-{_digest(script)}'" for script in plot_scripts())
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@lru_cache(maxsize=1)
def _engine() -> bytes:
    library, ours = plot_scripts()
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'.encode()
    return b"".join((meta, b"<script>", library, b"</script>\n<script>", ours, b"</script>"))


@lru_cache(maxsize=1)
def plot_scripts() -> tuple[bytes, bytes]:
    """Plotly, and our script that draws the plots of a page with it."""
    # Found through the package's metadata: to import Plotly takes half a second.
    library = Path(str(distribution("plotly").locate_file(_LIBRARY))).read_bytes()
    ours = files("jobs").joinpath("templates", "report.js").read_bytes()
    for script in (library, ours):
        if b"</script" in script.lower() or b"<!--" in script:
            raise ValueError("a script of the report cannot stand within a page")
    return library, ours


def _digest(script: bytes) -> str:
    return base64.b64encode(hashlib.sha256(script).digest()).decode()


def page_environment(*packages: str) -> Environment:
    """The templates of ``jobs/templates``, after those of other packages; without any filters."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "jobs")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
