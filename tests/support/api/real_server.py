"""``rocktune serve`` as its own process, and an application served in this one."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from tests.support import ROOT, inherited


@contextmanager
def real_server(
    database: Path | str, folder: Path, *, host: str = "127.0.0.1", **variables: str
) -> Iterator[str]:
    """The URL of a server without a worker; in the folder are its log, its output and its token.

    It is as large as these calls need it: it takes any number of requests and of jobs.
    """
    serve = ["serve", "--no-worker", "--host", host, "--port", "0"]
    command = [sys.executable, "-m", "cli.main", *serve]
    log = folder / "server.log"
    environment = {
        **inherited(),
        "PYTHONPATH": str(ROOT),
        "ROCKTUNE_BENCH_DIR": str(folder / "bench"),
        "ROCKTUNE_LOCK": str(folder / "lock"),
        "ROCKTUNE_TOKEN_FILE": str(folder / "token"),
        "ROCKTUNE_RATE_LIMIT": "100000/second",
        "ROCKTUNE_MOST_QUEUED": "1000000",
        **variables,
    }
    with log.open("w") as written, (folder / "server.out").open("w") as printed:
        process = subprocess.Popen(
            [*command, "--db", str(database)],
            cwd=folder,
            env=environment,
            stderr=subprocess.PIPE,
            stdout=printed,
            text=True,
        )
        assert process.stderr is not None
        lines = process.stderr
        listening = threading.Event()
        url: list[str] = []

        def follow() -> None:
            for line in lines:
                written.write(line)
                if not url and '"listening"' in line:
                    url.append(json.loads(line)["url"])
                    listening.set()
            listening.set()

        following = threading.Thread(target=follow)
        following.start()
        try:
            assert listening.wait(60) and url, log.read_text()
            yield url[0]
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            finally:
                process.kill()
                following.join()
                lines.close()


def own_token(folder: Path) -> str:
    """The token of the server whose log is in a folder."""
    return (folder / "token").read_text().strip()


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The URL of an application that a real server in a thread of this process serves."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False))
    sockets = [uvicorn.Config(app, port=0, log_config=None).bind_socket()]
    sockets[0].listen()  # whoever connects before the server is up waits for it
    thread = threading.Thread(target=server.run, kwargs={"sockets": sockets})
    thread.start()
    try:
        yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
