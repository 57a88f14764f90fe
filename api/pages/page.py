"""A page as it leaves: its template, its style and scripts, and what a browser may do with it.

Nothing comes from elsewhere: Plotly's library is that of its installed package. Style and scripts
have addresses that change with what they hold, and are kept for a year.
"""

import gzip
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property, lru_cache
from importlib.metadata import version
from importlib.resources import files
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from sqlalchemy import Engine

from api.auth.security import Caller, identified, requires
from api.http.problems import ProblemError
from api.services.dependencies import Service, ServiceDep
from db.access.tokens import Role
from jobs.results.figures import amount_with_unit
from jobs.results.pages import page_environment, plot_scripts

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


T = TypeVar("T")
# Everything of our own and nothing else: no inline script or style, no frame, no plug-in.
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
# Templates name paths of this server as it has them itself. What is shown of others' text has its
# quotation marks escaped, so it is none of these.
_LINKS = re.compile(r'(\s(?:href|src|action|formaction|data-(?:address|events|later))=")(/)')
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    # Not no-referrer: forms would then be sent with `Origin: null`, which nobody can trust.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def page(
    request: Request, template: str, *, caller: Caller | None, status: int = 200, **content: Any
) -> HTMLResponse:
    """A template of ``api/pages/templates`` as an answer.

    Beside the content, templates know ``caller``, ``may(role)``, ``forms`` (the token that each
    form brings along as ``form_token``), ``static(name)``, ``here`` (the page's own path) and
    ``version``. The caller is None where it is not known who asks.
    """
    known = {
        "caller": caller,
        "forms": (caller.forms if caller else None) or "",
        "here": request.url.path,
        "may": lambda role: caller is not None and caller.role.may(Role(role)),
    }
    text = _environment().get_template(template).render(**known, **content)
    if root := request.app.state.service.settings.root_path:
        text = _LINKS.sub(rf"\1{root}\2", text)
    return HTMLResponse(text, status_code=status, headers=_HEADERS)


@dataclass(frozen=True)
class Visit:
    """A request for a page, who asks, and the service that answers."""

    request: Request
    caller: Caller
    service: Service

    @property
    def engine(self) -> Engine:
        """The service's database."""
        return self.service.engine

    async def fitted(self, make: Callable[[], T]) -> T:
        """What ``make`` returns, for which models may have to be fitted; see ``FitQueue``."""
        return await self.service.fits.answer(self.request, make)

    def page(self, template: str, *, status: int = 200, **content: Any) -> HTMLResponse:
        """A template as an answer to them; see ``page``."""
        return page(self.request, template, caller=self.caller, status=status, **content)


def _visit(role: Role) -> Any:
    allowed = requires(role, identified)  # what a page changes is proved by its form's own token

    async def visited(request: Request, service: ServiceDep, caller: Caller = allowed) -> Visit:
        return Visit(request, caller, service)

    return Depends(visited)


Reader = Annotated[Visit, _visit(Role.READ)]
Submitter = Annotated[Visit, _visit(Role.SUBMIT)]
Administrator = Annotated[Visit, _visit(Role.ADMIN)]


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = page_environment("api.pages")
    environment.globals |= {"static": static_address, "version": version("rocktune")}
    environment.filters |= {
        "amount": lambda value, metric: "-" if value is None else amount_with_unit(value, metric),
        "duration": duration,
        "grouped": lambda number: "-" if number is None else f"{number:,}",
        "iso": lambda at: at.astimezone(UTC).isoformat(timespec="milliseconds"),
        # The page's script writes it anew in the reader's zone.
        "moment": lambda at: f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
    }
    return environment


def duration(seconds: float | None) -> str:
    """``45 s``, ``12 min``, ``3 h 20 min``, ``2 d 4 h``; ``-`` for what is not known."""
    if seconds is None:
        return "-"
    minutes = round(seconds / 60)
    hours, days = minutes // 60, minutes // 60 // 24
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 100:
        return f"{minutes} min"
    if hours < 48:
        return f"{hours} h {minutes % 60} min"
    return f"{days} d {hours % 24} h"
