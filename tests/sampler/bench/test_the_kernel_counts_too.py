"""RocksDB's tickers, which write amplification rests on, beside what the kernel saw written."""

import re
from pathlib import Path

import pytest

from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.runner import process
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from tests.support.sampler.real_runs import tiny_plan

pytestmark = pytest.mark.db_bench
BOUND = 0.02  # LOG, manifest and the printed statistics are written too, and are no data
DEVICE_BOUND = 0.05  # and the kernel counts whole pages, when they are first written to
UNPRINTED_BOUND = 0.05
ROUNDED = 0.001  # a table's file beside the bytes that its job wrote
COMPACTED = re.compile(r'"event": "compaction_finished".*?"total_output_size": (\d+)')


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> dict[str, int]:
    """What ``/proc/<pid>/io`` said of the benchmark's process when it had ended.

    And by ``compacted`` how many bytes RocksDB's LOG says that all compactions wrote.
    """
    seen: dict[str, int] = {}
    asked = process._resources_used

    def look(pid: int) -> tuple[int, float, int]:
        for line in Path(f"/proc/{pid}/io").read_text().splitlines():
            name, _, value = line.partition(": ")
            seen[name] = int(value)
        (log,) = settings.bench_dir.rglob("LOG")
        seen["compacted"] = sum(map(int, COMPACTED.findall(log.read_text(errors="replace"))))
        return asked(pid)

    monkeypatch.setattr(process, "_resources_used", look)
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
    # With `flush` db_bench prints its counters and closes: what ends in between counts, too.
    unprinted = counted["compacted"] - outcome.counters["compact.write.bytes"]
    assert 0 <= unprinted < UNPRINTED_BOUND * written if settle == "flush" else unprinted == 0
    names = ("flush.write.bytes", "compact.write.bytes", "wal.bytes")
    printed = sum(outcome.counters[name] for name in names)
    assert written >= printed + unprinted - ROUNDED * printed
    assert counted["wchar"] == pytest.approx(written, rel=BOUND)
    # The kernel's one counter by its two names: that it is passed on unchanged.
    assert outcome.metrics["device_bytes"] == counted["write_bytes"] > 0
    assert counted["write_bytes"] == pytest.approx(written, rel=DEVICE_BOUND)
