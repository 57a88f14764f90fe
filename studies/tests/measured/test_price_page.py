"""Real jobs with and without a limit on scans, as those of the study are, and its page."""

import csv
import json
from pathlib import Path

import pytest

from sampler.workload.tree_reads import KINDS
from studies.json_lines import read_lines
from studies.price.__main__ import CASES, LIMIT, Case, main, row_of
from studies.price.page import page
from tests.support.jobs.pretended_job import finished_job

TINY = """name = "tiny"
help = "h"
benchmarks = ["fillrandom"]
num = 17_000
key_size = 16
value_size = 1024
settle = "flush"
scale = 128
timeout_seconds = 60
"""


@pytest.mark.db_bench
def test_two_jobs_are_run_once_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    workload = tmp_path / "tiny.toml"
    workload.write_text(TINY)
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(tmp_path / "bench"))
    monkeypatch.setenv("ROCKTUNE_LOCK", str(tmp_path / "lock"))
    raw = tmp_path / "price.jsonl"
    asked = ["--trials", "12", "--workload", str(workload), "--raw", str(raw)]
    asked += ["--databases", str(tmp_path / "db")]
    main(asked)
    free, limited = read_lines(raw)
    for row in (free, limited):  # cold reads are not told where /tmp is in memory
        assert not {*KINDS} & row["verdict"]["price"]["not_measured"].keys()
    (limit,) = limited["verdict"]["limits"]
    assert limit["metric"] == "scan_short" and limit["value"] > 0
    with (tmp_path / "db" / "out" / "trials.csv").open() as file:  # of the limited job
        runs = [row for row in csv.DictReader(file) if row["state"] == "done"]
    assert len(runs) > 6 and all(float(row["scan_short"]) > 0 for row in runs)
    text = raw.with_suffix(".md").read_text()
    assert "| tiny, paper, seed 1 | " in text and free["verdict"]["trade"] in text
    assert f'With `--limit "{LIMIT}"`: tiny, paper, seed 1, limited: fitness ' in text
    before = raw.read_bytes()
    main(asked)  # nothing is left to run
    assert raw.read_bytes() == before and "2 jobs" in capsys.readouterr().out


def test_the_page_tells_every_job_of_the_study():
    assert len({case.name for case in CASES}) == len(CASES) == 10
    result = json.loads(json.dumps(finished_job(30, strategy="random").result))
    rows = [row_of(case, case.arguments(30), result) for case in CASES]
    none = row_of(Case("none"), [], {**result, "verdict": None, "best": None})
    text = page([*rows, none], "make prove-price")
    assert all(text.count(f"| {case.name} | ") == 2 for case in CASES)
    assert "- none, paper, seed 1: no proof" in text
    assert text.count("  With `--limit") == 4
