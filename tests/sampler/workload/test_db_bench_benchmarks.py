"""What is known of db_bench's benchmarks, and how one that is not known is refused."""

import re
import subprocess
from pathlib import Path

import pytest

from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.workload.db_bench_benchmarks import BENCHMARKS, known_run, run_of
from sampler.workload.workload import Workload
from sampler.workload.workload_file import load_workload, workload_from_document

FIELD = "workload.benchmarks"


def document(*benchmarks: str, **fields: object) -> dict[str, object]:
    return {"name": "w", "benchmarks": list(benchmarks), **fields}


@pytest.mark.parametrize(
    ("text", "repeats", "warm_ups"),
    [
        ("readrandom", 1, 0), ("readrandom[X3]", 3, 0), ("readrandom[-X10]", 10, 0),
        ("readrandom[W1-X3]", 3, 1), ("readrandom[X3-W2]", 3, 2), ("readrandom[W2]", 1, 2),
    ],
)  # fmt: skip
def test_a_benchmark_may_warm_up_and_be_repeated(text: str, repeats: int, warm_ups: int):
    run = known_run(text, FIELD)
    assert run.benchmark is BENCHMARKS["readrandom"]
    assert (run.repeats, run.warm_ups) == (repeats, warm_ups)
    assert run_of(text) == run


@pytest.mark.parametrize(
    "text",
    ["readrandom[3]", "readrandom[Y3]", "readrandom[X0]", "readrandom[X]", "readrandom[X3", "[X3]",
     "readrandom]X3[", "readrandom[X3]s", "readrandom[X-1]", "readrandom[X1][X2]",
     f"readrandom[X{'1' * 5000}]"],
)  # fmt: skip
def test_what_db_bench_would_pass_over_in_brackets_is_refused(text: str):
    with pytest.raises(InputError, match=re.escape(FIELD)):
        known_run(text, FIELD)


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("fillrandon", "fillrandom"), ("readwhilewritting", "readwhilewr"), ("seekrandm", "seek")],
)
def test_a_benchmark_that_nobody_knows_is_refused_with_near_names(typo: str, meant: str):
    with pytest.raises(InputError, match=rf"{FIELD}: '{typo}' is not a known .* did you mean"):
        workload_from_document(document(typo))
    with pytest.raises(InputError, match=meant):
        known_run(typo, FIELD)


@pytest.mark.parametrize("name", [n for n, b in BENCHMARKS.items() if b.refused])
def test_one_that_is_not_measured_says_why_and_what_to_do(name: str):
    with pytest.raises(InputError) as refused:
        known_run(name, FIELD)
    assert re.search(r"use \"|leave it out|\[command\]", refused.value.problem)


def test_all_benchmarks_that_are_wrong_are_named_at_once():
    with pytest.raises(InputError, match=r"'fillsync' .*'crc32c' .*flags\.num_multi_db"):
        workload_from_document(document("fillsync", "crc32c", flags={"num_multi_db": 2}))


@pytest.mark.parametrize("name", ["mergerandom", "readrandommergerandom"])
def test_a_merge_without_its_operator_is_refused(name: str):
    with pytest.raises(InputError, match=rf"{name} needs merge_operator = \"put\""):
        workload_from_document(document(name))
    assert workload_from_document(document(name, flags={"merge_operator": "put"}))


def test_reads_of_an_empty_database_are_refused():
    with pytest.raises(InputError, match=r"would read an empty database.*\[prepare\]"):
        workload_from_document(document("readrandom"))
    assert workload_from_document(document("fillseq", "readrandom"))
    assert workload_from_document(document("readrandom", prepare={"benchmarks": ["fillseq"]}))


def test_a_mixture_that_puts_nothing_only_reads():
    filled = {"prepare": {"benchmarks": ["fillrandom"]}}
    assert workload_from_document(document("mixgraph", **filled)).only_reads
    flags = {"mix_put_ratio": 0.5}
    assert not workload_from_document(document("mixgraph", flags=flags, **filled)).only_reads


def test_a_stored_job_keeps_what_is_refused_today():
    given = document("replay", flags={"open_files": -1, "trace_file": "/data/trace"})
    with pytest.raises(InputError):
        workload_from_document(given)
    stored = workload_from_document(given, stored=True)
    assert dict(stored.flags)["open_files"] == -1
    (run,) = stored.runs
    assert run.benchmark.keys == "counted"


@pytest.mark.parametrize("name", ["load-quick", "read-quick", "samsung-50-50", "sine"])
def test_shipped_loads_use_benchmarks_that_are_known(name: str):
    assert all(each in BENCHMARKS for each in load_workload(name).benchmarks)


def test_what_is_written_is_estimated_by_benchmark():
    def user_bytes(*benchmarks: str, **flags: object) -> int:
        given = tuple(sorted(flags.items()))
        load = Workload(name="w", num=1000, value_size=84, benchmarks=benchmarks, flags=given)  # type: ignore[arg-type]
        return load.user_bytes()

    assert user_bytes("fillseq", "deleterandom", deletes=500) == 1000 * 100 + 500 * 16
    assert user_bytes("mergerandom", merge_operator="put") == 100_000
    assert user_bytes("readrandommergerandom", mergereadpercent=20) == 20_000
    # Three keys of 17 bytes: 8% puts, 2% deletes.
    verified = 3 * (80 * (17 + 84) + 20 * 17)
    assert user_bytes("randomwithverify") == pytest.approx(verified, abs=1)
    # 1,000 keys once, then a delete and an empty value for each operation.
    assert user_bytes("randomreplacekeys") == 1000 * 100 + 2 * 1000 * 16
    assert user_bytes("randomtransaction") == 1000 * 2 * (4 + 4 + 3)
    assert user_bytes("timeseries") == 100_000
    # Values that were not there are exclusive-ored to empty ones.
    assert user_bytes("xorupdaterandom") == 16_000
    assert user_bytes("fillseq", "xorupdaterandom") == 200_000
    assert user_bytes("mixgraph", mix_get_ratio=1, mix_put_ratio=1) == int(
        500 * (16 + 25.45 / (1 - 0.2615))
    )
    assert user_bytes("fillrandom[W1-X2]") == 300_000
    assert user_bytes("readwhilewriting") == 0


def test_a_fill_of_one_thread_is_not_counted_for_each():
    load = Workload(name="w", num=100, threads=4, benchmarks=("filluniquerandom",))
    assert load.loaded_bytes() == 100 * 1040


@pytest.mark.db_bench
def test_every_benchmark_that_the_help_names_is_known(installed: InstalledDbBench, tmp_path: Path):
    argv = [str(installed.program), "--help"]
    shown = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    text = re.sub(r"\s+", " ", shown.stdout)
    whole = re.search(r"-benchmarks \((.*?) type: string default: \"(.*?)\"", text)
    assert whole
    help_text, usual = whole.groups()
    named = {name.strip() for name in usual.split(",") if name.strip()}
    described = set(re.findall(r"(?<=\s)([a-z][a-zA-Z0-9]{3,}) +--? ", help_text))
    assert len(named) > 30 and len(described) > 40
    assert (named | described) - BENCHMARKS.keys() == set()
