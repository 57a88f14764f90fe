"""Random OPTIONS files of all that RocksDB takes: opened, and loaded at 1/64."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.execution.assembly import single_bench
from sampler.bench.installed import InstalledDbBench, try_options
from sampler.bench.outcome import TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.rocksdb.option_facts import option_facts
from sampler.rocksdb.options_file import OptionsFile, format_options
from tests.support.sampler.drawn_options import NOT_DRAWN, draw_options, drawn


def files_with(key: str, count: int = 300) -> Iterator[OptionsFile]:
    for options in map(draw_options, range(count)):
        if any(options.get(title, key) is not None for title in options.sections):
            yield options


def test_a_number_is_always_the_same_file():
    assert draw_options(3) == draw_options(3)
    assert draw_options(3) != draw_options(4)
    assert draw_options(3) != draw_options(3, seed=1)


@pytest.mark.slow
def test_every_option_that_this_rocksdb_takes_is_drawn_or_named_with_a_reason():
    every = [fact.key for fact in option_facts().values() if drawn(fact)]
    assert len(every) > 200
    never = {key for key in every if next(files_with(key), None) is None}
    assert not never
    assert not {key for key in every if key in NOT_DRAWN}


def test_draws_reach_every_kind_of_tree_table_and_memtable():
    seen = {
        text
        for options in map(draw_options, range(300))
        for values in options.sections.values()
        for text in values.values()
    }
    assert {
        "kCompactionStyleFIFO", "kCompactionStyleUniversal", "PlainTable",
    } <= seen  # fmt: skip
    for factory in ("HashSkipList", "HashLinkList", "Vector"):
        assert any(text.startswith(f"{{id={factory}") for text in seen)


# What a plain division of sizes cannot load: a hash memtable (8), huge pages (7), arena blocks of
# a dump (12, 27), statistics in a column family of their own (16); and a plain table (5).
@pytest.mark.db_bench
@pytest.mark.parametrize("number", [5, 7, 8, 12, 16, 27])
def test_the_dump_of_a_random_file_is_loaded_at_a_scale(
    installed: InstalledDbBench, settings: Settings, tmp_path: Path, number: int
):
    (tmp_path / "opened").mkdir()
    dump = try_options(installed.program, draw_options(number), tmp_path / "opened")
    assert dump.options is not None, dump.complaint
    baseline, workload = tmp_path / "OPTIONS.ini", tmp_path / "load.toml"
    baseline.write_text(format_options(dump.options, rocksdb_version=installed.version))
    workload.write_text(
        'name = "tiny"\nnum = 5000\nsettle = "flush"\nscale = 64\ntimeout_seconds = 60\n'
    )
    bench = single_bench(
        str(workload),
        settings,
        baseline=str(baseline),
        drop_unknown=False,
        scale=None,
        db_bench=None,
        configuration={},
    ).benchmark
    outcome = LocalRunner(bench, settings).run({})
    assert outcome.state is TrialState.DONE, outcome.failure
    assert outcome.metrics["waf"] > 0
