"""What takes seconds to load is loaded when a job comes to it, not when a process starts."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from tests.support import ROOT

LEARNS = ("scipy", "sklearn", "statsmodels", "pandas", "pyarrow", "distributed")
HEAVY = (*LEARNS, "numpy", "plotly", "deap", "dask", "fastapi", "uvicorn", "sqlalchemy", "alembic",
         "pydantic", "jinja2", "httpx2", "cryptography", "structlog")  # fmt: skip

LATER = (*LEARNS, "numpy", "plotly", "deap", "moocore", "dask", "alembic", "jinja2",
         "cryptography", "croniter", "limits", "httpx2")  # fmt: skip


def loaded(script: str) -> set[str]:
    """The packages that a new process has imported when it comes to the end of a script."""
    told = f"{script}\nimport sys; print('loaded:', *sys.modules)"
    command = [sys.executable, "-c", told]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stdout.splitlines()[-1].removeprefix("loaded:").split()
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("arguments", [["--help"], [], ["--version"]])
def test_a_list_of_commands_imports_none_of_them(arguments: list[str]) -> None:
    found = loaded(f"from cli.main import main; main({arguments})")
    assert found & {*HEAVY, "db", "jobs", "optimizer", "api"} == set()


@pytest.mark.slow
def test_a_process_starts_without_the_libraries_that_learn_and_export() -> None:
    script = "import api.server, cli.tuning.tune, db.trials.trial_log, jobs.worker"
    assert loaded(script) & set(LEARNS) == set()


@pytest.mark.slow
def test_a_started_server_and_its_worker_load_what_they_need_and_no_more(tmp_path: Path) -> None:
    database = tmp_path / "jobs.db"
    upgrade_tables(make_engine(database))  # a migration has libraries of its own
    script = (
        "import atexit, sys; from cli.main import main\n"
        "atexit.register(lambda: print('loaded:', *sys.modules))\n"
        f"main(['serve', '--port', '0', '--db', {str(database)!r}])"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        for line in server.stderr:
            told = json.loads(line)
            if told["event"] == "listening":
                address = told["url"]
            if told["event"] == "worker is ready":
                break
        with urlopen(f"{address}/readyz") as answer:
            assert json.load(answer) == {"status": "ready"}
        server.send_signal(signal.SIGTERM)
        names = server.stdout.read().removeprefix("loaded:").split()
        server.stderr.read()
    found = {name.partition(".")[0] for name in names}
    assert "fastapi" in found
    assert found & set(LATER) == set()
