"""Calls a real server in every way that its description allows, and in many that it does not.

``make prove-interface`` prints what was called how often and what failed; it ends with 1 when
anything did. EXAMPLES=200 sets how many cases are drawn for each operation. The expectations are
those of the tests: tests/support/api/schemathesis.toml.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from sqlalchemy import Engine

from api.app import make_app
from db.access.tokens import Role, make_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from jobs.queue.service_settings import ServiceSettings
from sampler.bench.settings import Settings
from tests.support.api.callers import EXTERNAL, admin, bearer, submit
from tests.support.api.described import Findings, call_everything, from_server
from tests.support.api.finished_job import finished, register
from tests.support.api.real_server import real_server

EXAMPLES = int(os.environ.get("EXAMPLES", "100"))
_FINISHED = 3


def main() -> int:
    """Proves it twice: with an admin's token and with none."""
    failed = 0
    for name in ("an admin's token", "no token"):
        with tempfile.TemporaryDirectory() as folder:
            findings = _called(Path(folder), authenticated=name != "no token")
        _show(name, findings)
        failed += sum(len(each) for each in findings.failures.values())
    return 1 if failed else 0


def _called(folder: Path, *, authenticated: bool) -> Findings:
    database = folder / "rocktune.db"
    engine = make_engine(database)
    upgrade_tables(engine)
    token = make_token(engine, "prover", Role.ADMIN)
    _fill(engine, folder)
    engine.dispose()
    with real_server(database, folder) as url:
        headers = bearer(token) if authenticated else None
        findings = call_everything(from_server(url), examples=EXAMPLES, headers=headers)
    made = findings.statuses[201] + findings.statuses[204]
    assert (made > EXAMPLES) == authenticated, findings.statuses  # the token was sent, or was not
    return findings


def _fill(engine: Engine, folder: Path) -> None:
    """Jobs that are done, and one that runs: else most of what is asked for is not there."""
    settings = Settings(
        db_bench="db_bench", bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0
    )
    service = ServiceSettings(workloads_dir=register(folder / "workloads"))
    with admin(make_app(engine, service)) as client:
        for _ in range(_FINISHED):
            finished(client, engine, settings, trials=14)
        submit(client, EXTERNAL)


def _show(name: str, findings: Findings) -> None:
    print(f"\nwith {name}: {len(findings.operations)} operations")
    rows = Counter({label: findings.cases[label] for label in findings.operations})
    for label in sorted({*rows, *findings.failures}):
        failures = len(findings.failures.get(label, ()))
        print(f"{label:44} {rows[label]:7} cases {failures:4} failures")
    total = sum(len(each) for each in findings.failures.values())
    print(f"{'together':44} {sum(rows.values()):7} cases {total:4} failures")
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(findings.statuses.items()))
    print(f"answers by status: {statuses}")
    for label, found in findings.failures.items():
        for failure in sorted(found):
            print(f"\n{label}: {failure}")


if __name__ == "__main__":
    sys.exit(main())
