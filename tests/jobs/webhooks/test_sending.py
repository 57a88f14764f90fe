"""One request of a webhook: to whom it may go, and how whoever answers badly is told."""

import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import webhooks
from jobs.webhooks import hosts_named, is_public, post, require_url
from sampler.common.errors import InputError
from tests.support import unused_port
from tests.support.api.own_certificate import own_certificate
from tests.support.jobs.receiver import HUGE, receiving
from tests.support.jobs.service_desk import wait_until

HERE = frozenset({"127.0.0.1"})
# RFC 6890 and its successors: what is not the internet.
SPECIAL = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/29", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "::1/128", "::/128", "::7f00:0/104", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    "2001:db8::/32", "100::/64",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001::1"]


@st.composite
def special(draw: Any) -> str:
    network = ipaddress.ip_network(draw(st.sampled_from(SPECIAL)))
    return str(network[draw(st.integers(0, network.num_addresses - 1))])


@given(special())
def test_no_address_of_this_machine_or_its_networks_is_public(address: str) -> None:
    assert not is_public(address)
    if "." in address:  # however it is written as IPv6
        number = int(ipaddress.IPv4Address(address))
        for prefix in (0xFFFF << 32, 0x64FF9B << 96, 0):
            assert not is_public(str(ipaddress.IPv6Address(prefix | number)))
        assert not is_public(str(ipaddress.IPv6Address((0x2002 << 112) | (number << 80))))


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_are(address: str) -> None:
    assert is_public(address)
    if "." in address:
        assert is_public(f"::ffff:{address}") and is_public(f"64:ff9b::{address}")


@given(special())
def test_a_url_with_such_an_address_is_refused_unless_the_operator_names_it(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    url = f"http://{host}:8080/x"
    with pytest.raises(InputError, match="ROCKTUNE_WEBHOOK_ALLOW") as refused:
        require_url(url, frozenset())
    assert refused.value.field == "url"
    require_url(url, hosts_named(f"chat.internal, {host}"))


def test_a_url_is_as_long_as_it_may_be_where_it_is_sent() -> None:
    longest = "https://chat.example.com/".ljust(2000, "x")
    require_url(longest, ())
    with pytest.raises(InputError, match="is 2001 characters long; the limit is 2000"):
        require_url(longest + "x", ())


def test_hosts_are_named_as_urls_name_them() -> None:
    assert hosts_named("") == frozenset()
    assert hosts_named(" Chat.Internal. ,[::1],") == {"chat.internal", "::1"}
    require_url("http://chat.internal/x", frozenset())  # what it means is looked at later


@pytest.mark.parametrize(
    "url", ["https://me:it@a.example/", "https://me@a.example/", "https://a.example/#x"]
)
def test_a_url_with_a_password_or_a_fragment_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(InputError) as refused:
        require_url(url, frozenset())
    assert "a.example" not in str(refused.value)


@pytest.fixture
def meaning(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names mean; of others this machine decides."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *more: Any, **options: Any) -> Any:
        return [
            each
            for address in known.get(host, [host])
            for each in real(address, port, *more, **options)
        ]

    monkeypatch.setattr(webhooks.socket, "getaddrinfo", look_up)
    return known


def test_a_name_that_leads_here_is_not_called(meaning: dict[str, list[str]]) -> None:
    with receiving() as receiver:
        for addresses in (["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"]):
            meaning["rebound.example"] = addresses
            url = f"http://rebound.example:{receiver.port}/"
            status, error = post(url, b"{}", {})
            assert status is None and error is not None
            assert "not a public address" in error and "ROCKTUNE_WEBHOOK_ALLOW" in error
        assert post(url, b"{}", {}, allowed={"127.0.0.1"})[0] is None, "the name is not named"
        assert receiver.got == []
        meaning["rebound.example"] = ["127.0.0.1"]
        assert post(url, b"{}", {}, allowed={"rebound.example"}) == (204, None)
        (headers, _) = receiver.got[0]
        assert headers["host"] == f"rebound.example:{receiver.port}"


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "localhost"])
def test_other_ways_to_write_loopback_are_not_called(host: str) -> None:
    with receiving() as receiver:
        status, error = post(f"http://{host}:{receiver.port}/", b"{}", {})
        assert status is None and error is not None and "public" in error
        assert receiver.got == []


def test_the_next_address_is_tried_where_one_does_not_answer(
    meaning: dict[str, list[str]],
) -> None:
    with receiving() as receiver:
        meaning["two.example"] = ["127.0.0.2", "127.0.0.1"]  # it listens at the second alone
        url = f"http://two.example:{receiver.port}/"
        assert post(url, b"{}", {}, allowed={"two.example"}) == (204, None)


def test_what_is_sent_is_json_with_the_headers_given() -> None:
    with receiving() as receiver:
        url = f"{receiver.url}?a=b%20c"
        assert post(url, b'{"text": 1}', {"webhook-id": "msg_1"}, allowed=HERE) == (204, None)
    ((headers, body),) = receiver.got
    assert body == b'{"text": 1}'
    assert headers["content-type"] == "application/json"
    assert headers["webhook-id"] == "msg_1"
    assert headers["user-agent"].startswith("Rocktune/")


@pytest.mark.parametrize("fault", ["500", "404", "429", "301"])
def test_another_status_is_no_acknowledgement(fault: str) -> None:
    with receiving(fault) as receiver:
        status, error = post(receiver.url, b"{}", {}, allowed=HERE)
    assert (status, bool(error)) == (int(fault), True)
    assert len(receiver.got) == 1


def test_a_redirect_leads_nowhere() -> None:
    with receiving() as inside, receiving("redirect") as receiver:
        receiver.elsewhere = inside.url
        status, error = post(receiver.url, b"{}", {}, allowed=HERE)
        assert status == 307 and "redirect" in str(error)
        assert inside.got == []


def test_of_a_huge_answer_next_to_nothing_is_read() -> None:
    with receiving("huge") as receiver:
        assert post(receiver.url, b"{}", {}, allowed=HERE) == (200, None)
    assert receiver.written < HUGE / 16


@pytest.mark.parametrize("fault", ["slow", "drip", "flood"])
def test_who_does_not_answer_is_waited_for_no_longer_than_it_may(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "ANSWER_SECONDS", 0.3)
    before = set(threading.enumerate())
    with receiving(fault) as receiver:
        status, error = post(receiver.url, b"{}", {}, allowed=HERE)
        assert status is None and error is not None and "timed out" in error
        wait_until(lambda: receiver.got, seconds=30, what="the request has come")
    assert len(receiver.got) == 1
    wait_until(lambda: {*threading.enumerate()} <= before, seconds=30, what="no thread is left")


@pytest.mark.parametrize("fault", ["half", "cut", "gone", "no name", "too long"])
def test_who_is_not_there_is_told(fault: str) -> None:
    host = {"no name": "no-such-host.invalid", "too long": "a" * 70 + ".example"}.get(fault)
    with receiving(fault if fault == "cut" else "half") as receiver:
        port = unused_port() if fault == "gone" else receiver.port
        status, error = post(
            f"http://{host or '127.0.0.1'}:{port}/", b"{}", {}, allowed={"127.0.0.1", host or ""}
        )
    said = {"gone": "refused", "no name": "name", "too long": "label"}
    assert status is None and error is not None and said.get(fault, "closed") in error.lower()


@contextmanager
def behind_tls(paths: tuple[Path, Path], answer: bytes) -> Iterator[int]:
    """Answers one request after another over TLS; the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*paths)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)

        def serve() -> None:
            while not over.is_set():
                try:
                    with listening.accept()[0] as plain:
                        plain.settimeout(10)
                        with context.wrap_socket(plain, server_side=True) as connected:
                            got = b""
                            while not got.endswith(b"\r\n\r\n{}"):
                                got += connected.recv(65536)
                            connected.sendall(answer)
                except OSError:
                    continue

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            over.set()
            thread.join()


def test_tls_is_for_the_name_and_by_whom_this_machine_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meaning: dict[str, list[str]]
) -> None:
    paths = own_certificate(tmp_path, "localhost")
    with behind_tls(paths, b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n") as port:
        url, allowed = f"https://localhost:{port}/", {"localhost", "other.example"}
        status, error = post(url, b"{}", {}, allowed=allowed)
        assert status is None and "certificate" in str(error)
        monkeypatch.setenv("SSL_CERT_FILE", str(paths[0]))
        assert post(url, b"{}", {}, allowed=allowed) == (202, None)
        meaning["other.example"] = ["127.0.0.1"]
        status, error = post(url.replace("localhost", "other.example"), b"{}", {}, allowed=allowed)
        assert status is None and "certificate" in str(error)
