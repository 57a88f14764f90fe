"""A page as it leaves: its template filled in, and what a browser may do with it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment

from api.auth.security import Caller, page_requires
from api.pages.static_files import static_address
from db.access.tokens import Role
from jobs.results.figures import amount_with_unit
from jobs.results.pages import page_environment

# Everything of our own and nothing else: no inline script or style, no frame, no plug-in.
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
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
    return HTMLResponse(text, status_code=status, headers=_HEADERS)


@dataclass(frozen=True)
class Visit:
    """A request for a page, and who asks."""

    request: Request
    caller: Caller

    def page(self, template: str, *, status: int = 200, **content: Any) -> HTMLResponse:
        """A template as an answer to them; see ``page``."""
        return page(self.request, template, caller=self.caller, status=status, **content)


def _visit(role: Role) -> Any:
    allowed = page_requires(role)

    async def visited(request: Request, caller: Caller = allowed) -> Visit:
        return Visit(request, caller)

    return Depends(visited)


Reader = Annotated[Visit, _visit(Role.READ)]
Submitter = Annotated[Visit, _visit(Role.SUBMIT)]
Administrator = Annotated[Visit, _visit(Role.ADMIN)]


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = page_environment("api.pages")
    environment.globals |= {"static": static_address, "version": version("rocktune")}
    environment.filters |= {
        "amount": lambda value, metric: (
            UNKNOWN if value is None else amount_with_unit(value, metric)
        ),
        "duration": duration,
        "grouped": grouped,
        "iso": moment_iso,
        "moment": moment,
    }
    return environment


UNKNOWN = "-"


def duration(seconds: float | None) -> str:
    """``45 s``, ``12 min``, ``3 h 20 min``, ``2 d 4 h``; ``-`` for what is not known."""
    if seconds is None:
        return UNKNOWN
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


def moment(at: datetime | None) -> str:
    """A time in UTC; the page's script writes it anew in the reader's zone."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else UNKNOWN


def moment_iso(at: datetime | None) -> str:
    """The same for the ``datetime`` of a ``<time>``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds") if at else ""


def grouped(number: int | None) -> str:
    """A count with its thousands apart."""
    return UNKNOWN if number is None else f"{number:,}"
