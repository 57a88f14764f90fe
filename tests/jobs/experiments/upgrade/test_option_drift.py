from pathlib import Path

import pytest

from jobs.experiments.option_drift import Concern, option_drift
from sampler.bench.installed import InstalledDbBench, probe
from sampler.rocksdb.options_file import CF, DB, OptionsFile, leaves
from tests.support.sampler.second_builds import REAL, build, with_default, without_option

pytestmark = pytest.mark.db_bench


def test_the_same_build_differs_in_nothing(installed: InstalledDbBench, tmp_path: Path):
    drift = option_drift(installed, probe(build(tmp_path, "same")))
    assert (drift.changed, drift.added, drift.removed) == ((), (), ())
    assert (drift.flags_added, drift.flags_removed) == ((), ())


def test_a_changed_default_is_found_and_what_it_moves_is_told(
    installed: InstalledDbBench, tmp_path: Path
):
    key = "level_compaction_dynamic_level_bytes"
    now = installed.defaults.get(CF, key)
    other = "false" if now == "true" else "true"
    new = probe(with_default(tmp_path, "new", key, other))
    (changed,) = option_drift(installed, new).changed
    assert str(changed) == f"{key} ({now} -> {other})"
    assert (changed.section, changed.concern) == (CF, Concern.AMPLIFICATION)
    (back,) = option_drift(new, installed).changed
    assert (back.old, back.new) == (other, now)


def test_what_moves_amplification_comes_first(installed: InstalledDbBench, tmp_path: Path):
    speed = with_default(tmp_path, "speed", "max_background_jobs", "8", section="DB")
    both = tmp_path / "both"
    other = with_default(tmp_path, "other", "num_levels", "5")
    both.write_text(other.read_text().replace(f"exec {REAL}", f"exec {speed}"))
    both.chmod(0o755)
    found = option_drift(installed, probe(both)).changed
    keys = [each.key for each in found]
    assert keys.index("num_levels") < keys.index("max_background_jobs")
    assert [each.concern for each in found] == sorted(
        (each.concern for each in found), key=list(Concern).index
    )


def test_an_option_that_is_gone_or_new_is_told_with_its_default(
    installed: InstalledDbBench, tmp_path: Path
):
    new = probe(without_option(tmp_path, "new", "bytes_per_sync"))
    drift = option_drift(installed, new)
    assert [(each.section, each.key, each.value) for each in drift.removed] == [
        (DB, "bytes_per_sync", "0")
    ]
    assert (drift.added, drift.changed) == ((), ())
    assert option_drift(new, installed).added == drift.removed


def test_flags_that_are_gone_are_told(installed: InstalledDbBench, tmp_path: Path):
    drift = option_drift(installed, probe(_without_flag(tmp_path, "duration")))
    assert (drift.flags_added, drift.flags_removed) == ((), ("duration",))


def test_fields_of_structures_are_compared_one_by_one():
    file = OptionsFile({DB: {"a": "1"}, CF: {"s": "{x=1;y={z=2;};}", "e": "{}"}})
    assert dict(leaves(file)) == {
        (DB, "a"): "1", (CF, "s.x"): "1", (CF, "s.y.z"): "2", (CF, "e"): "{}",
    }  # fmt: skip


def _without_flag(folder: Path, flag: str) -> Path:
    return build(folder, "fewer", last=f'%(program)s "$@" 2>&1 | sed "s/^ *-{flag} (/ (/"\n')
