"""Log-in of browsers: what a session is worth, and what others can do with it."""

import hashlib
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select, update

from api.app import make_app
from api.pages.log_in import safe_path
from db.access.tokens import Role, list_tokens, open_session, revoke_token, token_of_session
from db.schema.tables import browser_session
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.browser import SEES, TYPED, form_token, log_in, see, send_form
from tests.support.api.callers import (
    EXTERNAL,
    bearer,
    require_problem,
    secret_of,
    stranger,
    submit,
)

pytestmark = pytest.mark.one_database


@pytest.fixture
def client(database: Engine) -> Iterator[TestClient]:
    """A browser that nobody has logged in with."""
    with stranger(make_app(database)) as client:
        yield client


def cookies_of(answer: object) -> list[str]:
    return answer.headers.get_list("set-cookie")  # type: ignore[attr-defined, no-any-return]


def test_a_token_opens_the_dashboard_and_the_interface(
    client: TestClient, tokens: dict[Role, str]
) -> None:
    asked = see(client, "/?state=done&search=a%20b")
    assert asked.status_code == 303
    assert asked.headers["location"] == "/login?next=/%3Fstate%3Ddone%26search%3Da%2520b"
    form = see(client, asked.headers["location"]).text
    assert form.count('value="/?state=done&amp;search=') == 1 and "rocktune token show" in form
    assert require_problem(client.get("/")), "who did not ask for a page gets none"
    answer = log_in(client, tokens[Role.READ], next="/?state=done")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?state=done")
    shown = see(client, "/")
    assert shown.status_code == 200
    assert "has-read, role read" in shown.text
    assert client.get("/v1/jobs").json() == {"jobs": [], "next": None}


def test_the_session_s_cookie_is_for_this_server_alone(
    client: TestClient, tokens: dict[Role, str]
) -> None:
    (plain,) = cookies_of(log_in(client, tokens[Role.READ]))
    assert plain.startswith("rocktune=")
    parts = {part.strip().lower() for part in plain.split(";")[1:]}
    assert parts == {"httponly", "path=/", "samesite=lax", f"max-age={12 * 3600}"}
    client.cookies.clear()
    (secure,) = cookies_of(
        log_in_from(client, tokens[Role.READ], "https://rocktune.example", "rocktune.example")
    )
    assert secure.startswith("__Host-rocktune=")
    assert "; Secure" in secure and "; HttpOnly" in secure and "Domain" not in secure


def log_in_from(client: TestClient, token: str, origin: str, host: str) -> object:
    return send_form(client, "/login", {"token": token}, Origin=origin, Host=host)


def test_nothing_that_is_kept_or_logged_can_log_anybody_in(
    client: TestClient, database: Engine, tokens: dict[Role, str],
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    log_in(client, tokens[Role.ADMIN])
    cookie = client.cookies["rocktune"]
    with database.connect() as connection:
        (row,) = connection.execute(select(browser_session)).all()
    assert row.secret_hash == hashlib.sha256(cookie.encode()).hexdigest()
    said = caplog.text + "".join(capsys.readouterr()) + str(row)
    for secret in (cookie, tokens[Role.ADMIN], secret_of(tokens[Role.ADMIN])):
        assert secret not in said
    client.cookies.clear()
    client.cookies["rocktune"] = row.secret_hash
    assert client.get("/v1/jobs").status_code == 401


@pytest.mark.usefixtures("tokens")
def test_a_forged_cookie_is_worth_nothing(client: TestClient) -> None:
    for forged in ("", "x", "A" * 43, "A" * 44, "é" * 43, "A" * 5000, "../" * 14):
        for name in ("rocktune", "__Host-rocktune"):
            cookie = {"Cookie": f"{name}={forged}".encode()}
            assert client.get("/v1/jobs", headers=cookie).status_code == 401
            page = client.get("/", headers={**SEES, **cookie}, follow_redirects=False)  # type: ignore[dict-item]
            assert (page.status_code, page.headers["location"]) == (303, "/login?next=/")


def test_the_session_ends_with_its_token(
    client: TestClient, database: Engine, tokens: dict[Role, str]
) -> None:
    log_in(client, tokens[Role.SUBMIT])
    assert client.get("/v1/jobs").status_code == 200
    revoke_token(database, "has-submit")
    assert client.get("/v1/jobs").status_code == 401
    assert see(client, "/").headers["location"] == "/login?next=/"


def test_the_session_ends_with_its_time(
    client: TestClient, database: Engine, tokens: dict[Role, str]
) -> None:
    log_in(client, tokens[Role.READ])
    with database.begin() as connection:
        late = datetime.now(UTC) - timedelta(seconds=1)
        connection.execute(update(browser_session).values(expires_at=late))
    assert client.get("/v1/jobs").status_code == 401
    log_in(client, tokens[Role.READ])
    with database.connect() as connection:
        assert len(connection.execute(select(browser_session)).all()) == 1, "old ones are cleared"


def test_log_out_ends_it_wherever_the_cookie_went(
    client: TestClient, tokens: dict[Role, str]
) -> None:
    log_in(client, tokens[Role.READ])
    stolen = client.cookies["rocktune"]
    refused = send_form(client, "/logout", {})
    assert refused.status_code == 403, "a page of another site cannot log anybody out"
    answer = send_form(client, "/logout", {"form_token": form_token(client)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "rocktune" not in client.cookies
    headers = {"Cookie": f"rocktune={stolen}"}
    assert client.get("/v1/jobs", headers=headers).status_code == 401


def test_a_session_that_somebody_else_put_there_is_not_taken_over(
    client: TestClient, database: Engine, tokens: dict[Role, str]
) -> None:
    planted = "B" * 43
    client.cookies["rocktune"] = planted
    log_in(client, tokens[Role.ADMIN])
    given = [cookie.value for cookie in client.cookies.jar if cookie.name == "rocktune"]
    assert token_of_session(database, planted) is None
    assert any(value and token_of_session(database, value) for value in given)


@pytest.mark.parametrize(
    ("address", "headers", "behind_tls"),
    [
        ("https://rocktune.example", {}, False),
        ("http://rocktune.example", {"X-Forwarded-Proto": "https"}, False),
        ("http://rocktune.example", {"Sec-Fetch-Site": "same-origin"}, False),
        ("http://rocktune.example", {}, True),
        ("http://127.0.0.1.example", {}, True),
    ],
)
def test_behind_tls_a_session_under_the_plain_name_is_worth_nothing(
    database: Engine, tokens: dict[Role, str],
    address: str, headers: dict[str, str], behind_tls: bool,
) -> None:  # fmt: skip
    planted = open_session(database, list_tokens(database)[0].id, lives=timedelta(hours=1))
    app = make_app(database, ServiceSettings(behind_tls=behind_tls))
    with TestClient(app, base_url=address) as client:
        plain, safe = ({"Cookie": f"{name}={planted}"} for name in ("rocktune", "__Host-rocktune"))
        assert client.get("/v1/jobs", headers=headers | plain).status_code == 401
        assert see(client, "/", **headers, **plain).headers["location"] == "/login?next=/"
        assert client.get("/v1/jobs", headers=headers | safe).status_code == 200
        link = f"/login?token={tokens[Role.READ]}"
        (given,) = cookies_of(see(client, link, **{**TYPED, **headers, **plain}))
        assert given.startswith("__Host-rocktune=") and "; Secure" in given
        assert token_of_session(database, planted) is not None, "it is not this browser's to end"


@pytest.mark.parametrize(
    "address", ["http://localhost:8000", "http://127.0.0.1:8000", "http://[::1]:8000"]
)
def test_on_loopback_a_session_needs_no_tls_though_a_proxy_has_it(
    database: Engine, tokens: dict[Role, str], address: str
) -> None:
    app = make_app(database, ServiceSettings(behind_tls=True))
    with TestClient(app, base_url=address) as client:
        log_in(client, tokens[Role.READ])
        assert see(client, "/", **{"Sec-Fetch-Site": "none"}).status_code == 200


def test_to_log_in_again_ends_the_session_before(
    client: TestClient, database: Engine, tokens: dict[Role, str]
) -> None:
    log_in(client, tokens[Role.READ])
    before = client.cookies["rocktune"]
    log_in(client, tokens[Role.ADMIN])
    assert client.cookies["rocktune"] != before
    assert token_of_session(database, before) is None


def test_only_a_path_of_this_server_is_gone_on_to() -> None:
    for elsewhere in (
        "//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "evil",
        "/\t/evil.example", "/x\r\nX: y", "\\\\evil.example", "", "/ /evil", "/é", "/x\\y",
    ):  # fmt: skip
        assert safe_path(elsewhere) == "/"
        assert safe_path("/jobs/1?x=%2F#y") == "/jobs/1?x=%2F#y"


def test_the_log_in_leads_nowhere_else(client: TestClient, tokens: dict[Role, str]) -> None:
    for elsewhere in ("//evil.example", "/\\evil.example"):
        answer = log_in(client, tokens[Role.READ], next=elsewhere)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        page = client.get("/login", params={"next": elsewhere}, headers=SEES)
        assert '<input type="hidden" name="next" value="/">' in page.text


def test_a_wrong_token_is_told_beside_its_field(
    client: TestClient, tokens: dict[Role, str]
) -> None:
    for wrong in ("", "rt_x", tokens[Role.READ][:-1], "é\0"):
        answer = log_in(client, wrong, next="/jobs/1")
        assert answer.status_code == 401
        assert "unknown or revoked" in answer.text and 'aria-invalid="true"' in answer.text
        assert not cookies_of(answer)
        assert tokens[Role.READ][:-1] not in answer.text
        assert 'name="next" value="/jobs/1"' in answer.text


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost:3000"])
def test_a_page_of_another_site_can_neither_log_in_nor_act(
    client: TestClient, tokens: dict[Role, str], origin: str
) -> None:
    for said in ({"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert send_form(client, "/login", {"token": tokens[Role.READ]}, **said).status_code == 403
    refused = send_form(client, "/login", {"token": tokens[Role.READ]}, Origin=origin)
    assert refused.status_code == 403 and not cookies_of(refused)
    log_in(client, tokens[Role.ADMIN])
    token = form_token(client)
    job = submit(client, EXTERNAL, **{"X-Form-Token": token})
    for headers in ({"Origin": origin, "X-Form-Token": token}, {"Origin": origin}):
        assert client.post(f"/v1/jobs/{job}/cancel", headers=headers).status_code == 403
    assert client.get(f"/v1/jobs/{job}").json()["state"] == "running"


def test_what_changes_something_wants_the_form_s_token(
    client: TestClient, tokens: dict[Role, str], database: Engine
) -> None:
    log_in(client, tokens[Role.ADMIN])
    own = {"Origin": "http://localhost"}
    others = open_session(database, list_tokens(database)[0].id, lives=timedelta(hours=1))
    for given in ({}, {"X-Form-Token": ""}, {"X-Form-Token": "0" * 64}, {"X-Form-Token": others}):
        refused = client.post("/v1/jobs", json=EXTERNAL, headers={**own, **given})
        assert refused.status_code == 403, given
        require_problem(refused)
    submit(client, EXTERNAL, **own, **{"X-Form-Token": form_token(client)})
    bare = client.post("/v1/jobs", json=EXTERNAL, headers=bearer(tokens[Role.SUBMIT]))
    assert bare.status_code == 201, "no browser bears a token by itself"


def test_the_role_of_the_token_is_that_of_the_session(
    client: TestClient, tokens: dict[Role, str]
) -> None:
    log_in(client, tokens[Role.READ])
    answer = client.post("/v1/jobs", json=EXTERNAL, headers={"X-Form-Token": form_token(client)})
    assert answer.status_code == 403
    assert "submit" in require_problem(answer)["detail"]


def test_a_bearer_s_token_goes_before_the_session(
    client: TestClient, tokens: dict[Role, str]
) -> None:
    log_in(client, tokens[Role.ADMIN])
    assert client.get("/v1/jobs", headers=bearer("rt_x")).status_code == 401


def test_a_foreign_name_that_leads_here_sees_no_page(
    client: TestClient, tokens: dict[Role, str]
) -> None:
    log_in(client, tokens[Role.ADMIN])
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1", ""):
        # The browser sends a cookie to the name that it is of, and to no other.
        answer = see(client, "http://evil.example/", Host=host)
        assert answer.headers["location"] == "/login?next=/", host
    answer = see(client, "/", Origin="https://evil.example")
    assert answer.status_code == 403


class TestALinkWithAToken:
    def test_logs_in_and_leads_to_an_address_without_it(
        self, client: TestClient, tokens: dict[Role, str]
    ) -> None:
        answer = see(client, f"/login?token={tokens[Role.ADMIN]}", **TYPED)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        shown = see(client, "/")
        assert "has-admin, role admin" in shown.text
        for text in (answer.text, str(answer.headers), shown.text):
            assert secret_of(tokens[Role.ADMIN]) not in text

    def test_leads_to_a_path_of_this_server_alone(
        self, client: TestClient, tokens: dict[Role, str]
    ) -> None:
        for wanted, led in (("/jobs/1", "/jobs/1"), ("//evil.example", "/")):
            link = {"token": tokens[Role.READ], "next": wanted}
            answer = client.get("/login", params=link, headers=TYPED, follow_redirects=False)
            assert answer.headers["location"] == led

    def test_that_is_wrong_leads_to_the_form_and_is_not_shown(
        self, client: TestClient, tokens: dict[Role, str]
    ) -> None:
        for wrong in ("", "rt_x", tokens[Role.READ][:-1], "<script>", "x" * 9000):
            link = {"token": wrong, "next": "/jobs/1?x=2&y=3"}
            answer = client.get("/login", params=link, headers=TYPED, follow_redirects=False)
            assert answer.status_code == 303 and not cookies_of(answer)
            led = answer.headers["location"]
            assert led == "/login?next=/jobs/1%3Fx%3D2%26y%3D3&refused=unknown"
            form = see(client, led)
            assert "unknown or revoked" in form.text
            assert 'name="next" value="/jobs/1?x=2&amp;y=3"' in form.text

    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    def test_on_a_page_of_another_site_logs_nobody_in(
        self, client: TestClient, tokens: dict[Role, str], site: str
    ) -> None:
        planted = f"/login?token={tokens[Role.READ]}"
        answer = see(client, planted, **{"Sec-Fetch-Site": site})
        assert answer.headers["location"] == "/login?next=/&refused=foreign"
        assert not cookies_of(answer)
        assert "Opened from another site" in see(client, answer.headers["location"]).text

    def test_over_plain_http_asks_before_it_logs_in(
        self, client: TestClient, database: Engine, tokens: dict[Role, str]
    ) -> None:
        """There no browser says which site a link is on: it may be one that plants its token."""
        log_in(client, tokens[Role.ADMIN])
        before = client.cookies["rocktune"]
        asked = see(client, f"/login?token={tokens[Role.READ]}&next=/hosts")
        assert asked.status_code == 200 and not cookies_of(asked)
        assert token_of_session(database, before) is not None
        assert "<b>has-read</b> (role read)" in asked.text
        assert asked.headers["referrer-policy"] == "strict-origin"
        assert asked.headers["cache-control"] == "no-store"
        fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked.text))
        assert fields == {"next": "/hosts", "token": tokens[Role.READ]}
        planted = send_form(client, "/login", fields, Origin="http://evil.example")
        assert planted.status_code == 403
        answer = send_form(client, "/login", fields)
        assert (answer.status_code, answer.headers["location"]) == (303, "/hosts")
        assert "has-read, role read" in see(client, "/").text

    def test_over_plain_http_that_is_wrong_leads_to_the_form(self, client: TestClient) -> None:
        answer = see(client, "/login?token=rt_x")
        assert answer.headers["location"] == "/login?next=/&refused=unknown"

    def test_at_another_page_is_not_carried_on(
        self, client: TestClient, tokens: dict[Role, str]
    ) -> None:
        answer = see(client, f"/jobs/1?token={tokens[Role.READ]}&x=1")
        assert answer.headers["location"] == "/login?next=/jobs/1%3Fx%3D1"


def test_every_page_may_do_little_and_stand_in_no_frame(anyone: TestClient) -> None:
    for path in ("/", "/login", "/nowhere", "/jobs/99", "/jobs/x", "/?state=no"):
        answer = anyone.get(path, headers=SEES)
        policy = dict(part.strip().split(" ", 1) for part in
                      answer.headers["content-security-policy"].split(";"))  # fmt: skip
        assert policy["default-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
        assert policy["form-action"] == "'self'" and policy["base-uri"] == "'none'"
        assert "unsafe" not in str(policy) and "script-src" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert "<script>" not in answer.text and " style=" not in answer.text
        assert " onclick" not in answer.text and "//" not in answer.text
