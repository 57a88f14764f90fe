"""Experiments that have ended, as a database keeps them: nothing is measured."""

from typing import Any

from sqlalchemy import Engine, update

from db.connection.engine import writing
from db.schema.job_row import JobState
from db.schema.tables import job as job_table
from tests.support.api.stored_job import remember

COMPARE = {"kind": "compare", "b": "block_size=16KiB"}
ROW = {
    "unit": "", "medians": {"A": 2.0, "B": 3.0}, "percent": 50.0, "low": 40.0, "high": 60.0,
    "p": 0.001, "p_holm": 0.002, "rounds": 5, "could_show_percent": 3.0, "better": "A",
}  # fmt: skip
RESULTS: dict[str, Any] = {
    "compare": {
        "tables": [
            {"workload": "load-quick", "before": "A", "after": "B", "metrics": {"waf": ROW}},
        ],
        "verdict": ["load-quick, B against A: worse in waf +50.0%"],
    },
    "upgrade-check": {
        "cases": [
            {
                "what": "the old defaults",
                "metrics": {
                    "waf": {
                        "metric": "waf", "old": 2.0, "new": 3.0, "pairs": 3, "p_holm": 0.01,
                        "significant": True, "worse": True, "better": "min",
                        "smallest_change": 0.02,
                        "change": {"percent": 50.0, "low": 40.0, "high": 60.0},
                    }
                },
            }
        ],
        "verdict": ["WAF +50.0% with the old defaults: worse."],
        "worse": True,
    },
    "profile-check": {
        "fits": False,
        "verdict": "The load does not match the database.",
        "rows": [{"what": "write amplification", "database": 2.0, "load": None,
                  "verdict": "differs", "advice": "change num"}],
    },
}  # fmt: skip


def end_experiment(engine: Engine, job: int, kind: str) -> None:
    """Ends a submitted one with a result of the kind, and a file."""
    with writing(engine) as connection:
        values = {"kind": kind, "state": JobState.DONE, "result": RESULTS[kind]}
        connection.execute(update(job_table).where(job_table.c.id == job).values(values))
        files = {"cautions": ["One build has assertions"], "files": {"runs.csv": "a\n"}}
        remember(connection, job, "files", files)
