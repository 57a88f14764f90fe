"""Who has no certificate of the authority is not heard, by the scheduler or by a host."""

import socket
import ssl
import threading
import warnings
from pathlib import Path

import pytest
from distributed import Client

from jobs.cluster.certificates import AUTHORITY, CertificateRole, make_set, security_of
from tests.support.cluster.small_cluster import SmallCluster


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("others") / "set"
    make_set(folder)
    return folder


def trusting(own: Path | None = None) -> ssl.SSLContext:
    """Takes any server, so that what is refused is refused by the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if own:
        context.load_cert_chain(own)
    return context


def heard(address: str, context: ssl.SSLContext | None) -> bytes:
    """The first byte of Dask's greeting; nothing where the connection is refused."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=30) as plain:
            if context is None:
                plain.sendall(bytes(64))
                return plain.recv(1)
            with context.wrap_socket(plain) as spoken:
                return spoken.recv(1)
    except (ssl.SSLError, ConnectionError):
        return b""


@pytest.fixture(params=["scheduler", "host"])
def address(request: pytest.FixtureRequest, encrypted: SmallCluster) -> str:
    return encrypted.scheduler_address if request.param == "scheduler" else encrypted.host_address


@pytest.mark.parametrize("role", list(CertificateRole))
def test_each_role_of_the_set_is_greeted(
    address: str, certificates: Path, role: CertificateRole
) -> None:
    assert heard(address, trusting(certificates / role.file))


def test_without_a_certificate_nothing_is_heard(address: str) -> None:
    assert heard(address, trusting()) == b""


@pytest.mark.parametrize("role", list(CertificateRole))
def test_with_one_of_another_authority_nothing_is_heard(
    address: str, others: Path, role: CertificateRole
) -> None:
    assert heard(address, trusting(others / role.file)) == b""


def test_without_tls_nothing_is_heard(address: str) -> None:
    assert heard(address, None) == b""


def test_a_controller_does_not_speak_to_another_authoritys_scheduler(
    encrypted: SmallCluster, others: Path
) -> None:
    security = security_of(others, CertificateRole.CONTROLLER)
    with pytest.raises(OSError, match="TLS certificate does not match"):
        Client(f"tls://{encrypted.scheduler_address}", security=security, set_as_default=False)


def test_a_controller_with_certificates_does_not_speak_plainly(
    encrypted: SmallCluster, certificates: Path
) -> None:
    security = security_of(certificates, CertificateRole.CONTROLLER)
    with pytest.raises(RuntimeError, match="encryption required"):
        Client(f"tcp://{encrypted.scheduler_address}", security=security, set_as_default=False)


def test_a_controllers_certificate_cannot_pose_as_a_scheduler(certificates: Path) -> None:
    def greeting_of(role: CertificateRole) -> bytes:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(certificates / role.file)
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def serve() -> None:
                connection, _ = listening.accept()
                try:
                    with server.wrap_socket(connection, server_side=True) as spoken:
                        spoken.sendall(b"!")
                except OSError:
                    connection.close()

            thread = threading.Thread(target=serve)
            thread.start()
            address = f"127.0.0.1:{listening.getsockname()[1]}"
            caller = security_of(certificates, CertificateRole.HOST).get_connection_args("worker")
            try:
                return heard(address, caller["ssl_context"])
            finally:
                thread.join()

    assert greeting_of(CertificateRole.SCHEDULER) == b"!"
    assert greeting_of(CertificateRole.CONTROLLER) == b""


def test_no_side_speaks_less_than_tls_1_2(certificates: Path) -> None:
    security = security_of(certificates)
    for role in ("scheduler", "worker", "client"):
        context = security.get_connection_args(role)["ssl_context"]
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
        assert context.verify_mode == ssl.CERT_REQUIRED
    assert security.require_encryption
    assert security.tls_ca_file == str(certificates / AUTHORITY)


def speaking(version: ssl.TLSVersion, own: Path) -> ssl.SSLContext:
    """Speaks one version alone, an old one with the ciphers of its days."""
    context = trusting(own)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of 1.1, which is what is tried
        context.minimum_version = context.maximum_version = version
    return context


def agreed(address: str, context: ssl.SSLContext) -> str | None:
    """The version that both sides speak, or why they speak none."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as plain:
        try:
            with context.wrap_socket(plain) as spoken:
                return spoken.version()
        except ssl.SSLError as error:
            return error.reason


def test_an_old_handshake_is_refused_for_its_version(address: str, certificates: Path) -> None:
    own = certificates / CertificateRole.CONTROLLER.file
    old = speaking(ssl.TLSVersion.TLSv1_1, own)
    said = agreed(address, old)
    if said == "NO_PROTOCOLS_AVAILABLE":
        pytest.skip("the OpenSSL of this machine cannot speak TLS 1.1")
    assert said == "TLSV1_ALERT_PROTOCOL_VERSION"
    assert heard(address, old) == b""
    for version, name in (
        (ssl.TLSVersion.TLSv1_2, "TLSv1.2"),
        (ssl.TLSVersion.TLSv1_3, "TLSv1.3"),
    ):
        assert agreed(address, speaking(version, own)) == name
        assert heard(address, speaking(version, own))
