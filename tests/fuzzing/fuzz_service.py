"""The service, asked without a network."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from fastapi.testclient import TestClient

from api.app import make_app
from db.engine import make_engine
from db.migrate import upgrade
from jobs.service_settings import ServiceSettings


def sent(data: bytes) -> tuple[int, str]:
    """Status and kind of the answer to a job whose body is this."""
    answer = _client().post("/v1/jobs", content=data, headers={"Content-Type": "application/json"})
    return answer.status_code, answer.headers.get("content-type", "")


@cache
def _client() -> TestClient:
    folder = Path(tempfile.mkdtemp(prefix="rocktune-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    engine = make_engine(folder / "rocktune.db")
    upgrade(engine)
    app = make_app(engine, ServiceSettings(rate_limit="1000000/second"))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
