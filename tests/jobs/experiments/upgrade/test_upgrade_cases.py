from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.experiments.option_drift import (
    DEFAULTS,
    KEPT,
    OWN,
    Case,
    cases_of,
    option_drift,
    own_file,
)
from jobs.specification.specification import Specification
from sampler.bench.installed import InstalledDbBench, probe
from sampler.rocksdb.options_file import CF, TABLE, OptionsFile, parse_options
from tests.support.sampler.second_builds import build, with_default

pytestmark = pytest.mark.db_bench


@pytest.fixture
def cases(installed: InstalledDbBench, asked: Callable[..., Specification]):
    def make(new: Path, options: str | None = None, *, draws: int = 0) -> dict[str, Case]:
        other = probe(new)
        file = own_file(installed, other, parse_options(options)) if options else None
        found = cases_of(
            asked(options), installed, other, option_drift(installed, other), file, draws=draws
        )
        return {case.name: case for case in found}

    return make


def written(case: Case) -> tuple[OptionsFile, OptionsFile]:
    """What the old and the new build run with."""
    values = case.configuration
    return case.old.plan.options(values), case.new.plan.options(values)


def test_of_the_same_build_only_the_defaults_are_measured(cases, tmp_path: Path):
    found = cases(build(tmp_path, "same"))
    assert [*found] == [DEFAULTS]
    old, new = written(found[DEFAULTS])
    assert old == new


def test_a_changed_default_is_left_to_the_build_and_kept_in_the_other_case(
    cases, installed: InstalledDbBench, tmp_path: Path
):
    found = cases(with_default(tmp_path, "new", "compression", "kNoCompression"))
    assert [*found] == [DEFAULTS, KEPT]
    as_it_comes, kept = written(found[DEFAULTS])[1], written(found[KEPT])[1]
    assert as_it_comes.get(CF, "compression") is None
    assert kept.get(CF, "compression") == installed.defaults.get(CF, "compression")
    assert written(found[KEPT])[0] == written(found[DEFAULTS])[0]
    assert found[KEPT].new.installed is found[DEFAULTS].new.installed


def test_a_changed_size_is_measured_at_scale_on_either_side(cases, tmp_path: Path):
    found = cases(with_default(tmp_path, "new", "target_file_size_base", "33554432"))
    old, new = written(found[DEFAULTS])
    key = "target_file_size_base"
    assert (old.get(CF, key), new.get(CF, key)) == (str(2**26 // 64), str(2**25 // 64))
    assert written(found[KEPT])[1].get(CF, key) == str(2**26 // 64)


def test_a_default_that_was_automatic_is_measured_as_the_number_that_it_is_now(
    cases, tmp_path: Path
):
    """In the catalogue 0 stands for automatic; the new build has 64 MiB."""
    new = with_default(tmp_path, "new", "max_total_wal_size", str(2**26), section="DB")
    found = cases(new)
    old, as_it_comes = written(found[DEFAULTS])
    assert old.get("DBOptions", "max_total_wal_size") is None
    assert as_it_comes.get("DBOptions", "max_total_wal_size") == str(2**20)
    assert written(found[KEPT])[1].get("DBOptions", "max_total_wal_size") == "0"


def test_the_users_file_runs_on_both_builds(cases, tmp_path: Path):
    own = '[DBOptions]\n[CFOptions "default"]\n  num_levels=5\n  write_buffer_size=33554432\n'
    own += '[TableOptions/BlockBasedTable "default"]\n  block_size=16384\n'
    new = with_default(tmp_path, "new", "compression", "kNoCompression")
    for side in written(cases(new, own)[OWN]):
        assert side.get(CF, "num_levels") == "5"
        assert side.get(CF, "write_buffer_size") == str(2**25 // 64)
        assert side.get(TABLE, "block_size") == "16384"
        assert side.get(CF, "compression") is None


def test_draws_are_the_same_on_both_builds_and_every_time(cases, tmp_path: Path):
    new = with_default(tmp_path, "new", "compression", "kNoCompression")
    found = cases(new, draws=3)
    assert [*found] == [DEFAULTS, KEPT, "draw-1", "draw-2", "draw-3"]
    again = cases(new, draws=3)
    for name in ("draw-1", "draw-2", "draw-3"):
        assert found[name].configuration == again[name].configuration != {}
    drawn = [tuple(found[f"draw-{n}"].configuration.items()) for n in (1, 2, 3)]
    assert len(set(drawn)) == 3
