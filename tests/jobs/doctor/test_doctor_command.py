"""`rocktune doctor` on this machine, as it is and made bad."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from jobs.doctor import examination
from sampler.bench.host_lock import host_lock
from tests.support.cli.fixtures import desk, here, small_disk, zygote
from tests.support.cli.launched import Zygote
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import read_from, write_workload

__all__ = ["desk", "here", "small_disk", "zygote"]

Diagnose = Callable[..., dict[str, Any]]
Here = Callable[..., int]
Capture = pytest.CaptureFixture[str]
CHECKS = {"other load", "stolen time", "memory", "swap", "huge pages", "cores", "governor",
          "bench folder", "free disk", "file system"}  # fmt: skip
TINY = """\
name = "tiny"
benchmarks = ["fillseq"]
measured = ["fillseq"]
num = 16500
scale = 128
settle = "flush"
"""


@pytest.fixture
def diagnose(here: Here, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> Diagnose:
    """The command in this process, with --json; its document, ``status`` and ``said`` added."""

    def run(*arguments: object, watching: float = 0.1, **variables: str) -> dict[str, Any]:
        monkeypatch.setattr(examination, "WATCH_SECONDS", watching)
        with monkeypatch.context() as set_for_now:
            for name, value in variables.items():
                set_for_now.setenv(name, value)
            status = here("doctor", "--json", *arguments)
        printed, said = capfd.readouterr()
        assert "Traceback" not in said
        document = json.loads(printed) if printed else {}
        return {**document, "status": status, "said": said}

    return run


def levels(diagnosis: Mapping[str, Any]) -> dict[str, str]:
    return {finding["check"]: finding["level"] for finding in diagnosis["findings"]}


def found(diagnosis: Mapping[str, Any], check: str) -> str:
    return next(f["found"] for f in diagnosis["findings"] if f["check"] == check)


@pytest.mark.db_bench
class TestThisMachine:
    def test_with_runs_of_the_baseline(self, desk: Desk, diagnose: Diagnose):
        (desk.folder / "tiny.toml").write_text(TINY)
        told = diagnose("--workload", "tiny.toml", "--runs", 3, "--trials", 24)
        assert told["status"] == (3 if told["fitness"] == "not fit" else 0)
        assert CHECKS | {"db_bench", "build", "write speed", "fsync"} <= set(levels(told))
        assert found(told, "db_bench").endswith("RocksDB 7.8.3")
        assert levels(told)["build"] == "warning"  # Debian's has assertions
        noise = told["noise"]
        assert noise["runs"] == 3
        assert noise["judged"] == ["waf", "sa", "time", "rate"]
        assert noise["metrics"]["sa"]["noise"]["median"] == pytest.approx(0.6, abs=0.1)
        assert [(p["trials"], p["pairs"]) for p in noise["provable"]] == [(24, 3)]
        assert set(noise["provable"][0]["change"]) == {"waf", "sa", "time", "rate"}
        assert "run 3 of 3: done" in told["said"]
        assert {f"noise of {name}" for name in noise["judged"]} <= set(levels(told))
        assert all(f["advice"] for f in told["findings"] if f["level"] != "ok")
        assert list(desk.bench.iterdir()) == []

    def test_codecs_that_db_bench_lacks_are_found(self, desk: Desk, diagnose: Diagnose):
        program = desk.folder / "db_bench"
        real = shutil.which("db_bench")
        program.write_text(
            "#!/bin/sh\nfor a; do case $a in --options_file=*)\n"
            '  if grep -q compression=kZSTD "${a#*=}"; then echo not linked >&2; exit 1; fi\n'
            f'esac; done\nexec {real} "$@"\n'
        )
        program.chmod(0o755)
        told = diagnose("--quick", ROCKTUNE_DB_BENCH=str(program))
        assert found(told, "codecs").startswith("without zstd:")
        assert levels(told)["codecs"] == "warning"


class TestMadeBad:
    """Each on a machine that is good in other ways, as far as this one is."""

    def test_no_db_bench(self, diagnose: Diagnose):
        told = diagnose(PATH="/var/empty")
        assert (told["status"], told["fitness"], told["noise"]) == (3, "not fit", None)
        assert levels(told)["db_bench"] == "problem"
        assert {"write speed", "fsync"} | CHECKS <= set(levels(told))
        assert found(told, "noise").startswith("not measured: db_bench: no ")

    @pytest.mark.db_bench
    def test_a_busy_loop_on_each_core(self, diagnose: Diagnose):
        with ExitStack() as loops:
            for _ in os.sched_getaffinity(0):
                loop = loops.enter_context(
                    subprocess.Popen([sys.executable, "-c", "while True: pass"])
                )
                loops.callback(loop.kill)
            told = diagnose("--quick", watching=examination.WATCH_SECONDS)
        assert (told["status"], levels(told)["other load"]) == (3, "problem")

    @pytest.fixture
    def shared_memory(self) -> Iterator[Path]:
        folder = Path("/dev/shm") / f"rocktune-doctor-command-{os.getpid()}"
        yield folder
        shutil.rmtree(folder, ignore_errors=True)

    def test_memory_in_place_of_a_disk(self, desk: Desk, diagnose: Diagnose, shared_memory: Path):
        told = diagnose(
            "--quick", "--workload", write_workload(desk.folder, wins="none"),
            ROCKTUNE_BENCH_DIR=str(shared_memory),
        )  # fmt: skip
        assert (told["status"], levels(told)["file system"]) == (3, "problem")
        assert found(told, "file system").startswith("tmpfs on ")
        assert list(shared_memory.iterdir()) == []

    @pytest.mark.slow
    def test_a_full_disk(self, desk: Desk, small_disk: list[str]):
        desk.bench.mkdir()
        workload = write_workload(desk.folder, wins="none")
        before = [*small_disk, str(desk.bench)]
        ended = desk.run("doctor", "--json", "--workload", workload, before=before)
        told = json.loads(ended.stdout)
        assert ended.returncode == 3
        assert levels(told)["free disk"] == "problem"
        assert found(told, "free disk") == "1 MiB free; a trial needs 64 MiB and must leave 1 MiB"
        assert not {"write speed", "disk speed"} & set(levels(told))
        assert found(told, "noise").startswith("not measured: free disk: 1 MiB free")
        assert "Traceback" not in ended.stderr

    def test_a_place_that_cannot_be_used(self, desk: Desk, diagnose: Diagnose):
        workload = write_workload(desk.folder, wins="none")
        told = diagnose("--workload", workload, ROCKTUNE_BENCH_DIR="/proc/rocktune")
        assert (told["status"], levels(told)["bench folder"]) == (3, "problem")
        assert not {"write speed", "disk speed"} & set(levels(told))
        assert found(told, "noise").startswith("not measured: bench folder: ")

    def test_a_trial_at_work_is_not_disturbed(self, desk: Desk, diagnose: Diagnose):
        def never(_: float) -> None:
            raise AssertionError("the lock is free")

        workload = write_workload(desk.folder, wins="none")
        with host_lock(desk.folder / "lock", "a trial", pause=never):
            told = diagnose("--quick", "--workload", workload)
        here = f"process {os.getpid()} is running a trial on this host"
        assert found(told, "benchmarks") == here
        assert found(told, "disk speed") == "not measured: a trial is running here"
        assert "write speed" not in levels(told)
        assert "waiting" not in told["said"]


class TestABenchmarkOfOnesOwn:
    def test_noise_without_any(self, desk: Desk, diagnose: Diagnose):
        workload = write_workload(desk.folder, wins="none")
        told = diagnose("--workload", workload, "--runs", 4, ROCKTUNE_DB_BENCH="/nowhere")
        assert levels(told)["db_bench"] == "ok"
        assert told["noise"]["judged"] == ["waf", "sa", "time", "rate"]
        assert {p["change"]["waf"] for p in told["noise"]["provable"]} == {0}
        assert [p["trials"] for p in told["noise"]["provable"]] == [90, 400, 1000]

    def test_one_that_fails(self, desk: Desk, diagnose: Diagnose):
        workload = write_workload(desk.folder, script="echo 'no luck' >&2; exit 7\n")
        told = diagnose("--workload", workload, "--runs", 2)
        assert (told["status"], told["noise"]) == (3, None)
        assert found(told, "baseline runs") == ("2 of 2 runs of the baseline failed: no luck")

    def test_on_the_terminal(
        self, desk: Desk, here: Here, monkeypatch: pytest.MonkeyPatch, capfd: Capture
    ):
        monkeypatch.setattr(examination, "WATCH_SECONDS", 0.1)
        write_workload(desk.folder, wins="none")
        assert here("doctor", "--workload", "workload.toml", "--runs", 2) in (0, 3)
        printed, said = capfd.readouterr()
        runs = [line.rpartition(", ")[0] for line in said.splitlines()[-2:]]
        assert runs == ["run 1 of 2: done", "run 2 of 2: done"]
        lines = printed.splitlines()
        assert max(map(len, lines)) <= 110
        assert any(line.startswith("ok       db_bench       ") for line in lines)
        bad = [line for line in lines if line.startswith(("note ", "warning ", "problem "))]
        advice = [line for line in lines if line.startswith("         what to do:    ")]
        assert len(bad) == len(advice)
        waf = next(line for line in lines if line.startswith("waf "))
        assert waf.split() == ["waf", "0%", "0%", "0%", "0%", "3", "3"]
        assert lines[-1].startswith(("fit: ", "fit with care: ", "not fit: "))


def test_bad_input_is_told_before_anything_is_looked_at(desk: Desk, diagnose: Diagnose):
    (desk.folder / "small.toml").write_text('name = "small"\nnum = 1000\n')
    for arguments, field in [
        (("--workload", "nothing"), "--workload"),
        (("--workload", "small.toml"), "--workload (small)"),
        (("--trials", 3), "--trials"),
        (("--runs", 1), "--runs: 1 is below "),
    ]:
        told = diagnose(*arguments, ROCKTUNE_DB_BENCH="/nowhere")
        assert told["status"] == 2
        assert told["said"].startswith(f"rocktune: {field}")
        assert told["said"].count("\n") == 1
        assert "findings" not in told


def test_a_signal_ends_it_and_the_benchmark(desk: Desk, zygote: Zygote):
    os.mkfifo(desk.folder / "measured")
    pipe = os.open(desk.folder / "measured", os.O_RDWR)
    script = f"echo holds > {desk.folder}/measured\nexec sleep 60\n"
    workload = write_workload(desk.folder, script=script)
    pid = zygote.start(desk, "doctor", "--json", "--workload", workload)
    assert read_from(pipe, pid) == b"holds\n"
    os.kill(pid, signal.SIGTERM)
    assert zygote.wait(pid) == 130
    os.close(pipe)
    said = (desk.folder / "log").read_text()
    assert said.splitlines()[-1] == "rocktune: interrupted"
    assert "Traceback" not in said and "findings" not in said
    assert list(desk.bench.iterdir()) == []
