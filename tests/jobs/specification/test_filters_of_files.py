"""A filter whose bits a file does not say, and a filter of prefixes, in front of a job."""

from pathlib import Path

import pytest

from jobs.specification.load_warnings import baseline_warnings
from jobs.specification.named_files import specify
from jobs.specification.resolved_job import measured_baseline
from sampler.bench.bench_plan import BenchPlan
from sampler.common.errors import InputError
from sampler.space.space import default_values
from sampler.space.space_file import load_space
from sampler.workload.workload_file import load_workload
from tests.support import DATA

SMALLEST = (
    '[Version]\n[DBOptions]\n[CFOptions "default"]\n{family}\n'
    '[TableOptions/BlockBasedTable "default"]\n{table}\n'
)
NO_BITS = ("bloomfilter", "ribbonfilter", "rocksdb.BuiltinBloomFilter", "MyFilter")


def written(folder: Path, *, family: str = "", table: str) -> str:
    file = folder / "OPTIONS"
    file.write_text(SMALLEST.format(family=family, table=table))
    return str(file)


@pytest.mark.parametrize("policy", NO_BITS)
def test_a_job_that_searches_the_bits_needs_them(policy: str, tmp_path: Path):
    file = written(tmp_path, table=f"filter_policy={policy}")
    kind = "ribbonfilter:10:-1" if "ribbon" in policy else "bloomfilter:10:false"
    with pytest.raises(InputError) as refused:
        specify(workload="load", space="default", baseline=file)
    assert refused.value.field == "baseline_options"
    assert f"filter_policy (line 6) = {policy} does not say the bits" in refused.value.problem
    assert f"Write filter_policy={kind} with your bits instead of 10" in refused.value.problem
    with pytest.raises(InputError, match="does not say the bits"):
        specify(workload="load", space="default", start_from=[file])


def test_with_its_bits_or_without_a_filter_a_file_is_taken(tmp_path: Path):
    for policy in ("bloomfilter:10:false", "nullptr"):
        file = written(tmp_path, table=f"filter_policy={policy}")
        specify(workload="load", space="default", baseline=file)


def test_a_job_that_leaves_the_filter_alone_only_warns(tmp_path: Path):
    file = written(tmp_path, table="filter_policy=bloomfilter")
    over = ["write_buffer_size"]
    specify(workload="load", space="default", baseline=file, strategy="genetic", over=over)
    (line,) = warned(table="filter_policy=bloomfilter")
    assert line.startswith("filter_policy = bloomfilter: RocksDB makes no filter from this text")
    assert "nothing is filtered while measuring" in line
    assert "Write filter_policy=bloomfilter:10:false" in line


def warned(*, family: str = "", table: str) -> list[str]:
    load = load_workload("read-quick")
    found = measured_baseline(
        load, None, library=default_values("library"),
        options=SMALLEST.format(family=family, table=table),
    )  # fmt: skip
    plan: BenchPlan = found.plan(load, load_space("all"))
    return baseline_warnings(plan)


PREFIXES = "filter_policy=bloomfilter:10:false\nwhole_key_filtering=false"


@pytest.mark.parametrize(
    ("extractor", "said"),
    [
        ("ardb.prefix_extractor", "it holds nothing and has no effect in what is measured"),
        ("nullptr", "no prefix_extractor: the filter holds only prefixes"),
        ("rocksdb.FixedPrefix.17", "keys of 16 bytes are shorter; the filter holds only"),
        ("rocksdb.FixedPrefix.6", "has little effect in what is measured"),
        ("rocksdb.FixedPrefix.8", "it holds every key of the load"),
        ("capped:20", "it holds every key of the load"),
    ],
)
def test_a_filter_of_prefixes_is_told_by_what_it_holds(extractor: str, said: str):
    (line,) = warned(family=f"prefix_extractor={extractor}", table=PREFIXES)
    assert said in line


def test_a_prefix_longer_than_the_keys_is_not_measured():
    (line,) = warned(family="prefix_extractor=rocksdb.FixedPrefix.17", table="")
    assert line == (
        "prefix_extractor = rocksdb.FixedPrefix.17: not measured, because the load's keys of 16 "
        "bytes are shorter"
    )
    assert warned(family="prefix_extractor=rocksdb.FixedPrefix.8", table="") == []


def test_files_of_bindings_are_among_them():
    for name in ("c-7.8.3-bloom-10", "rocksdict-9.8.4-bloom-10"):
        file = next((DATA / "applications" / name).glob("OPTIONS-*"))
        with pytest.raises(InputError, match="bloomfilter does not say the bits per key"):
            specify(workload="load", space="default", baseline=str(file))
