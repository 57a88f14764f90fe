"""A page as it leaves: its template filled in, and what a browser may do with it."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment

from api.auth.cookies import form_token, new_forms_secret
from api.auth.security import Caller
from api.pages.static_files import address
from api.pages.words import bytes_or_figure, duration, grouped, moment, moment_iso
from db.access.tokens import Role
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
    request: Request,
    template: str,
    *,
    caller: Caller | None,
    status: int = 200,
    **content: Any,
) -> HTMLResponse:
    """A template of ``api/pages/templates`` as an answer.

    Beside the content, templates know ``caller``, ``may(role)``, ``forms`` (the token that each
    form brings along as ``form_token``), ``static(name)``, ``here`` (the page's own path) and
    ``version``.

    Args:
        request: What is answered.
        template: Its name.
        caller: Who asks; None where that is not known.
        status: Of the answer.
        content: What the template asks for.
    """
    answer = HTMLResponse(status_code=status, headers=_HEADERS)
    forms = caller.forms if caller else None
    if forms is None and caller is not None and caller.name is None:
        forms = form_token(new_forms_secret(answer))
    text = (
        _environment()
        .get_template(template)
        .render(
            caller=caller,
            forms=forms or "",
            here=request.url.path,
            may=lambda role: caller is not None and caller.role.may(Role(role)),
            **content,
        )
    )
    answer.body = text.encode()
    answer.headers["Content-Length"] = str(len(answer.body))
    return answer


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = page_environment("api.pages")
    environment.globals |= {"static": address, "version": version("rocktune")}
    environment.filters |= {
        "amount": bytes_or_figure,
        "duration": duration,
        "grouped": grouped,
        "iso": moment_iso,
        "moment": moment,
    }
    return environment
