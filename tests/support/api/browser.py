"""A browser without a screen: it keeps cookies, and sends forms as a browser does."""

import re
from collections.abc import Mapping
from typing import Any

from fastapi.testclient import TestClient

SEES = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
# A link that was typed, pasted or opened in a terminal: so it says on loopback and over TLS.
TYPED = {**SEES, "Sec-Fetch-Site": "none"}


def see(client: TestClient, path: str, **more: Any) -> Any:
    """A page, without following where it leads."""
    return client.get(path, headers={**SEES, **more}, follow_redirects=False)


def form_token(client: TestClient, path: str = "/") -> str:
    """The token that the forms of a page bring along; empty where there is none."""
    return token_in(see(client, path).text)


def token_in(html: str) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', html)
    return found[1] if found else ""


def send_form(client: TestClient, path: str, fields: Mapping[str, str], **headers: str) -> Any:
    """Sends a form from a page of the same server."""
    origin = {"Origin": str(client.base_url).rstrip("/")}
    given = {**SEES, **origin, **headers}
    return client.post(path, data=dict(fields), headers=given, follow_redirects=False)


def act(client: TestClient, path: str, **fields: str) -> Any:
    """Sends a form with the token that it brings along."""
    return send_form(client, path, {"form_token": form_token(client), **fields})


def log_in(client: TestClient, token: str, **fields: str) -> Any:
    return send_form(client, "/login", {"token": token, **fields})
