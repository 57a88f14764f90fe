"""RocksDB's tickers, which write amplification rests on, beside what the kernel saw written."""

import re
from collections import Counter
from pathlib import Path

import pytest

from sampler.bench import process
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from tests.support.sampler.real_runs import tiny_plan

pytestmark = pytest.mark.db_bench
BOUND = 0.02  # LOG, manifest and the printed statistics are written too, and are no data
DEVICE_BOUND = 0.05  # and the kernel counts whole pages, when they are first written to
UNPRINTED_BOUND = 0.05
COMPACTED = re.compile(
    r'"job": (\d+), "event": "compaction_finished".*?"total_output_size": (\d+)'
)
MADE = re.compile(r'"job": (\d+), "event": "table_file_creation".*?"file_size": (\d+)')


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> dict[str, int]:
    """What ``/proc/<pid>/io`` said of the benchmark's process when it had ended.

    And what RocksDB's LOG says, in bytes: what all compactions wrote (``compacted``), all files
    that were made (``files``), and what compactions wrote that made no file (``interrupted``).
    """
    seen: dict[str, int] = {}
    asked = process._resources_used

    def look(pid: int) -> tuple[int, float, int]:
        for line in Path(f"/proc/{pid}/io").read_text().splitlines():
            name, _, value = line.partition(": ")
            seen[name] = int(value)
        (log,) = settings.bench_dir.rglob("LOG")
        text, made = log.read_text(errors="replace"), Counter[str]()
        for job, size in MADE.findall(text):
            made[job] += int(size)
        wrote = {job: int(size) for job, size in COMPACTED.findall(text)}
        seen["compacted"], seen["files"] = sum(wrote.values()), made.total()
        seen["interrupted"] = sum(size - made[job] for job, size in wrote.items())
        return asked(pid)

    monkeypatch.setattr(process, "_resources_used", look)
    return seen


@pytest.mark.parametrize(
    ("settle", "configuration"),
    [
        ("flush", {"compression_type": "none"}),
        ("wait", {"compression_type": "snappy", "write_buffer_size": 8 * 2**20}),
        ("wait", {"compaction_style": "universal", "compression_type": "lz4"}),
    ],
)
def test_amplification_is_what_the_kernel_saw_written(
    settle: str,
    configuration: dict[str, object],
    counted: dict[str, int],
    installed: InstalledDbBench,
    settings: Settings,
):
    plan = tiny_plan(installed, num=40_000, settle=settle)
    outcome = LocalRunner(DbBench(installed, plan), settings).run(configuration)  # type: ignore[arg-type]
    written = outcome.metrics["waf_with_wal"] * outcome.counters["bytes.written"]
    # With `flush` db_bench prints its counters and closes: what ends in between counts, too. Of a
    # compaction that this interrupts nothing is left.
    unprinted = counted["compacted"] - outcome.counters["compact.write.bytes"]
    assert 0 <= unprinted < UNPRINTED_BOUND * written if settle == "flush" else unprinted == 0
    assert written + 1 >= counted["files"] + outcome.counters["wal.bytes"]
    interrupted = counted["interrupted"]
    assert settle == "flush" or interrupted == 0
    assert counted["wchar"] == pytest.approx(written + interrupted, rel=BOUND)
    # The kernel's one counter by its two names: that it is passed on unchanged.
    assert outcome.metrics["device_bytes"] == counted["write_bytes"] > 0
    assert counted["write_bytes"] == pytest.approx(written + interrupted, rel=DEVICE_BOUND)
