"""The study of the machine's conditions: its page's figures are those of the rows."""

import json
from pathlib import Path

import numpy as np
import psutil
import pytest

from studies.machine_noise.__main__ import main
from studies.machine_noise.page import page, scatter
from studies.machine_noise.runs import (
    BASELINE,
    CONFIGURATIONS,
    COST,
    MOVED,
    NEIGHBOUR,
    NOISE,
    QUIET,
    WITH,
    WITHOUT,
    Row,
    Run,
    _beside,
    runs_of,
)

MACHINE = {"cpu": "a CPU", "cores": 2, "file_system": "ext4", "system": "Debian",
           "rocksdb": "7.8.3"}  # fmt: skip
SIZES = {"rounds": 2, "jobs": 2, "size": 3, "workloads": ("load-quick", "mixed-quick")}


def row(run: Run, **metrics: float) -> Row:
    return Row(run, "done", metrics, "2026-11-27T01:00:00.000+00:00", MACHINE)


def busy_jobs(rng: np.random.Generator, jobs: int = 4, size: int = 20) -> list[list[Row]]:
    """Jobs whose time doubles for each half of the machine that others use, and little else."""

    def one(job: int, place: int) -> Row:
        others = rng.uniform(0, 0.5)
        time = 2 * 2 ** (2 * others) * np.exp(rng.normal(0, 0.01))
        run = Run(NOISE, "load-quick", NEIGHBOUR, job, place)
        return row(run, time=time, rate=1 / time, others_cpu=others, machine_speed=1.0)

    return [[one(job, place) for place in range(size)] for job in range(jobs)]


def test_every_run_is_another_and_they_take_turns():
    runs = [run for part in (MOVED, NOISE, COST) for run in runs_of(part, **SIZES)]
    assert len(runs) == len(set(runs)) == 2 * len(CONFIGURATIONS) + 2 * 2 * 2 * 3 + 2 * 2
    assert runs == [run for part in (MOVED, NOISE, COST) for run in runs_of(part, **SIZES)]
    noise = [run for run in runs if run.part == NOISE]
    for first in noise[::3]:  # a job's runs lie in a row
        at = noise.index(first)
        assert {(r.workload, r.case, r.round) for r in noise[at : at + 3]} == {
            (first.workload, first.case, first.round)
        }
    orders = [[r.case for r in runs if r.part == MOVED and r.round == n] for n in (1, 2)]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])


def test_the_page_tells_what_configurations_move_and_what_the_probe_costs():
    def moved(case: str, number: int, others: float, speed: float) -> Row:
        run = Run(MOVED, "load-quick", case, number, 1)
        return row(run, others_cpu=others, machine_speed=speed)

    def cost(case: str, number: int, time: float) -> Row:
        run = Run(COST, "load-quick", case, number, 1)
        return row(run, time=time, rate=1 / time, cpu_seconds=2.0)

    rows = [
        moved(BASELINE, 1, 0.02, 1.0),
        moved(BASELINE, 2, 0.04, 1.0),
        moved("direct I/O", 1, 0.03, np.exp(0.01)),
        moved("direct I/O", 2, 0.05, np.exp(0.03)),
        *[cost(WITHOUT, n, 1.0 + n / 10) for n in (1, 2, 3)],
        *[cost(WITH, n, 1.01 * (1.0 + n / 10)) for n in (1, 2, 3)],
    ]
    text = page(rows, "make prove-noise")
    assert "| baseline | 2 | 3.00 ± 1.00 |  | 0.00 ± 0.00 |  |" in text
    assert "| direct I/O | 2 | 4.00 ± 1.00 | 1.00 ± 0.00 | 2.00 ± 1.00 | 2.00 ± 1.00 |" in text
    assert "| time | 3 | +1.00% [+1.00, +1.00] |" in text


def test_raw_scatter_is_that_of_the_logarithms():
    jobs = busy_jobs(np.random.default_rng(1))
    within, _, between, _ = scatter(jobs, "time")
    logs = [np.log([each.metrics["time"] for each in job]) for job in jobs]
    assert within == pytest.approx(np.sqrt(np.mean([np.var(x, ddof=1) for x in logs])))
    assert between == pytest.approx(np.std([x.mean() for x in logs], ddof=1))
    assert scatter(jobs[:1], "time")[2] is None  # one job has no scatter between jobs


def test_what_others_explain_is_taken_out():
    jobs = busy_jobs(np.random.default_rng(2))
    for clock in ("time", "rate"):
        within, corrected, between, means = scatter(jobs, clock)
        assert within > 0.15 and corrected < 0.02
        assert means < between / 2


def test_the_neighbour_ends_with_what_it_is_beside():
    with _beside(1):
        (process,) = [p for p in psutil.Process().children() if "neighbour" in str(p.cmdline())]
    assert not process.is_running()


def test_a_small_version_runs_and_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(tmp_path / "bench"))
    monkeypatch.setenv("ROCKTUNE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setenv("ROCKTUNE_SPEED_PROBE", "1")
    raw = tmp_path / "noise.jsonl"
    small = ["--raw", str(raw), "--rounds=1", "--jobs=1", "--size=1", "--workloads=load-quick"]
    main([*small, "--parts=noise"])
    main([*small, "--parts=noise,cost"])
    rows = [json.loads(line) for line in raw.read_text().splitlines()]
    assert [each["run"]["case"] for each in rows[:2]] in ([QUIET, NEIGHBOUR], [NEIGHBOUR, QUIET])
    by_case = {each["run"]["case"]: each["metrics"] for each in rows}
    assert len(rows) == 4 and set(by_case) == {QUIET, NEIGHBOUR, WITH, WITHOUT}
    assert all("others_cpu" in metrics for metrics in by_case.values())
    assert "machine_speed" in by_case[WITH] and "machine_speed" not in by_case[WITHOUT]
    before = raw.read_text()
    main([*small, "--page"])
    assert raw.read_text() == before
    assert "# What the machine does beside a run" in raw.with_suffix(".md").read_text()
    with pytest.raises(SystemExit, match="none of moved, noise, cost"):
        main([*small, "--parts=noise,more"])
