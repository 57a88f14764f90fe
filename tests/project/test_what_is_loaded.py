"""What takes seconds to load is loaded when a job comes to it, not when a process starts."""

import subprocess
import sys

import pytest

from tests.support import ROOT

LEARNS = ("scipy", "sklearn", "statsmodels", "pandas", "pyarrow", "distributed")
HEAVY = (*LEARNS, "numpy", "plotly", "deap", "dask", "fastapi", "uvicorn", "sqlalchemy", "alembic",
         "pydantic", "jinja2", "httpx2", "cryptography", "structlog")  # fmt: skip


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
    script = "import api.server, cli.tuning.run_here, db.trials.trial_log, jobs.worker"
    assert loaded(script) & set(LEARNS) == set()
