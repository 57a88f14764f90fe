"""Style, scripts and Plotly, at addresses that change with what they hold: kept for a year.

Nothing comes from elsewhere: Plotly's library is that of its installed package.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Header, Response

from api.http.problems import ProblemError
from jobs.results.pages import plot_scripts

router = APIRouter(include_in_schema=False)
_YEAR = "public, max-age=31536000, immutable"
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_WORTH_PACKING = 1000


@dataclass(frozen=True)
class StaticFile:
    """A file as it is served."""

    name: str
    content: bytes

    @cached_property
    def digest(self) -> str:
        """What its address holds."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    @cached_property
    def packed(self) -> bytes:
        """The same with gzip; made once."""
        return gzip.compress(self.content, 6, mtime=0)

    @property
    def media_type(self) -> str:
        """By the ending of its name."""
        return _TYPES[self.name.rpartition(".")[2]]


@lru_cache(maxsize=1)
def _known() -> Mapping[str, StaticFile]:
    plotly, plots = plot_scripts()
    ours = files("api.pages").joinpath("static")
    shared = files("jobs").joinpath("templates", "style.css").read_bytes()
    found = {each.name: each.read_bytes() for each in ours.iterdir() if each.is_file()}
    found["dashboard.css"] = shared + found["dashboard.css"]
    found |= {"plotly.js": plotly, "plots.js": plots}
    return {name: StaticFile(name, content) for name, content in found.items()}


def static_address(name: str) -> str:
    """Where a page finds a file; a KeyError of a name that none has."""
    return f"/static/{_known()[name].digest}/{name}"


@router.get("/static/{digest}/{name}")
def static_file(
    digest: str, name: str, accept_encoding: Annotated[str, Header()] = ""
) -> Response:
    """A file; under the address of another version there is none."""
    found = _known().get(name)
    if found is None or found.digest != digest:
        raise ProblemError(404, "no such file; load the page again")
    headers = {"Cache-Control": _YEAR, "Vary": "Accept-Encoding"}
    body = found.content
    if "gzip" in accept_encoding and len(body) > _WORTH_PACKING:
        body, headers["Content-Encoding"] = found.packed, "gzip"
    return Response(body, media_type=found.media_type, headers=headers)
