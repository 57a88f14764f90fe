import pytest

from jobs.cluster.listening import facing, is_loopback, listening_host, scheduler_address
from sampler.common.errors import InputError

LOOPBACK = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "localhost"]
BEYOND = [
    "0.0.0.0",
    "::",
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "192.168.1.1",
    "fe80::1",
    "bench1",
    "127",
]


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_needs_no_certificates(host: str) -> None:
    assert is_loopback(host)
    assert is_loopback(listening_host(host, encrypted=False))


@pytest.mark.parametrize("host", BEYOND)
def test_anything_else_needs_them(host: str) -> None:
    assert listening_host(host, encrypted=True) == host
    with pytest.raises(InputError, match=r"^host: .*reachable from other machines.*--certif"):
        listening_host(host, encrypted=False)


def test_no_host_is_refused_because_dask_would_take_all_interfaces() -> None:
    with pytest.raises(InputError, match=r"^host: give an address"):
        listening_host("", encrypted=True)


def test_a_name_is_never_left_to_be_looked_up_without_certificates() -> None:
    assert listening_host("localhost", encrypted=False) == "127.0.0.1"
    assert listening_host("[::1]", encrypted=False) == "::1"


@pytest.mark.parametrize(
    ("text", "encrypted", "address"),
    [
        ("127.0.0.1", False, "tcp://127.0.0.1:8786"),
        ("localhost:9000", False, "tcp://localhost:9000"),
        ("tcp://[::1]:9000", False, "tcp://[::1]:9000"),
        ("bench.example", True, "tls://bench.example:8786"),
        ("tls://10.0.0.1:8786", True, "tls://10.0.0.1:8786"),
        ("[fe80::1]", True, "tls://[fe80::1]:8786"),
    ],
)
def test_an_address_is_made_whole(text: str, encrypted: bool, address: str) -> None:
    assert scheduler_address(text, encrypted=encrypted) == address


@pytest.mark.parametrize(
    ("text", "encrypted", "why"),
    [
        ("bench.example", False, "another machine.*--certificates"),
        ("tcp://0.0.0.0:8786", False, "another machine.*--certificates"),
        ("tls://127.0.0.1", False, "does not use the certificates.*--certificates"),
        ("tcp://10.0.0.1", True, "write tls://"),
        ("ucx://10.0.0.1", True, "not an address"),
        ("http://127.0.0.1", False, "not an address"),
        ("bench.example:port", True, "not an address"),
        ("bench.example:99999", True, "not an address"),
        ("bench.example/path", True, "not an address"),
        ("", True, "not an address"),
    ],
)
def test_an_address_that_does_not_go_with_the_certificates_is_refused(
    text: str, encrypted: bool, why: str
) -> None:
    with pytest.raises(InputError, match=f"^scheduler: .*{why}"):
        scheduler_address(text, encrypted=encrypted)


def test_a_host_listens_where_its_scheduler_sees_it() -> None:
    assert facing("tcp://127.0.0.1:8786") == "127.0.0.1"
    with pytest.raises(InputError, match=r"^scheduler: cannot reach"):
        facing("tls://no-such-host.invalid:8786")
