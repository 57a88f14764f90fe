"""Pages out of templates, and the library that draws their plots.

A page is kept without that library, for it is 5 MB, and gets it when it leaves. Its policy
allows Plotly and our own script by their digests and nothing else: no other script, no request.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from markupsafe import Markup, escape

from jobs.results.figures import amount_with_unit, figure, share_percent, signed
from optimizer.budget.power import p_figure
from sampler.common.text import format_bytes

if TYPE_CHECKING:
    from jinja2 import Environment

# Of a kept page: one of another version is made anew, for it is not what our script would draw.
VERSION = 7
# No text of others can hold it: in the page every `<` of theirs is escaped.
PLACE = "<script>/* the plots' library goes here */</script>"
_LIBRARY = "plotly/package_data/plotly.min.js"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def document_html(template: str, **content: Any) -> str:
    """A page of ``jobs/templates`` that needs nothing else but what draws its plots."""
    return _documents().get_template(template).render(place=Markup(PLACE), **content)


@lru_cache(maxsize=1)
def _documents() -> Environment:
    """Compiling a template takes longer than filling it in."""
    environment = page_environment()
    environment.filters |= {
        "amount": amount_with_unit,
        "clock": lambda moment: f"{moment:%Y-%m-%d %H:%M:%S}" if moment else "unknown",
        "percent": share_percent,
        "share": lambda value: "n/a" if value is None else f"{value:.2f}",
    }
    return environment


def page_environment(*packages: str) -> Environment:
    """The templates of ``jobs/templates``, after those of other packages.

    Nothing that is missing passes, and every word is escaped.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "jobs")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=readable,
    )
    environment.filters |= {
        "bytes": format_bytes,
        "coded": coded,
        "data": plot_data,
        "figure": figure,
        "p": p_figure,
        "signed": signed,
    }
    return environment


def readable(value: object) -> object:
    """What others wrote, without characters that a page must not hold."""
    if isinstance(value, str) and not isinstance(value, Markup) and _CONTROLS.search(value):
        return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", value)
    return value


def coded(line: str) -> Markup:
    """A line with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(readable(line)))))


def plot_data(figure: Mapping[str, Any]) -> Markup:
    """A plot as JSON that nothing in it can end; null for what is no number."""
    text = orjson.dumps(figure, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(escaped)


def whole_page(page: str) -> bytes:
    """The page as it leaves, with what draws its plots; a ValueError without a place for that."""
    head, place, tail = page.partition(PLACE)
    if not place:
        raise ValueError("the page has no place for the plots' library")
    return b"".join((head.encode(), _engine(), tail.encode()))


@lru_cache(maxsize=1)
def policy() -> str:
    """The page's Content-Security-Policy."""
    digests = (hashlib.sha256(script).digest() for script in plot_scripts())
    scripts = " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in digests)
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
