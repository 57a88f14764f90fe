"""Starting points beside the defaults: what is measured, again after a change, and the page."""

from pathlib import Path

from jobs.execution.assembly import Assembly, assemble
from jobs.specification.named_files import specify
from sampler.runner.settings import Settings
from sampler.workload.workload_file import load_workload
from studies.starting_points import DEFAULT, WORKLOADS, Run, page_of, runs_of


def row(point: str, number: int, rate: float, configuration: dict[str, int]):
    return {
        "workload": "load-quick", "point": point, "round": number, "state": "done",
        "configuration": configuration, "failure": None, "seconds": 1.0, "load": 0.5,
        "metrics": {"rate": rate, "waf": 2.0}, "ended": f"2026-11-2{number}T10:00:00+00:00",
        "host": {"cpu": "c", "cores": 2, "memory_bytes": 2**30, "file_system": "ext4",
                 "system": "Debian", "rocksdb": "7.8.3"},
    }  # fmt: skip


def test_each_load_has_a_file():
    for name in WORKLOADS:
        assert load_workload(name).timeout_seconds == 180


def test_each_round_has_the_defaults_and_the_points_of_the_class(tmp_path: Path):
    settings = Settings(bench_dir=tmp_path)
    assemblies: dict[str, Assembly] = {
        "read-quick": assemble(specify(workload="read-quick", space="all"), settings)
    }
    runs = runs_of(assemblies, 2)
    first = [run.point for run in runs if run.round == 1]
    assert DEFAULT in first and "reading-leveled" in first and "library" not in first
    assert sorted(first) == sorted(run.point for run in runs if run.round == 2)
    (default,) = (run.configuration for run in runs if run.round == 1 and run.point == DEFAULT)
    assert default == {}


def test_what_the_catalogue_has_changed_is_measured_again_and_told_alone():
    before, now = {"block_size": 4096}, {"block_size": 8192}
    rows = [row(DEFAULT, n, 100.0 + n, {}) for n in (1, 2, 3)]
    rows += [row("p", n, 50.0 + n, before) for n in (1, 2, 3)]
    rows += [row("p", n, (100.0 + n) * 1.5, now) for n in (1, 2, 3)]
    assert Run("load-quick", "p", before, 1).kept_by(rows[3])
    assert not Run("load-quick", "p", now, 1).kept_by(rows[3])
    page = page_of(rows)
    assert "| p | 3 | +50.0%* [+50.0, +50.0] | +0.0% [+0.0, +0.0] |" in page
    assert "| default | 3 | 102 | 2 |" in page
    assert "2026-11-21 to 2026-11-23" in page and "9 runs" in page
