"""Reading a machine: made-up /proc and /sys, and this machine's own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sampler.bench.bench_folder import DiskSpeed, measure_disk, read_disk_state
from sampler.machine.host_load import (
    CpuMoment,
    ProcessorTime,
    between,
    read_moment,
    read_pressure,
    running,
)
from sampler.machine.machine import (
    file_system,
    fingerprint,
    is_virtual,
    read_cpu_state,
    read_memory_state,
)
from tests.support.jobs.made_up import tree

MIB = 2**20


class TestProcessors:
    def test_bare_metal(self, tmp_path: Path):
        sys_ = tree(
            tmp_path / "sys",
            {
                "devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
                "devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
                "devices/system/cpu/cpu10/cpufreq/scaling_governor": "performance\n",
                "devices/system/cpu/intel_pstate/no_turbo": "0\n",
            },
        )
        proc = tree(tmp_path / "proc", {"cpuinfo": "model name: x\nflags\t: fpu vme\n"})
        state = read_cpu_state(proc, sys_)
        assert state.governors == ("performance", "powersave")
        assert state.turbo is True
        assert state.virtual is False
        assert state.quota is None
        assert state.cores == len(os.sched_getaffinity(0))

    def test_a_guest(self, tmp_path: Path):
        proc = tree(tmp_path, {"cpuinfo": "flags\t: fpu hypervisor lahf_lm\n"})
        state = read_cpu_state(proc, tmp_path)
        assert (state.virtual, state.governors, state.turbo) == (True, (), None)

    @pytest.mark.parametrize(("text", "on"), [("1\n", True), ("0\n", False)])
    def test_boost(self, tmp_path: Path, text: str, on: bool):
        tree(tmp_path, {"devices/system/cpu/cpufreq/boost": text})
        assert read_cpu_state(tmp_path, tmp_path).turbo is on

    def test_they_are_told_beside_every_number(self, tmp_path: Path):
        told, state = fingerprint(tmp_path), read_cpu_state()
        assert told["governor"] == (", ".join(state.governors) or None)
        assert told["virtual"] is state.virtual


class TestUse:
    def test_others_and_ones_own_are_told_apart(self):
        first = CpuMoment(
            mine=ProcessorTime(10, 90, 1),
            own=2,
            processes={(7, 100): ("a", 3.0), (8, 100): ("b", 1)},
        )
        last = CpuMoment(
            mine=ProcessorTime(13, 95, 3),
            own=3,
            # 8 has ended, and another process has its number.
            processes={(7, 100): ("a", 3.5), (8, 900): ("c", 1.0), (9, 901): ("d", 0.0)},
        )
        use = between(first, last)
        assert (use.others, use.own, use.stolen) == (0.2, 0.1, 0.2)
        assert use.busiest == (("c", 8, 0.1), ("a", 7, 0.05))

    def test_counters_that_step_back_are_nothing(self):
        moment = CpuMoment(mine=ProcessorTime(10, 90, 1), own=2)
        back = CpuMoment(mine=ProcessorTime(9, 99, 0), own=2)
        use = between(moment, back)
        assert (use.others, use.own, use.stolen, use.busiest) == (0, 0, 0, ())

    def test_where_nothing_was_counted_nothing_is_known(self):
        for later in (ProcessorTime(10, 90, 1), ProcessorTime(9, 90, 1)):
            use = between(
                CpuMoment(mine=ProcessorTime(10, 90, 1), own=2, processes={(7, 1): ("a", 3.0)}),
                CpuMoment(mine=later, own=2, processes={(7, 1): ("a", 9.0)}),
            )
            assert (use.others, use.own, use.stolen, use.busiest) == (None, None, None, ())

    def test_processors_with_other_numbers_are_looked_at_together(self, tmp_path: Path):
        """As lxcfs shows a container's: from 0, while the affinity has the host's numbers."""
        mine = sorted(os.sched_getaffinity(0))
        shown = [n for n in range(len(mine) + 1) if n != mine[0]]
        tick = os.sysconf("SC_CLK_TCK")

        def at(busy: int, idle: int) -> CpuMoment:
            rows = [f"cpu{n} {busy} 0 0 {idle} 0 0 0 0" for n in shown]
            whole = f"cpu {2 * busy} 0 0 {2 * idle} 0 0 0 0"
            tree(tmp_path, {"stat": "\n".join([whole, *rows, "btime 5", ""])})
            return replace(read_moment(tmp_path), own=0)

        first, last = at(0, 0), at(3 * tick, tick)
        assert last.mine == ProcessorTime()
        use = between(first, last)
        assert (use.others, use.own, use.stolen) == (0.75, 0, 0)

    def test_the_kernels_counters_are_read(self, tmp_path: Path):
        mine = os.sched_getaffinity(0)
        numbers = "100 200 300 4000 500 60 40 700 0 0"
        rows = "".join(f"cpu{number} {numbers}\n" for number in (*mine, 9999))
        proc = tree(
            tmp_path,
            {
                "stat": f"cpu 9 9 9 9 9 9 9 9 9\n{rows}intr 5\n",
                "41/stat": "41 (a b) c) S" + " 0" * 10 + " 300 100" + " 0" * 6 + " 777 0\n",
                "42/stat": "42 (gone) Z" + " 0" * 10 + " 300 100" + " 0" * 6 + " 778 0\n",
                f"{os.getpid()}/stat": "1 (me) R" + " 0" * 20,
            },
        )
        tick = os.sysconf("SC_CLK_TCK")
        moment = read_moment(proc)
        # The numbers of the first processor, once for each that this process may run on.
        assert moment.mine.busy == pytest.approx(len(mine) * 600 / tick)
        assert moment.mine.interrupts == pytest.approx(len(mine) * 100 / tick)
        assert moment.mine.idle == pytest.approx(len(mine) * 4500 / tick)
        assert moment.mine.stolen == pytest.approx(len(mine) * 700 / tick)
        assert moment.shown.total == pytest.approx(8 * 9 / tick)
        assert moment.processes == {(41, 777): ("a b) c", pytest.approx(400 / tick))}
        assert running("a b) c", proc) == (41,)

    @pytest.mark.slow
    def test_what_this_process_itself_does_is_its_own(self):
        first = read_moment()
        spent = os.times().user
        while os.times().user < spent + 0.3:  # CPU time, however long that takes
            pass
        last = read_moment()
        assert last.own - first.own >= 0.29
        use = between(first, last)
        assert use.own > 0
        assert os.getpid() not in {pid for _, pid, _ in use.busiest}
        assert use.own + use.others + use.stolen <= 1.0001

    @pytest.mark.slow
    def test_what_another_process_does_is_others(self):
        # It says so when it has used a third of a CPU second, and then stays to be seen.
        script = (
            "import os\nwhile os.times().user < 0.33: pass\nprint(flush=True)\n"
            "import sys\nsys.stdin.read()\n"
        )
        first = read_moment()
        argv = [sys.executable, "-c", script]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout.readline() == b"\n"
            last = read_moment()
            other.communicate()
        ((_, seconds),) = [v for (pid, _), v in last.processes.items() if pid == other.pid]
        assert seconds >= 0.3
        assert last.mine.busy - first.mine.busy >= 0.3
        # No child has ended, so it is not counted as this process's own.
        assert last.own - first.own < seconds


class TestPressure:
    def test_a_busy_machine(self, tmp_path: Path):
        line = "some avg10=12.50 avg60=1.00 avg300=0.00 total=5\nfull avg10=3.00 total=1\n"
        tree(tmp_path, {"loadavg": "6.46 5.75 4.17 3/99 5\n", "pressure/io": line})
        pressure = read_pressure(tmp_path)
        assert pressure.load == 6.46
        assert pressure.stalled == {"io": 0.125}
        assert not pressure.by_session

    def test_a_machine_that_shares_processors_by_session(self, tmp_path: Path):
        tree(tmp_path, {"sys/kernel/sched_autogroup_enabled": "1\n"})
        assert read_pressure(tmp_path).by_session

    def test_this_machine(self):
        load = read_pressure().load
        assert load >= 0


class TestMemory:
    def test_it_is_read(self, tmp_path: Path):
        proc = tree(
            tmp_path / "proc",
            {
                "meminfo": "MemTotal: 900 kB\nMemAvailable:  100 kB\nSwapTotal: 50 kB\n"
                "SwapFree: 20 kB\nHugePages_Total: 0\n",
                "vmstat": "nr_free_pages 5\npswpin 3\npswpout 4\n",
            },
        )
        sys_ = tree(
            tmp_path / "sys", {"kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}
        )
        state = read_memory_state(proc, sys_)
        assert (state.available_bytes, state.swap_used_bytes) == (100 * 1024, 30 * 1024)
        assert (state.pages_swapped, state.huge_pages) == (7, "always")
        assert read_memory_state(proc, tmp_path).huge_pages is None

    def test_this_machine(self):
        state = read_memory_state()
        assert state.available_bytes > 0
        assert state.huge_pages in (None, "always", "madvise", "never")


class TestDisk:
    @pytest.fixture
    def shared_memory(self) -> Iterator[Path]:
        folder = Path("/dev/shm") / f"rocktune-doctor-{os.getpid()}"
        yield folder
        shutil.rmtree(folder, ignore_errors=True)

    def test_a_disk(self, tmp_path: Path):
        state = read_disk_state(tmp_path / "not" / "yet")
        assert state.refusal is None
        assert state.direct in (True, False)
        assert (state.device, state.kind) == tuple(
            fingerprint(tmp_path)[key] for key in ("disk", "file_system")
        )
        assert state.free_bytes == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.05)
        assert list((tmp_path / "not" / "yet").iterdir()) == []

    def test_memory_that_looks_like_one(self, shared_memory: Path):
        assert read_disk_state(shared_memory).kind == "tmpfs"

    def test_a_link_is_judged_by_where_it_leads(self, tmp_path: Path):
        (tmp_path / "link").symlink_to("/dev/shm", target_is_directory=True)
        assert file_system(tmp_path / "link")[1] == "tmpfs"
        assert file_system(tmp_path / "link" / "not" / "yet")[1] == "tmpfs"
        assert file_system(tmp_path / "link" / "..") == file_system(Path("/dev"))

    def test_a_link_to_itself_is_a_place_for_no_folder(self, tmp_path: Path):
        (tmp_path / "circle").symlink_to(tmp_path / "circle")
        refusal = read_disk_state(tmp_path / "circle").refusal
        assert "cannot make a folder" in refusal

    @pytest.mark.parametrize("place", ["/proc/rocktune", "file/bench"])
    def test_a_place_for_no_folder(self, tmp_path: Path, place: str):
        (tmp_path / "file").write_text("")
        state = read_disk_state(tmp_path / place)
        assert "cannot make a folder" in state.refusal
        assert state.direct is None

    def test_its_speed_is_of_what_was_written(self, tmp_path: Path):
        speed = measure_disk(tmp_path, bulk_bytes=20 * MIB)
        assert speed.written_bytes == (tmp_path / "bulk").stat().st_size == 24 * MIB
        assert speed.write_seconds > 0
        assert (tmp_path / "log").stat().st_size == 4096 * len(speed.sync_seconds)
        assert min(speed.sync_seconds) > 0

    def test_median_and_tail(self):
        speed = DiskSpeed(
            written_bytes=10 * MIB,
            write_seconds=2.0,
            sync_seconds=tuple(n / 1000 for n in range(100, 0, -1)),
        )
        assert speed.bytes_per_second == 5 * MIB
        assert (speed.sync_median, speed.sync_p99) == (0.0505, 0.099)


NONE_OF_1 = "9223372036854771712\n"  # of version 1: as large as whole pages get
STAT_2 = "anon 5\nfile 60\nshmem 30\nactive_file 20\ninactive_file 10\n"
STAT_1 = "active_file 1\ninactive_file 1\ntotal_active_file 20\ntotal_inactive_file 10\n"


def grouped(folder: Path, groups: str, files: dict[str, str]) -> tuple[Path, Path]:
    tree(folder / "proc", {"self/cgroup": groups})
    tree(folder / "sys" / "fs" / "cgroup", files)
    return folder / "proc", folder / "sys"


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/not/shown/here\n", {"cpu.max": "300000 100000\n"}, 3.0),
        ("0::/\n", {"unified/cpu.max": "200000 100000\n"}, 2.0),
        ("2:cpu:/d\n0::/\n", {"cpu/d/cpu.cfs_quota_us": "25000\n",
                              "cpu/d/cpu.cfs_period_us": "100000\n"}, 0.25),
        ("2:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "9\n"}, None),
        ("3:memory:/\n", {"cpu.max": "1 2\n"}, None),
        ("0::/\n", {"cpu.max": "max\n"}, None),
    ],
)  # fmt: skip
def test_processors_of_a_group(
    tmp_path: Path, groups: str, files: dict[str, str], quota: float | None
):
    assert read_cpu_state(*grouped(tmp_path, groups, files)).quota == quota


@pytest.mark.parametrize(
    ("groups", "files", "left"),
    [
        ("0::/a\n", {"a/memory.max": "100\n", "a/memory.current": "40\n"}, 60),
        # The page cache is dropped before memory is refused, but for what is in a tmpfs.
        ("0::/a\n", {"a/memory.max": "100\n", "a/memory.current": "95\n",
                     "a/memory.stat": STAT_2}, 35),
        # Above the limit is what is left nothing, and not less.
        ("0::/a\n", {"a/memory.max": "100\n", "a/memory.current": "140\n"}, 0),
        ("0::/a\n", {"a/memory.max": "100\n", "a/memory.high": "80\n",
                     "a/memory.current": "40\n"}, 40),
        # Of a group and its ancestors the one that leaves least.
        ("0::/a/b\n", {"a/b/memory.max": "100\n", "a/b/memory.current": "10\n",
                       "a/memory.max": "200\n", "a/memory.current": "190\n"}, 10),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "50\n",
                       "a/memory.current": "20\n"}, 30),
        ("0::/not/shown/here\n", {"memory.max": "70\n", "memory.current": "20\n"}, 50),
        ("5:memory:/d\n0::/\n", {"memory/d/memory.limit_in_bytes": "100\n",
                                 "memory/d/memory.usage_in_bytes": "95\n",
                                 "memory/d/memory.stat": STAT_1}, 35),
        ("5:memory:/\n", {"memory/memory.limit_in_bytes": NONE_OF_1,
                          "memory/memory.usage_in_bytes": "95\n"}, None),
        ("5:cpu:/\n", {"memory/memory.limit_in_bytes": "5\n"}, None),
        ("0::/\n", {"memory.max": "max\n", "memory.current": "7\n"}, None),
        ("0::/\n", {}, None),
    ],
)  # fmt: skip
def test_memory_of_a_group(tmp_path: Path, groups: str, files: dict[str, str], left: int | None):
    state = read_memory_state(*grouped(tmp_path, groups, files))
    assert state.left_by_groups == left
    assert state.usable_bytes == left  # there is no meminfo


@pytest.mark.parametrize(("limit", "usable"), [("3072\n", 2072), ("9999999\n", 100 * 1024)])
def test_the_less_of_both_can_be_used(tmp_path: Path, limit: str, usable: int):
    files = {"memory.max": limit, "memory.current": "1000\n"}
    proc, sys = grouped(tmp_path, "0::/\n", files)
    tree(proc, {"meminfo": "MemAvailable:  100 kB\n"})
    assert read_memory_state(proc, sys).usable_bytes == usable


X86, X86_GUEST = "flags\t\t: fpu vme\n", "flags\t\t: fpu hypervisor\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd\n"


@pytest.mark.parametrize(
    ("cpuinfo", "maker", "machine", "virtual"),
    [
        (X86, "Dell Inc.", "PowerEdge R750", False),
        (X86, "Microsoft Corporation", "Surface Pro 9", False),
        (X86, "Microsoft Corporation", "Virtual Machine", True),
        (X86_GUEST, "Dell Inc.", "PowerEdge R750", True),
        (X86, "QEMU", "Standard PC (Q35 + ICH9, 2009)", True),
        (X86, "Red Hat", "KVM", True),
        (X86, "Amazon EC2", "c7i.metal-24xl", False),
        (ARM, "Amazon EC2", "c7g.large", True),
        (ARM, "Amazon EC2", "c7g.metal", False),
        (ARM, "Google", "Google Compute Engine", True),
        (ARM, "Microsoft Corporation", "Virtual Machine", True),
        (ARM, "VMware, Inc.", "VMware20,1", True),
        # Whether it is nobody's guest, or a guest of somebody who is unknown here, is not told.
        (ARM, "Ampere(R)", "Mt. Jade", None),
        (ARM, "", "", None),
        ("", "", "", None),
    ],
)
def test_processor_and_firmware(
    tmp_path: Path, cpuinfo: str, maker: str, machine: str, virtual: bool | None
):
    tree(tmp_path / "proc", {"cpuinfo": cpuinfo})
    firmware = {"sys_vendor": f"{maker}\n", "product_name": f"{machine}\n"}
    tree(tmp_path / "sys" / "class" / "dmi" / "id", firmware)
    assert is_virtual(tmp_path / "proc", tmp_path / "sys") is virtual


@pytest.mark.parametrize(
    "file", ["sys/hypervisor/type", "sys/hypervisor/x", "proc/device-tree/hypervisor/x"]
)
def test_the_kernel_tells(tmp_path: Path, file: str):
    tree(tmp_path, {file: "xen\n"})
    assert is_virtual(tmp_path / "proc", tmp_path / "sys") is True


def test_an_empty_folder_for_hypervisors_is_on_any_machine(tmp_path: Path):
    tree(tmp_path / "proc", {"cpuinfo": X86})
    (tmp_path / "sys" / "hypervisor").mkdir(parents=True)
    assert is_virtual(tmp_path / "proc", tmp_path / "sys") is False
