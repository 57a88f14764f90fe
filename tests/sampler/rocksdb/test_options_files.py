import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.rocksdb.forms import FORMS, read_user_options, write_form
from sampler.rocksdb.options_file import (
    CF,
    DB,
    TABLE,
    VERSION,
    OptionsFile,
    format_options,
    format_struct,
    leaves,
    list_members,
    parse_options,
    parse_struct,
    unnumbered,
    within_its_folder,
    without_leaf,
)

names = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
plain = st.from_regex(r"[A-Za-z0-9_.:/-]{0,12}", fullmatch=True)
structs = st.recursive(
    st.dictionaries(names, plain, max_size=4).map(format_struct),
    lambda inner: st.dictionaries(names, inner | plain, max_size=3).map(format_struct),
    max_leaves=6,
)
texts = plain | structs
sections = st.fixed_dictionaries(
    {DB: st.dictionaries(names, texts), CF: st.dictionaries(names, texts)},
    optional={TABLE: st.dictionaries(names, texts, min_size=1)},
)


@given(st.dictionaries(names, texts))
def test_structures_of_any_depth_survive_being_written_and_read(fields: dict[str, str]):
    assert parse_struct(format_struct(fields)) == fields


@pytest.mark.slow
@given(sections, st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126))))
def test_files_survive_being_written_and_read(
    given_sections: dict[str, dict[str, str]], comments: list[str]
):
    text = format_options(OptionsFile(given_sections), rocksdb_version="7.8.3", comments=comments)
    read = dict(parse_options(text).sections)
    assert read.pop(VERSION) == {"rocksdb_version": "7.8.3", "options_file_version": "1.1"}
    assert read == given_sections


@pytest.mark.slow
@given(sections, names, names, plain)
def test_setting_one_field_of_a_structure_keeps_the_others(
    given_sections: dict[str, dict[str, str]], struct: str, member: str, text: str
):
    before = OptionsFile(given_sections).with_values(CF, {struct: "{kept=1;deep={a=2;b=3;};}"})
    after = before.with_values(CF, {f"{struct}.{member}": text})
    fields = {"kept": "1", "deep": "{a=2;b=3;}", member: text}
    assert {name: after.get(CF, f"{struct}.{name}") for name in fields} == fields
    assert after.sections[DB] == given_sections[DB]


def test_a_field_of_a_structure_that_is_not_there_is_put_into_a_new_one():
    options = OptionsFile().with_values(CF, {"compression_opts.level": "3"})
    assert options.get(CF, "compression_opts") == "{level=3;}"
    assert options.get(CF, "compression_opts.level") == "3"
    assert options.get(CF, "compression_opts.window_bits") is None
    assert options.get(DB, "compression_opts.level") is None


def test_a_field_of_a_structure_in_a_structure_is_found_and_set():
    options = OptionsFile({CF: {"s": "{x=1;y={z=2;};}"}})
    assert options.get(CF, "s.y.z") == "2" and options.get(CF, "s.y.no") is None
    assert options.with_values(CF, {"s.y.z": "3"}).get(CF, "s") == "{x=1;y={z=3;};}"


def test_keys_can_be_left_out():
    options = OptionsFile({CF: {"a": "1", "b": "2"}, DB: {"a": "3"}}).without(CF, ["a"])
    assert options.sections == {CF: {"b": "2"}, DB: {"a": "3"}}


def test_what_leads_out_of_the_folder_is_left_out_and_nothing_else():
    text = (
        "[DBOptions]\n  wal_dir=/prod/wal\nmax_open_files=7\n\tdb_log_dir = /prod/log\n"
        "  env={id=Chroot;}\n  wal_dir_of_another=1\n  # wal_dir=\n  env=x"
    )
    kept = "[DBOptions]\nmax_open_files=7\n  wal_dir_of_another=1\n  # wal_dir=\n"
    assert within_its_folder(text) == kept
    assert within_its_folder(kept) == kept


def test_comments_and_blank_lines_are_passed_over():
    text = (
        '# top\n[DBOptions] # of the database\n\n  a = 1 # one\n  b=x\\#y\n[CFOptions "default"]\n'
    )
    assert parse_options(text).sections == {DB: {"a": "1", "b": "x\\#y"}, CF: {}}


def test_of_a_key_given_twice_the_first_line_counts():
    options = parse_options('[DBOptions]\na=1\na=2\n[CFOptions "default"]\n')
    assert options.get(DB, "a") == "1"
    assert options.place(DB, "a") == "[DBOptions] a (line 2)"


def test_families_version_and_table_are_told():
    text = (
        '[Version]\nrocksdb_version=6.8.1\n[DBOptions]\n[CFOptions "default"]\na=1\n'
        '[TableOptions/PlainTable "default"]\nb=2\n[CFOptions "odd\\:name"]\nc=3\n'
    )
    options = parse_options(text)
    assert options.version == (6, 8, 1)
    assert options.families == ("default", "odd\\:name")
    assert options.table() == 'TableOptions/PlainTable "default"'
    mine = options.of_family("default")
    assert 'CFOptions "odd\\:name"' not in mine.sections and mine.get(CF, "a") == "1"


def test_lines_of_windows_are_read_alike():
    text = '[DBOptions]\r\n  a=1 # one\r\n[CFOptions "default"]\r\n  b=2\r\n'
    assert parse_options(text) == parse_options(text.replace("\r\n", "\n"))
    assert parse_options(text).get(CF, "b") == "2"


def test_comments_stand_at_the_top():
    options = OptionsFile({DB: {"a": "1"}})
    text = format_options(options, rocksdb_version="7.8.3", comments=["made by hand"])
    assert text.startswith("# made by hand\n[Version]\n")


def test_a_comment_of_two_lines_stays_a_comment():
    options = OptionsFile({DB: {"a": "1"}, CF: {}})
    text = format_options(options, rocksdb_version="7.8.3", comments=["one\n[DBOptions]\nb=2"])
    assert parse_options(text).get(DB, "b") is None


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "has no [DBOptions] section"),
        ("[DBOptions]\n", 'has no [CFOptions "default"] section'),
        (
            '[DBOptions]\n[CFOptions "a"]\n',
            'line 2: [CFOptions "a"] comes before [CFOptions "def',
        ),
        ("[DBOptions]\n[DBOptions]\n", "line 2: [DBOptions] is listed twice"),
        ('[TableOptions/BlockBasedTable "default"]', 'needs [CFOptions "default"] before it'),
        ("[Options]\n", "line 1: [Options] is not a section of an OPTIONS file; use [DBOptions],"),
        ("a=1\n[DBOptions]\n", "line 1 is not key=value in a section: 'a=1'"),
        ("[DBOptions]\nmax_background_jobs\n", "line 2 is not key=value in a section"),
        ("[DBOptions]\n=4\n", "line 2 is not key=value in a section"),
        ("[DBOptions\na=1\n", "line 1 is not key=value in a section"),
        ("{json: true}", "line 1 is not key=value in a section"),
        ("\x00\x01\x02", "line 1 is not key=value in a section"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(text: str, fragment: str):
    with pytest.raises(InputError) as refused:
        parse_options(text, name="--baseline")
    assert str(refused.value).startswith("--baseline: ")
    assert fragment in str(refused.value) and "\n" not in str(refused.value)


@given(st.text())
def test_whatever_is_given_is_read_or_refused(text: str):
    try:
        read = parse_options(text)
    except InputError as error:
        assert error.field == "OPTIONS file"
    else:
        assert {DB, CF} <= read.sections.keys()


@pytest.mark.db_bench
def test_the_file_that_rocksdb_writes_survives_being_read_and_written(
    installed: InstalledDbBench,
):
    text = format_options(installed.defaults, rocksdb_version=installed.version)
    assert parse_options(text) == installed.defaults
    assert len(installed.defaults.sections[CF]) > 50


@pytest.mark.parametrize(
    "text", ["2023/06/18-07:29:34.061005 45540 RocksDB version: 7.8.3\n", "num_levels=4\n", "{}"]
)
def test_a_file_of_another_kind_is_told_what_an_options_file_is(text: str):
    with pytest.raises(InputError, match=r"line 1 is not .* OPTIONS-NUMBER to the database"):
        parse_options(text)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a=" + "{b=" * 17 + "}" * 17, "a is nested more than 16 levels deep"),
        ("a=" + "{b=" * 50_000, "a is nested more than 16 levels deep"),
        ("a" + ".b" * 17 + "=1", "a.b.b.b"),
        ("a.b.c=" + "{d=" * 15 + "1", "a.b.c is nested more than 16 levels deep"),
        ("a={" + "b=1;" * 257 + "}", "a has more than 256 fields"),
        ("\n".join(f"a.b{number}=1" for number in range(257)), "a.b256 has more than 256 fields"),
    ],
    ids=["braces", "unclosed", "dots", "both", "fields", "dotted"],
)
def test_a_structure_that_is_made_to_wear_readers_out_is_refused_by_its_line(line: str, told: str):
    text = f"[{DB}]\n[{CF}]\n{line}\n"
    number = 2 + len(line.splitlines())
    with pytest.raises(InputError) as refused:
        parse_options(text, name="--baseline")
    assert str(refused.value).startswith(f"--baseline: line {number}: [{CF}] {told}")
    assert len(str(refused.value)) < 250


def test_the_deepest_and_largest_structures_are_read_in_every_form():
    deep = "{b=" * 16 + "1" + ";}" * 16
    large = "{" + "".join(f"b{number}=1;" for number in range(256)) + "}"
    text = f"[{DB}]\n[{CF}]\na={deep}\nc={large}\n"
    found = parse_options(text)
    assert found.get(CF, "a" + ".b" * 16) == "1"
    assert found.get(CF, "c.b255") == "1"
    assert dict(leaves(found))[CF, "a" + ".b" * 16] == "1"
    for form in FORMS:
        assert write_form(form, text, []) or form == "setoptions"  # calls for changes alone


def test_dotted_keys_and_a_structure_are_put_together_in_their_order():
    own = read_user_options(f"[{DB}]\n[{CF}]\na={{b=1;c=2;}}\na.d=3\nx.y=4\na.b=5\n")
    assert own.sections[CF] == {"a": "{b=5;c=2;d=3;}", "x": "{y=4;}"}


ONE, OTHER = "{id=A;window=9;ratio=0.5;}", "{id=B;window=7;}"


@pytest.mark.parametrize(
    ("text", "members"),
    [
        (f"{{{ONE}}}", [ONE]),
        (f"{{{ONE}:{OTHER}}}", [ONE, OTHER]),
        (f"{ONE}:{OTHER}", [ONE, OTHER]),
        (ONE, []),
        ("{a={b=1;};}", []),
        ("bloomfilter:10:false", []),
        ("kSnappyCompression:kZSTD", []),
        ("{}", []),
        ("", []),
    ],
)
def test_a_list_of_structures_is_told_from_a_structure(text: str, members: list[str]) -> None:
    assert list_members(text) == members


def test_fields_of_structures_in_a_list_are_options_of_their_own() -> None:
    one = OptionsFile({CF: {"list": f"{{{ONE}}}"}})
    assert dict(leaves(one)) == {
        (CF, "list.id"): "A", (CF, "list.window"): "9", (CF, "list.ratio"): "0.5"
    }  # fmt: skip
    assert one.get(CF, "list.window") == "9"
    assert without_leaf(one, CF, "list.window").get(CF, "list") == "{id=A;ratio=0.5;}"
    two = OptionsFile({CF: {"list": f"{{{ONE}:{OTHER}}}"}})
    assert two.get(CF, "list.1.window") == "7"
    assert (CF, "list.1.window") in dict(leaves(two))
    assert without_leaf(two, CF, "list.1.window").get(CF, "list") == f"{ONE}:{{id=B;}}"
    assert unnumbered("list.1.window") == "list.window"
