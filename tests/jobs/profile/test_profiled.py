"""A database made into the load that it is tuned by."""

from pathlib import Path

import pytest

from jobs.profile import Profiled, load_name, require_outside
from sampler.common.errors import InputError
from sampler.profile.load import choose_load
from sampler.profile.profile import DatabaseProfile, FamilyProfile, ValueSize
from sampler.rocksdb.log_reader import find_files

OPTIONS = """[DBOptions]
[CFOptions "default"]
  write_buffer_size=4194304
  max_write_buffer_number=3
"""


def _profiled(puts: float, options: str = OPTIONS) -> Profiled:
    family = FamilyProfile(
        name="default", key_size=16.0, value_size=ValueSize(84.0), overwrite_share=0.0,
        entries=round(puts), operations={"put": puts},
    )  # fmt: skip
    profile = DatabaseProfile(families=(family,), options=options)
    return Profiled(profile, family, choose_load(profile, family, name="mine"))


def test_a_load_that_would_stay_in_memory_is_that_of_a_larger_database():
    short = _profiled(1e6)  # 100 MB beside three memtables of 4 MiB
    longer = short.long_enough()
    assert short.chosen.workload.loaded_bytes() < 16 * 12 * 2**20
    load = longer.chosen.workload
    assert load.loaded_bytes() >= 16 * 12 * 2**20 // load.scale
    assert longer.chosen.workload.benchmarks == short.chosen.workload.benchmarks
    assert "2.21 times as large" in longer.chosen.not_expressed[0]


@pytest.mark.parametrize("number", ["-3", "0", "x"])
def test_a_number_that_rocksdb_cannot_use_is_its_default(number: str):
    odd = OPTIONS.replace("max_write_buffer_number=3", f"max_write_buffer_number={number}")
    usual = OPTIONS.replace("max_write_buffer_number=3", "max_write_buffer_number=2")
    assert _profiled(1e6, odd).long_enough().chosen == _profiled(1e6, usual).long_enough().chosen


def test_a_load_that_is_long_enough_stays():
    enough = _profiled(4e6)
    assert enough.long_enough() is enough


def test_a_file_that_was_changed_by_hand_is_not_replaced_unasked(tmp_path: Path):
    found, file, options = _profiled(1e6), tmp_path / "mine.toml", tmp_path / "mine.OPTIONS"
    found.require_unwritten(file, options)
    found.write(file, options)
    found.require_unwritten(file, options)
    for changed in (file, options):
        was = changed.read_bytes()
        changed.write_text("# mine\n")
        with pytest.raises(InputError, match=rf"out: '.*{changed.name}' already exists and dif"):
            found.require_unwritten(file, options)
        found.require_unwritten(file, options, named=True)  # to be replaced with what is beside it
        changed.write_bytes(was)
    file.unlink()
    options.write_text("# mine\n")  # not from an earlier profile, which leaves both
    with pytest.raises(InputError, match=r"out: '.*mine\.OPTIONS' already exists and differs"):
        found.require_unwritten(file, options, named=True)


def test_the_database_s_folder_is_never_written_into(tmp_path: Path):
    (tmp_path / "db").mkdir()
    require_outside(tmp_path / "db", tmp_path / "db.toml")
    for inside in ("db/x.toml", "db/deep/x.toml", "other/../db/x.toml", "db"):
        with pytest.raises(InputError, match="is in the database's folder"):
            require_outside(tmp_path / "db", tmp_path / inside)


def test_a_load_is_called_as_its_database(tmp_path: Path):
    (tmp_path / "my db").mkdir()
    log = tmp_path / "my db" / "LOG"
    log.write_text("")
    assert load_name(tmp_path / "my db") == load_name(log) == "my-db"


def test_what_may_not_be_looked_at_is_refused_in_one_line(tmp_path: Path):
    hidden = tmp_path / ("x" * 300) / "db"  # as one whose folder may not be searched
    with pytest.raises(InputError, match="cannot be read"):
        load_name(hidden)
    with pytest.raises(InputError, match="cannot be read"):
        require_outside(hidden, tmp_path / "db.toml")


def test_options_come_back_with_their_line_ends(tmp_path: Path):
    (tmp_path / "db").mkdir()
    options = OPTIONS.replace("\n", "\r\n").encode()
    (tmp_path / "db" / "OPTIONS-000007").write_bytes(options)
    (tmp_path / "db" / "LOG").write_text("")
    _, text = find_files(tmp_path / "db", lambda _: None)
    family = FamilyProfile(name="default", operations={"put": 1e6})
    profile = DatabaseProfile(families=(family,), options=text)
    found = Profiled(profile, family, choose_load(profile, family, name="mine"))
    found.write(tmp_path / "mine.toml", tmp_path / "mine.OPTIONS")
    assert (tmp_path / "mine.OPTIONS").read_bytes() == options


def test_sizes_that_cannot_be_are_refused_and_take_no_memory():
    size = ValueSize(2.0**62)
    family = FamilyProfile(name="default", value_size=size, operations={"put": 1e6})
    with pytest.raises(InputError, match="above RocksDB's maximum"):
        choose_load(DatabaseProfile(families=(family,)), family, name="mine")
