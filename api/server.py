"""The server process: HTTP, and the worker beside it."""

import gc
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI
from sqlalchemy import Engine

from api.app import make_app
from api.services.dependencies import builds_here
from jobs.cluster.listening import is_loopback
from jobs.queue.service_settings import ServiceSettings
from jobs.worker import Worker
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe
from sampler.bench.settings import Settings
from sampler.common.errors import InputError

_log = structlog.get_logger("server")
_GRACE_SECONDS = 5
# Who listens on all addresses is found at this one.
_NEAREST = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # nosec B104: replaced, not listened on
_IN_THE_CLEAR = (
    "tokens cross the network unencrypted: put a TLS proxy in front of this server, then set "
    "ROCKTUNE_BEHIND_TLS=1"
)


class _Server(uvicorn.Server):
    """Ends long answers and the worker as soon as it is told to stop."""

    def __init__(self, config: uvicorn.Config, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping.set()
        super().handle_exit(sig, frame)

    def told_early(self, sig: int, frame: FrameType | None) -> None:
        """Of a signal that comes while nobody else listens to any: before it runs, or after."""
        del sig, frame
        self._stopping.set()
        self.should_exit = True


def serve(
    engine: Engine,
    settings: Settings,
    service: ServiceSettings,
    *,
    host: str,
    port: int,
    with_worker: bool,
    is_listening: Callable[[str], None],
) -> None:
    """Serves until SIGTERM or SIGINT; then finishes what is being answered and stops.

    Port 0 is any. ``is_listening`` is told where a browser on this machine finds it, as soon as
    it listens.

    Raises:
        InputError: The address cannot be used.
        RuntimeError: The worker has failed.
    """
    stopping = threading.Event()
    installed = _installed(settings) if with_worker else None
    app = make_app(
        engine,
        service,
        installed=installed,
        builds=builds_here(settings, installed) if with_worker else None,
        stopping=stopping.is_set,
    )
    listening = _listen(host, port)
    if not is_loopback(host) and not service.behind_tls:
        _log.warning(_IN_THE_CLEAR, host=host)
    worker = Worker(engine, settings, service) if with_worker else None
    _run(app, listening, worker, stopping, is_listening, service.trusted_proxies)


def _run(
    app: FastAPI,
    listening: socket.socket,
    worker: Worker | None,
    stopping: threading.Event,
    is_listening: Callable[[str], None],
    trusted_proxies: str,
) -> None:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        # Of others the client's address would be for anyone to write.
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=trusted_proxies,
    )
    server = _Server(config, stopping)
    failure: list[BaseException] = []

    def work() -> None:
        assert worker is not None
        try:
            worker.run()
        except BaseException as error:
            failure.append(error)
            _log.error("the worker has failed; stopping the server", exc_info=error)
        finally:
            stopping.set()
            server.should_exit = True

    def stop_worker() -> None:
        assert worker is not None
        stopping.wait()
        worker.stop()

    threads = [] if worker is None else [
        threading.Thread(target=stop_worker, name="stop", daemon=True),
        threading.Thread(target=work, name="worker"),
    ]  # fmt: skip
    # The server raises a signal that it caught once more when it has stopped: to no effect then.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.told_early)
    for thread in threads:
        thread.start()
    address, port, *_ = listening.getsockname()
    _log.info("listening", url=_url(address, port), worker=worker is not None)
    is_listening(_url(_NEAREST.get(address, address), port))
    # What was imported stays: a collection that went through all of it would stop every page.
    gc.collect()
    gc.freeze()
    try:
        server.run(sockets=[listening])
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    _log.info("stopped")
    if failure:
        raise RuntimeError(f"the worker has failed: {failure[0]}")


def _url(address: str, port: int) -> str:
    shown = f"[{address}]" if ":" in address else address
    return f"http://{shown}:{port}"


# A client that takes nothing of what it asked for, or has vanished, holds an answer, its place
# among the exports and its connection to the database no longer than this.
_UNREAD_SECONDS = 30


def _listen(host: str, port: int, *, unread_seconds: float = _UNREAD_SECONDS) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it (tcp(7)). It also counts while a client leaves its window full.
    milliseconds = int(1000 * unread_seconds)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        problem = f"cannot listen on {host} port {port}: {error.strerror or error}"
        raise InputError("port", f"{problem}; choose another port") from None
    return listening


def _installed(settings: Settings) -> InstalledDbBench | None:
    """The db_bench of this machine, so that a job is checked against it before it is taken."""
    try:
        return probe(find_db_bench(settings.db_bench))
    except InputError as error:
        _log.warning("no db_bench found here; only other benchmarks can run", why=str(error))
        return None
