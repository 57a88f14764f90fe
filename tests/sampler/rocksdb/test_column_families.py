"""Column families of an OPTIONS file: their names, and one of them as if it were the default."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.common.errors import InputError
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.measured_part import file_values
from sampler.rocksdb.options_file import CF, DB, TABLE, parse_options

# Each as people say it, and as RocksDB 7.8.3 writes it.
NAMES = {
    "blocks": "blocks",
    'with"quote': 'with"quote',
    'tail"': 'tail"',
    "sp ace": "sp ace",
    "back\\slash": "back\\\\slash",
    "hash#colon:x": "hash\\#colon\\:x",
    "naïve": "naïve",
    "new\nline": "new\\nline",
    '"] [x': '"] [x',
}
TWO = (
    "[Version]\n  rocksdb_version=7.8.3\n[DBOptions]\n  max_background_jobs=3\n"
    '[CFOptions "default"]\n  write_buffer_size=1048576\n'
    '[CFOptions "blocks"]\n  write_buffer_size=2097152\n  num_levels=4\n'
    '[TableOptions/BlockBasedTable "blocks"]\n  block_size=8192\n'
)


@pytest.mark.db_bench
def test_names_are_read_as_rocksdb_writes_them(tmp_path: Path):
    ldb = ("ldb", f"--db={tmp_path / 'db'}")
    subprocess.run([*ldb, "--create_if_missing", "put", "a", "b"], check=True, capture_output=True)
    for name in NAMES:
        made = [*ldb, "create_column_family", name]
        subprocess.run(made, check=True, capture_output=True)
    written = max((tmp_path / "db").glob("OPTIONS-*")).read_text(encoding="utf-8")
    assert parse_options(written).families == ("default", *NAMES.values())
    for name in NAMES:
        assert file_values(read_user_options(written, family=name))["num_levels"] == 7


@pytest.mark.parametrize(("name", "written"), NAMES.items())
def test_a_family_is_named_as_it_is_or_as_it_is_written(name: str, written: str):
    text = f'[DBOptions]\n[CFOptions "default"]\n  a=1\n[CFOptions "{written}"] # its\n  a=2\n'
    assert parse_options(text).families == ("default", written)
    for asked in (name, written):
        assert parse_options(text).as_default(asked).get(CF, "a") == "2"


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda n: n != "default")
)
def test_any_name_is_found(name: str):
    written = name.translate({
        ord("\\"): "\\\\", ord("#"): "\\#", ord(":"): "\\:", 10: "\\n", 13: "\\r"
    })  # fmt: skip
    text = f'[DBOptions]\n[CFOptions "default"]\n[CFOptions "{written}"]\n  a=2\n'
    assert parse_options(text).as_default(name).get(CF, "a") == "2"


def test_a_family_stands_as_the_default_one_and_the_others_are_left_out():
    view = parse_options(TWO).as_default("blocks")
    assert view.sections == {
        "Version": {"rocksdb_version": "7.8.3"},
        DB: {"max_background_jobs": "3"},
        CF: {"write_buffer_size": "2097152", "num_levels": "4"},
        TABLE: {"block_size": "8192"},
    }
    # What is said of it is said of the file as it is.
    changed = view.with_values(CF, {"num_levels": "5"}).without(TABLE, ["block_size"])
    assert changed.place(CF, "num_levels") == '[CFOptions "blocks"] num_levels (line 9)'
    assert changed.own_title(TABLE) == 'TableOptions/BlockBasedTable "blocks"'
    assert changed.own_title(DB) == DB
    assert parse_options(TWO).as_default(None).sections[CF] == {"write_buffer_size": "1048576"}


def test_a_family_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(InputError) as refused:
        read_user_options(TWO, family="block")
    assert str(refused.value) == (
        "column_family: the OPTIONS file has no column family 'block'; it has default, blocks"
    )


def test_a_family_whose_table_is_written_with_its_options_has_it():
    text = TWO.replace("num_levels=4", "block_based_table_factory={block_size=16384;}")
    text = text[: text.index("[TableOptions")]
    assert file_values(read_user_options(text, family="blocks"))["block_size"] == 16384
    assert "block_size" not in file_values(read_user_options(text))


def test_a_table_of_the_application_may_have_any_name():
    text = '[DBOptions]\n[CFOptions "default"]\n[TableOptions/my.Own Table-2 "default"]\n a=1\n'
    assert parse_options(text).table() == 'TableOptions/my.Own Table-2 "default"'
