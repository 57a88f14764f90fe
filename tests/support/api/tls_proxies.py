"""The proxies of ``deploy/``, run as they are but for port, certificate and server."""

import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.support import ROOT, unused_port
from tests.support.api.nginx import FRAME, PROGRAM
from tests.support.api.own_certificate import own_certificate

NAME = "tuning.example"
PROXIES = ("nginx", "caddy")


class Proxy:
    """A running one, and how somebody in the network asks it."""

    def __init__(self, port: int, trusted: ssl.SSLContext) -> None:
        self.origin = f"https://{NAME}:{port}"
        self._port, self._trusted = port, trusted

    def client(self, address: str) -> httpx2.Client:
        """A client at an address of loopback, as if it were one of the network."""
        transport = httpx2.HTTPTransport(local_address=address, verify=self._trusted, retries=8)
        return httpx2.Client(
            transport=transport,
            timeout=60,
            base_url=f"https://127.0.0.1:{self._port}",
            headers={"Host": f"{NAME}:{self._port}"},
        )

    def ask(
        self, client: httpx2.Client, method: str, path: str, **sent: object
    ) -> httpx2.Response:
        """One request, by the name that the certificate is for."""
        return client.request(method, path, extensions={"sni_hostname": NAME}, **sent)  # type: ignore[arg-type]


@contextmanager
def shipped_proxy(kind: str, url: str, folder: Path) -> Iterator[Proxy]:
    """One of ``PROXIES`` before the server at an address."""
    certificate, key = own_certificate(folder, NAME)
    port = unused_port()
    shipped = (ROOT / "deploy" / {"nginx": "nginx.conf", "caddy": "Caddyfile"}[kind]).read_text()
    places = {
        "/etc/rocktune/tls/certificate.pem": str(certificate),
        "/etc/rocktune/tls/key.pem": str(key),
        "127.0.0.1:8080": url.removeprefix("http://"),
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        f"{NAME} {{": f"https://{NAME}:{port} {{\n\tbind 127.0.0.1",
    }
    for shown, here in places.items():
        assert shown in shipped or shown in (f"{NAME} {{", "listen 443 ssl;"), shown
        shipped = shipped.replace(shown, here)
    configuration = folder / kind
    if kind == "nginx":
        configuration.write_text(FRAME.format(folder=folder, server=shipped))
        command = [PROGRAM, "-p", folder, "-c", configuration, "-e", folder / "error.log"]
    else:
        configuration.write_text("{\n\tadmin off\n\tauto_https off\n}\n" + shipped)
        command = ["caddy", "run", "--config", configuration, "--adapter", "caddyfile"]
    with (folder / "proxy.log").open("w") as log:
        environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield Proxy(port, ssl.create_default_context(cafile=certificate))
    finally:
        process.terminate()
        process.wait(30)
