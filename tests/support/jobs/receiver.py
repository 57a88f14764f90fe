"""A receiver of webhooks on a real socket, which can be made to fail in the ways that ones do."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HUGE = 1 << 30  # bytes of an answer
WELL = "well"


@dataclass
class Receiver:
    """What it got; ``fault`` is how it behaves now.

    ``well`` acknowledges, ``500`` and other statuses refuse, ``redirect`` leads to ``elsewhere``,
    ``huge`` acknowledges with a GiB, ``slow`` says nothing until it is let go, ``drip`` sends a
    header byte after byte, ``flood`` one interim answer after the other, ``half`` closes in the
    middle of the status, ``cut`` after it.
    """

    port: int = 0
    fault: str = WELL
    elsewhere: str = ""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    acknowledged: Counter[str] = field(default_factory=Counter)
    let_go: threading.Event = field(default_factory=threading.Event)
    written: int = 0  # bytes of the last huge answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/s3cr3t"

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]

    @property
    def ids(self) -> list[str]:
        return [each["id"] for each in self.messages]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        mine = self.receiver
        mine.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.close_connection = True
        with suppress(OSError):  # the sender has gone
            getattr(self, f"_{mine.fault}", self._status)()

    def do_GET(self) -> None:
        self.receiver.got.append(({}, b"{}"))

    def _well(self) -> None:
        self.receiver.acknowledged[self.headers["webhook-id"]] += 1
        self._say("204 No Content", "\r\n")

    def _status(self) -> None:
        self._say(f"{self.receiver.fault} Whatever", "Content-Length: 0\r\n\r\n")

    def _redirect(self) -> None:
        self._say("307 Temporary Redirect", f"Location: {self.receiver.elsewhere}\r\n\r\n")

    def _huge(self) -> None:
        self.receiver.acknowledged[self.headers["webhook-id"]] += 1
        self._say("200 OK", f"Content-Length: {HUGE}\r\n\r\n")
        self.receiver.written = 0
        while self.receiver.written < HUGE:
            self.receiver.written += self.connection.send(b"x" * (1 << 16))

    def _slow(self) -> None:
        self.receiver.let_go.wait(60)

    def _drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not self.receiver.let_go.wait(0.02):
            self.connection.sendall(b"x")

    def _flood(self) -> None:
        while not self.receiver.let_go.is_set():
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)

    def _half(self) -> None:
        self.wfile.write(b"HTTP/1")

    def _cut(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")

    def _say(self, status: str, rest: str) -> None:
        self.wfile.write(f"HTTP/1.1 {status}\r\n{rest}".encode())
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving(
    fault: str = WELL, port: int = 0, receiver: Receiver | None = None
) -> Iterator[Receiver]:
    """A receiver that listens on loopback, on any port or on one; it may have listened before."""
    receiver = receiver or Receiver()
    receiver.fault = fault
    receiver.let_go.clear()
    handler = type("Handler", (_Handler,), {"receiver": receiver})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="receiver")
    thread.start()
    try:
        yield receiver
    finally:
        receiver.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()
