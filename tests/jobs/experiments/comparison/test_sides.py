"""What a user may write for A and B."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.experiments.sides import (
    DOUBLE,
    HALF,
    MIDDLE,
    Side,
    side_named,
    sides_around,
    worked_out,
)
from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from sampler.bench.builds import named_programs
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.machine import cpu_threads
from sampler.space.space import default_values, memory_bytes
from sampler.workload.workload import Workload
from sampler.workload.workload_file import load_workload
from tests.support.sampler.second_builds import build

OPTIONS = '[DBOptions]\n  bytes_per_sync=1048576\n[CFOptions "default"]\n  num_levels=6\n'


def side(text: str, settings: Settings) -> Side:
    def job(number: int, field: str) -> Side:
        return Side(asked=f"{field}/{number}", what="a job's", values={})

    return side_named(text, named_programs(settings), job, field="A", files=True)


@pytest.mark.parametrize("name", ["default", "library"])
def test_the_librarys_defaults(settings: Settings, name: str):
    found = side(name, settings)
    assert (found.build, found.base, found.options, dict(found.values)) == (
        None, "library", None, {},
    )  # fmt: skip


def test_values_in_a_line_and_in_files(settings: Settings, tmp_path: Path):
    wanted = {"write_buffer_size": 32 * 2**20, "compression_type": "zstd"}
    toml, document = tmp_path / "c.toml", tmp_path / "c.json"
    toml.write_text('write_buffer_size = "32MiB"\ncompression_type = "zstd"\n')
    document.write_text(json.dumps(wanted))
    for text in ("write_buffer_size=32MiB, compression_type=zstd", str(toml), str(document)):
        assert side(text, settings).values == wanted


def test_files_are_told_apart_by_what_they_are(settings: Settings, tmp_path: Path):
    options = tmp_path / "OPTIONS"
    options.write_text(OPTIONS)
    options.chmod(0o755)  # as on a file system that knows no such bit
    assert side(str(options), settings).options == OPTIONS
    program = build(tmp_path, "other")
    found = side(str(program), settings)
    assert (found.build, found.options) == (str(program), None)


def test_builds_by_name_with_a_configuration_of_their_own(settings: Settings, tmp_path: Path):
    host = settings.model_copy(update={"builds": "10.2=/opt/10.2/db_bench"})
    assert side("10.2", host).build == "10.2"
    found = side("10.2:block_size=8KiB", host)
    assert (found.build, found.values) == ("10.2", {"block_size": 8192})
    assert side("java", host).build == "java"
    assert side("java:rocksjava", host).values == side("rocksjava", host).values
    (tmp_path / "OPTIONS").write_text(OPTIONS)
    assert side(f"java:{tmp_path}/OPTIONS", host).options == OPTIONS


def test_a_job_is_asked_for_by_its_number(settings: Settings):
    assert side("job:12", settings).asked == "A/12"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nix", "A: 'nix' is neither default, parameter=value"),
        ("guide:many", "A: 'guide:many' has no number of threads"),
        ("job:x", "A: 'x' is not a job number"),
        ("nix=1", "A: there is no parameter 'nix'"),
        ("threads=4", "A: threads describes the load"),
        ("block_size", "A: 'block_size' is neither"),
        ("block_size=4KiB,block_size=8KiB", "A: block_size is set twice"),
        ("block_size=4KiB,", "A: '' is not parameter=value"),
        ("block_size=much", "A (block_size): 'much' is not a size"),
        ("num_levels=-3", "A: num_levels is -3; it must not be negative"),
        ("empty.toml", "A: sets no parameter"),
        ("broken.json", "A: is not JSON"),
        ("list.json", "A: is not an object"),
        ("notes", "A: line 1 is not key=value"),
        ("x" * 300, "A: 'xxx"),
        ("block_size=" + "1" * 300, "A (block_size): "),
        ("binary", "A: 'binary' is neither a program nor readable text"),
    ],
)
def test_what_is_nothing_of_that_is_said(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
):
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "empty.toml": b"", "broken.json": b"{", "list.json": b"[]", "notes": b"my notes\n",
        "binary": b"\xff\xfe",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        side(text, settings)
    assert str(refused.value).startswith(said)


def around(name: str, **given: object) -> dict[str, Side]:
    values = {**default_values("library"), **given}
    middle = Side(asked="a", what="the library's defaults", values=given)  # type: ignore[arg-type]
    return sides_around(middle, {"load": values}, name)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("max_background_jobs", {}, (1, 2, 4)),
        ("max_background_jobs", {"max_background_jobs": 5}, (2, 5, 10)),
        ("write_buffer_size", {}, (32 * 2**20, 64 * 2**20, 128 * 2**20)),
        ("write_buffer_size", {"write_buffer_size": 3 * 2**20}, (2 * 2**20, 3 * 2**20, 6 * 2**20)),
        ("cache_size", {}, (4 * 2**20, 8 * 2**20, 16 * 2**20)),
    ],
)
def test_half_and_double_of_what_is_there(
    name: str, given: dict[str, object], found: tuple[int, int, int]
):
    sides = around(name, block_size=8192, **given)
    assert [*sides] == [MIDDLE, HALF, DOUBLE]
    assert tuple(sides[each].values[name] for each in (HALF, MIDDLE, DOUBLE)) == found
    assert all(each.values["block_size"] == 8192 for each in sides.values())


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("nix", {}, "there is no parameter 'nix'"),
        ("compression_type", {}, "compression_type cannot be halved"),
        ("threads", {}, "threads cannot be halved"),
        ("max_total_wal_size", {}, "max_total_wal_size is 0 in A"),
        ("max_background_jobs", {"max_background_jobs": 1}, "max_background_jobs is 1 in A; half"),
    ],
)
def test_what_cannot_be_halved_is_said(name: str, given: dict[str, object], said: str):
    with pytest.raises(InputError) as refused:
        around(name, **given)
    assert refused.value.field == "around"
    assert said in refused.value.problem


LOADS = [load_workload("load-quick"), load_workload("kioxia-t2")]


def guided(text: str, settings: Settings, *workloads: Workload) -> Side:
    return worked_out(side(text, settings), workloads, default_values("library"))


def test_the_guide_gives_what_a_search_begins_at(settings: Settings):
    found = guided("guide:8", settings, *LOADS)
    for load in LOADS:
        specification = specify(strategy="random", workload=load.name, start_from=["guide:8"])
        problem = resolve(specification, None).problem
        (start,) = problem.starts
        begun = problem.configuration(start.point)
        mine = found.values_under(load.name)
        shared = mine.keys() & begun.keys()
        assert len(shared) > 10
        assert {name: mine[name] for name in shared} == {name: begun[name] for name in shared}


def test_the_guide_keeps_to_the_memory_of_the_defaults(settings: Settings):
    base = default_values("library")
    for threads in (2, 48, 256):
        found = guided(f"guide:{threads}", settings, *LOADS)
        for load in LOADS:
            mine = found.values_under(load.name)
            assert mine["max_background_jobs"] == threads
            assert 0.8 * memory_bytes(base) < memory_bytes({**base, **mine}) <= memory_bytes(base)


def test_the_guide_is_for_this_machine_s_threads_and_runs_on_any_build(settings: Settings):
    assert side("guide", settings).guide_threads == cpu_threads()
    java = side("java:guide:48", settings)
    assert (java.build, java.guide_threads, java.asked) == ("java", 48, "java:guide:48")


def test_a_file_of_that_name_comes_before_the_guide(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guide").write_text(OPTIONS)
    assert side("guide", settings).options == OPTIONS


def test_half_and_double_of_the_guide_are_those_of_each_workload(settings: Settings):
    few = replace(LOADS[0], name="few", num=500)
    middle = guided("guide:8", settings, *LOADS, few)
    base = default_values("library")
    values = {name: {**base, **middle.values_under(name)} for name in middle.by_workload}
    sides = sides_around(middle, values, "write_buffer_size")
    sizes = {}
    for workload in middle.by_workload:
        half, calculated, double = (
            sides[each].values_under(workload) for each in (HALF, MIDDLE, DOUBLE)
        )
        assert calculated == middle.values_under(workload)
        size = sizes[workload] = int(calculated["write_buffer_size"])
        assert half == {**calculated, "write_buffer_size": pytest.approx(size / 2, abs=2**20)}
        assert double == {**calculated, "write_buffer_size": 2 * size}
    assert sizes["few"] < sizes["load-quick"]
    assert ", 32 MiB (kioxia-t2), " in sides[HALF].what and "MiB (few) in " in sides[HALF].what
