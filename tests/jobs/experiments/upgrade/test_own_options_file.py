from pathlib import Path

import pytest

from jobs.experiments.option_drift import own_file
from jobs.experiments.upgrade import upgrade_sentences
from sampler.bench.installed import InstalledDbBench, probe
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import CF, DB, parse_options
from tests.support.sampler.second_builds import (
    REAL,
    REFUSES,
    WRITES,
    build,
    with_default,
    without_option,
)

pytestmark = pytest.mark.db_bench
OWN = parse_options("""\
[DBOptions]
  max_background_jobs=4
  bytes_per_sync=1048576
[CFOptions "default"]
  write_buffer_size=33554432
  num_levels=6
  compaction_options_universal={size_ratio=3;}
""")


def test_a_file_that_both_take_is_told_to_open(installed: InstalledDbBench, tmp_path: Path):
    file = own_file(installed, probe(build(tmp_path, "same")), OWN)
    assert file.opens
    assert (file.accepted.refused, file.changed, file.ignored) == ((), (), ())
    assert file.accepted.part == OWN


def test_an_option_that_the_new_build_reads_and_ignores_is_named(
    installed: InstalledDbBench, tmp_path: Path
):
    sed = "/^ *bytes_per_sync=/d"
    ignores = build(tmp_path, "new", last=WRITES % {"program": REAL, "sed": sed})
    file = own_file(installed, probe(ignores), OWN)
    assert file.opens
    assert (file.changed, file.ignored) == ((), ("bytes_per_sync",))


def test_every_option_that_is_refused_is_named_and_left_out(
    installed: InstalledDbBench, tmp_path: Path
):
    refuses = "".join(REFUSES % {"key": k} for k in ("bytes_per_sync", "num_levels"))
    file = own_file(installed, probe(build(tmp_path, "new", refuses)), OWN)
    assert not file.opens
    assert {(each.section, each.key, each.value) for each in file.accepted.refused} == {
        (DB, "bytes_per_sync", "1048576"), (CF, "num_levels", "6"),
    }  # fmt: skip
    assert all("Could not find option" in each.said for each in file.accepted.refused)
    assert (file.changed, file.ignored) == ((), ()), "what is refused has no value there"
    part = file.accepted.part
    assert part.get(DB, "bytes_per_sync") is part.get(CF, "num_levels") is None
    assert part.get(CF, "write_buffer_size") == "33554432"


def test_an_option_in_another_form_is_not_taken_for_ignored(
    installed: InstalledDbBench, tmp_path: Path
):
    """As a Ribbon filter: one text in 7.8.3, a structure since 8.7."""
    sed = "s/^ *bytes_per_sync=.*/  bytes_per_sync={id=1048576;more=1;}/"
    other = build(tmp_path, "new", last=WRITES % {"program": REAL, "sed": sed})
    file = own_file(installed, probe(other), OWN)
    assert file.opens and file.ignored == ()


def test_a_value_that_the_new_build_replaces_silently_is_found(
    installed: InstalledDbBench, tmp_path: Path
):
    body = """\
[ -n "$file" ] && sed 's/num_levels=6/num_levels=7/' "$file" > "$file.x" \\
    && set -- "$@" "--options_file=$file.x"
"""
    file = own_file(installed, probe(build(tmp_path, "new", body)), OWN)
    assert file.opens
    assert [str(each) for each in file.changed] == ["num_levels (6 -> 7)"]


def test_a_default_that_the_file_does_not_name_is_not_its_own(
    installed: InstalledDbBench, tmp_path: Path
):
    new = probe(with_default(tmp_path, "new", "compression", "kNoCompression"))
    assert own_file(installed, new, OWN).changed == ()


def test_of_a_build_that_names_no_option_the_one_that_it_refuses_is_found(
    installed: InstalledDbBench, tmp_path: Path
):
    body = 'grep -q write_buffer_size=33554432 "$file" && { echo "no." >&2; exit 1; }\n'
    file = own_file(installed, probe(build(tmp_path, "new", body)), OWN)
    assert not file.opens
    (refused,) = file.accepted.refused
    assert (refused.key, refused.value) == ("write_buffer_size", "33554432")
    assert file.accepted.part.get(CF, "write_buffer_size") is None


def test_a_file_that_the_old_build_refuses_is_bad_input(
    installed: InstalledDbBench, tmp_path: Path
):
    old = probe(without_option(tmp_path, "old", "bytes_per_sync"))
    with pytest.raises(InputError, match=r"options: RocksDB [\d.]+, the old build, rejects it"):
        own_file(old, installed, OWN)


def test_a_change_of_the_old_build_is_not_blamed_on_the_new_one(
    installed: InstalledDbBench, tmp_path: Path
):
    """As ``write_dbid_to_manifest=true``, which 7.8.3 turns off and 9.10.0 keeps."""
    body = """\
[ -n "$file" ] && sed 's/num_levels=6/num_levels=7/' "$file" > "$file.x" \\
    && set -- "$@" "--options_file=$file.x"
"""
    file = own_file(probe(build(tmp_path, "old", body)), installed, OWN)
    assert file.opens and file.changed == ()
    assert [str(each) for each in file.changed_by_old] == ["num_levels (7 -> 6)"]
    told = upgrade_sentences([], {}, {}, [], file)
    assert told[0] == (
        "The old build changes values of your OPTIONS file that the new build takes as written: "
        "num_levels (7 -> 6)."
    )
    assert "with the same values in effect" not in " ".join(told)


def test_what_the_old_build_refuses_the_new_one_has_not_changed(
    installed: InstalledDbBench, tmp_path: Path
):
    old = probe(without_option(tmp_path, "old", "num_levels"))
    file = own_file(old, installed, OWN, drop_unknown=True)
    assert file.opens and not file.compared
    assert (file.changed, file.changed_by_old) == ((), ())


def test_what_the_old_build_refuses_is_named_in_one_line(
    installed: InstalledDbBench, tmp_path: Path
):
    keys = "".join(f"  no_option_{number}=1\n" for number in range(14))
    own = parse_options(f'[DBOptions]\n{keys}[CFOptions "default"]\n  num_levels=6\n')
    with pytest.raises(InputError) as refused:
        own_file(installed, probe(build(tmp_path, "same")), own)
    said = str(refused.value)
    assert said.count("no_option_") == 12 and " and 2 more; give the file" in said
    assert "Could not find" not in said
