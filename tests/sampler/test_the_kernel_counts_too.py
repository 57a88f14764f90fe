"""RocksDB's tickers, which write amplification rests on, beside what the kernel saw written."""

from pathlib import Path

import pytest
from real_runs import tiny_plan

from sampler import process
from sampler.db_bench import DbBench
from sampler.installed import InstalledDbBench
from sampler.runner import LocalRunner
from sampler.settings import Settings

pytestmark = pytest.mark.db_bench
BOUND = 0.02  # LOG, manifest and the printed statistics are written too, and are no data
# A compaction that still runs when the database is closed has written what no ticker counts.
UNFINISHED = {"flush": 0.25, "wait": 0.0}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What ``/proc/<pid>/io`` said of the benchmark's process when it had ended."""
    seen: dict[str, int] = {}
    asked = process._asked_of_the_kernel

    def look(pid: int) -> tuple[int, float, int]:
        for line in Path(f"/proc/{pid}/io").read_text().splitlines():
            name, _, value = line.partition(": ")
            seen[name] = int(value)
        return asked(pid)

    monkeypatch.setattr(process, "_asked_of_the_kernel", look)
    return seen


@pytest.mark.parametrize("settle", ["flush", "wait"])
@pytest.mark.parametrize(
    "configuration",
    [
        {"compression_type": "none"},
        {"compression_type": "zlib", "write_buffer_size": 8 * 2**20},
        {"compaction_style": "universal", "compression_type": "lz4"},
    ],
)
def test_amplification_is_what_the_kernel_saw_written(
    configuration: dict[str, object],
    settle: str,
    counted: dict[str, int],
    installed: InstalledDbBench,
    settings: Settings,
):
    plan = tiny_plan(installed, num=40_000, settle=settle)
    outcome = LocalRunner(DbBench(installed, plan), settings).run(configuration)  # type: ignore[arg-type]
    written = outcome.metrics["waf_with_wal"] * outcome.counters["bytes.written"]
    assert 1 - BOUND <= counted["wchar"] / written <= 1 + BOUND + UNFINISHED[settle]
    assert outcome.metrics["device_bytes"] == pytest.approx(counted["write_bytes"], rel=BOUND)
