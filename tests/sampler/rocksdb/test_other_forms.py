"""What is given as an OPTIONS file and is another form is named, with where its options belong."""

import pytest

from sampler.common.errors import InputError
from sampler.rocksdb.forms import is_options_file, other_form, read_user_options


@pytest.mark.parametrize(
    ("text", "named", "way"),
    [
        ("a=1,write_buffer_size=67108864,max_background_jobs=4\n",
         "is an option string of Ceph",
         "max_background_jobs below the first, the others below the second; leave out a, which"),
        ('"write_buffer_size=64m;block_based_table_factory={block_size=4k;x=1;};"',
         "is an option string (rocksdb_default_cf_options", ": all below the second."),
        ("[mysqld]\nloose-rocksdb-block-size = 16384\n", "is a configuration of MyRocks",
         "block_size inside block_based_table_factory={...} of the second"),
        ("bluestore rocksdb options = compression=kNoCompression\n",
         "is a configuration of Ceph (bluestore rocksdb options)", ": all below the second."),
        ('[rocksdb.defaultcf]\nwrite-buffer-size = "128MB"\n', "is a configuration of TiKV",
         "give the newest OPTIONS-NUMBER"),
        ("# server\nrocksdb.write_buffer_size 64\n", "is a configuration of Kvrocks",
         "give the newest OPTIONS-NUMBER"),
        ("commit,test,ops,p50,p99\nabc,fillseq,1,2,3\n", "is a table of 5 columns",
         '{"trials": [{"baseline": true'),
        ('{"rate": 1}', "is JSON", "OPTIONS.ini"),
        ("2024/01/02-03:04:05.678901 7f DB SUMMARY\n", "is a LOG",
         "give the OPTIONS-NUMBER of its folder here"),
    ],
)  # fmt: skip
def test_it_is_told_what_it_is_and_what_to_give(text: str, named: str, way: str) -> None:
    with pytest.raises(InputError) as refused:
        read_user_options(text, name="--baseline X")
    said = str(refused.value)
    assert said.startswith(f"--baseline X: {named}")
    assert way in said
    assert "\n" not in said


@pytest.mark.parametrize("text", ["", "hello\n", "a=1\n", "[DBOptions]\nx\n", "{", "a,b,c,d,e\n"])
def test_what_is_of_no_known_form_keeps_its_own_words(text: str) -> None:
    assert other_form(text) is None


def test_an_options_file_is_known_by_its_first_section() -> None:
    assert is_options_file("# mine\n[Version]\n  rocksdb_version=7.8.3\n")
    assert not is_options_file("[osd]\n")
