"""Debian's nginx as a proxy in its default form: one ``proxy_pass``, and no other line."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

PROGRAM = "/usr/sbin/nginx"
# Around a server of whatever form: all that nginx writes stands in a folder of the test.
FRAME = """\
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""
_SERVER = """\
    server {{
        listen unix:{folder}/public;
        location {location} {{
            proxy_pass {url};
            {more}
        }}
    }}
"""


@contextmanager
def nginx_before(
    url: str, folder: Path, *, location: str = "/", more: str = ""
) -> Iterator[httpx2.Client]:
    """A client of a proxy before a server, as somebody in the network is one.

    ``location`` is the path that it passes on, ``more`` further lines about it.

    It listens on a socket of the file system: no port need be free. Its logs are in the folder.
    """
    configuration = folder / "nginx.conf"
    configuration.write_text(
        FRAME.format(
            folder=folder,
            server=_SERVER.format(folder=folder, url=url, location=location, more=more),
        )
    )
    process = subprocess.Popen(
        [PROGRAM, "-p", folder, "-c", configuration, "-e", folder / "error.log"]
    )
    transport = httpx2.HTTPTransport(uds=str(folder / "public"), retries=5)
    try:
        with httpx2.Client(
            transport=transport, base_url="http://tuning.example", timeout=60
        ) as client:
            yield client
    finally:
        process.terminate()
        process.wait(30)
