"""A user's OPTIONS file with some values changed: those are there, and every other byte is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.rocksdb.changes import changes_to, difference, patched
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.options_file import (
    CF,
    DB,
    TABLE,
    OptionsFile,
    format_struct,
    leaves,
    parse_options,
    parse_struct,
)
from tests.support import DATA

MARK = "# Rocktune: "
FAMILIES = [
    "default",
    "blocks",
    'with"quote',
    "sp ace",
    "back\\\\slash",
    "naïve",
    'tail"',
    "a\\:b",
]


def patch(text: str, family: str, *values: tuple[str, str, str]) -> str:
    """The text with values for section, key and text; the family stands as default."""
    file = wanted = read_user_options(text, family=family)
    for section, key, value in values:
        wanted = wanted.with_values(section, {key: value})
    return patched(text, changes_to(file, wanted))


def untouched(after: str, added: str | None) -> list[str]:
    """The lines of a patched file but for those below a line of Rocktune's and a new section."""
    lines, kept = iter(after.splitlines()), list[str]()
    for line in lines:
        told = line.lstrip().startswith(MARK)
        while told and line.lstrip().startswith(MARK):
            line = next(lines)
        if line == added:
            assert kept.pop() == ""
        elif not told:
            kept.append(line)
    return kept


blanks = st.sampled_from(["", " ", "  ", "\t"])
names = st.sampled_from(["alpha", "beta", "gamma", "write_buffer_size", "num_levels"])
members = st.sampled_from(["level", "strategy", "deep"])
plain = st.from_regex(r"[A-Za-z0-9_./:-]{1,8}", fullmatch=True)
structs = st.dictionaries(
    members, plain | st.dictionaries(members, plain, min_size=1).map(format_struct), min_size=1
).map(format_struct)
remarks = st.sampled_from(["", "  # mine", "# x=1", " #ä"])


@st.composite
def key_lines(draw: st.DrawFn, key: str, value: str) -> list[str]:
    """A key as people write it: a line, or lines with a dot for the fields of a structure."""
    if value.startswith("{") and draw(st.booleans()):
        fields = OptionsFile({CF: {key: value}})
        return [
            f"{draw(blanks)}{name}{draw(blanks)}={draw(blanks)}{text}{draw(remarks)}"
            for name, text in fields_of(fields, key).items()
        ]
    return [f"{draw(blanks)}{key}{draw(blanks)}={draw(blanks)}{value}{draw(remarks)}"]


def fields_of(options: OptionsFile, key: str) -> dict[str, str]:
    text = options.sections[CF][key]
    return {f"{key}.{name}": value for name, value in parse_struct(text).items()}


@st.composite
def section_lines(draw: st.DrawFn, title: str) -> list[str]:
    lines = [f"{draw(blanks)}[{title}]{draw(remarks)}"]
    for key in draw(st.lists(names, unique=True)):
        lines += draw(st.lists(st.sampled_from(["", "# a=1", "\t"]), max_size=1))
        lines += draw(key_lines(key, draw(plain | structs)))
    return [*lines, *draw(st.lists(st.sampled_from(["", "  # end"]), max_size=2))]


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[str]]:
    """The text of a file and the families that are in it."""
    families = ["default", *draw(st.lists(st.sampled_from(FAMILIES[1:]), unique=True))]
    lines = [*draw(st.lists(st.sampled_from(["# top", ""]))), *draw(section_lines(DB))]
    for family in families:
        lines += draw(section_lines(f'CFOptions "{family}"'))
        if draw(st.booleans()):
            lines += draw(section_lines(f'TableOptions/BlockBasedTable "{family}"'))
        elif draw(st.booleans()):
            kind = draw(st.sampled_from(["block_based_table_factory", "table_factory"]))
            lines[-1:] = [lines[-1], f"  {kind}={draw(structs)}"]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines) + draw(st.sampled_from([end, ""])), families


wishes = st.lists(
    st.tuples(st.sampled_from([DB, CF, TABLE]), names, plain | structs | st.none()), max_size=5
)


@pytest.mark.slow
@given(files(), st.data())
def test_what_is_wanted_is_there_and_every_other_byte_stays(
    file: tuple[str, list[str]], data: st.DataObject
):
    text, families = file
    family = data.draw(st.sampled_from(families))
    before = wanted = read_user_options(text, family=family)
    for section, key, value in data.draw(wishes):
        if value is None:
            wanted = wanted.without(section, [key])
        else:
            wanted = wanted.with_values(section, {key: value})
    changes = changes_to(before, wanted)
    after = patched(text, changes)
    assert dict(leaves(read_user_options(after, family=family))) == dict(leaves(wanted))
    # Other families say what they did.
    for other in set(families) - {family}:
        mine, theirs = (read_user_options(each, family=other) for each in (text, after))
        assert [mine.sections.get(t) for t in (CF, TABLE)] == [
            theirs.sections.get(t) for t in (CF, TABLE)
        ]
    section = wanted.own_title(TABLE)
    own, rest = text.splitlines(), untouched(after, None if section in text else f"[{section}]")
    left = iter(own)
    assert all(line in left for line in rest), "a line was changed, or moved, without being told"
    gone = [line.partition("=")[0].partition(".")[0].strip() for line in own if line not in rest]
    keys = {change.key for change in changes}
    assert set(gone) <= keys | {"block_based_table_factory", "table_factory"}
    end = "\r\n" if "\r\n" in text else "\n"
    assert not {"\r", "\n"} & set(after.replace(end, ""))
    assert changes or after == text


HEAD = '[DBOptions]\n  max_background_jobs=2 # two\n[CFOptions "default"]\n'


@pytest.mark.parametrize(
    ("own", "values", "new"),
    [
        (
            "\twrite_buffer_size = 64M\t# mine\n",
            [(CF, "write_buffer_size", "1024")],
            "\t# Rocktune: was 64M\n\twrite_buffer_size = 1024\t# mine\n",
        ),
        (
            "  a=1\n  a=2\n\n# end\n",
            [(CF, "b", "3"), (CF, "a", "4")],
            "  # Rocktune: was 1\n  a=4\n  a=2\n"
            "  # Rocktune: new; not set in your file\n  b=3\n\n# end\n",
        ),
        (
            "  s={a=1; b={c=2;d= 3 };}\n",
            [(CF, "s.b.d", "4"), (CF, "s.e", "5")],
            "  # Rocktune: b was {c=2;d= 3 }, e was not set\n  s={a=1; b={c=2;d= 4 };e=5;}\n",
        ),
        (
            "  s.a=1\n  x=0\n",
            [(CF, "s.a", "2"), (CF, "s.b", "3")],
            "  # Rocktune: a was 1, b was not set\n  s.a=2\n"
            "  # Rocktune: a was 1, b was not set\n  s.b=3\n  x=0\n",
        ),
        (
            "compression_opts=-14:-1:0:0\n",
            [(CF, "compression_opts.level", "3")],
            "# Rocktune: level was -1\n"
            "compression_opts={window_bits=-14;level=3;strategy=0;max_dict_bytes=0;}\n",
        ),
        (
            "block_based_table_factory=block_size=8192;checksum=kxxHash\n",
            [(TABLE, "block_size", "4096"), (TABLE, "format_version", "5")],
            "# Rocktune: was 8192\n# Rocktune: new; not set in your file\n"
            "block_based_table_factory=block_size=4096;checksum=kxxHash;format_version=5\n",
        ),
        (
            "  table_factory={id=BlockBasedTable;block_size=8192;}\n",
            [(TABLE, "block_size", "4096")],
            "  # Rocktune: was 8192\n  table_factory={id=BlockBasedTable;block_size=4096;}\n",
        ),
        (
            "  block_based_table_factory.block_size=8192\n",
            [(TABLE, "block_size", "4096")],
            "  # Rocktune: was 8192\n  block_based_table_factory.block_size=4096\n",
        ),
        (
            "  a=1\n",
            [(TABLE, "block_size", "4096"), (CF, "b", "2")],
            "  a=1\n  # Rocktune: new; not set in your file\n  b=2\n\n"
            '[TableOptions/BlockBasedTable "default"]\n'
            "  # Rocktune: new; not set in your file\n  block_size=4096\n",
        ),
    ],
)  # fmt: skip
def test_a_value_is_changed_where_the_file_has_it(
    own: str, values: list[tuple[str, str, str]], new: str
):
    for end in ("\n", "\r\n"):
        text = (HEAD + own).replace("\n", end)
        values.sort(key=lambda each: each[0])
        assert patch(text, "default", *values) == (HEAD + new).replace("\n", end)


def test_what_is_taken_out_stays_as_a_comment_wherever_it_stands():
    text = f"{HEAD}  compression_per_level=kZSTD\n compression_per_level=kLZ4"
    file = read_user_options(text)
    changes = changes_to(file, file.without(CF, ["compression_per_level"]))
    why = "# Rocktune: removed: it would override compression"
    assert patched(text, changes, comments=["one\ntwo", ""]) == (
        f"# one\n# two\n#\n{HEAD}  {why}\n#  compression_per_level=kZSTD\n"
        f" {why}\n# compression_per_level=kLZ4"
    )


def test_so_does_an_option_of_tables():
    file = read_user_options(
        f'{HEAD}[TableOptions/BlockBasedTable "default"]\n  no_block_cache=true\n'
    )
    (change,) = changes_to(file, file.without(TABLE, ["no_block_cache"]))
    assert change.why == "removed: it would override block_cache"


def test_what_rocksdb_works_out_stays_while_it_would_come_to_the_same():
    text = (
        f"{HEAD}  write_buffer_size=64M\n  arena_block_size=1048576\n  max_compaction_bytes=100\n"
    )
    for size, stays in (("128M", True), ("1M", False)):
        file = read_user_options(text)
        wanted = file.with_values(CF, {"write_buffer_size": size})
        after = patched(text, changes_to(file, wanted.without(CF, ["arena_block_size"])))
        assert ("\n  arena_block_size=1048576\n" in after) is stays
        assert ("RocksDB derives it from the changed options" in after) is not stays
        assert "\n  max_compaction_bytes=100\n" in after


def test_the_named_family_alone_is_changed():
    body = "  write_buffer_size=1\n  # same\n"
    text = f"[{DB}]\n" + "".join(f'[CFOptions "{name}"]\n{body}' for name in FAMILIES)
    for name in FAMILIES:
        after = patch(text, name, (CF, "write_buffer_size", "2"))
        new = body.replace("  write", f"  {MARK}was 1\n  write").replace("size=1", "size=2")
        assert after == text.replace(f'"{name}"]\n{body}', f'"{name}"]\n{new}')


def test_a_byte_order_mark_goes_for_rocksdb_refuses_it():
    assert patched("\ufeff" + HEAD, []) == HEAD


def test_a_difference_is_one_that_patch_applies():
    before, after = "a\r\nb\x0cb\nc", "a\r\nb\x0cB\nc\nd"
    assert difference(before, after, names=("old", "new")) == (
        "--- old\n+++ new\n@@ -1,3 +1,4 @@\n a\r\n-b\x0cb\n-c\n\\ No newline at end of file\n"
        "+b\x0cB\n+c\n+d\n\\ No newline at end of file\n"
    )
    assert difference(before, before, names=("old", "new")) == ""


@pytest.mark.parametrize(
    "path", sorted(p for p in DATA.glob("cases/*/*") if p.name == "OPTIONS" or p.suffix == ".ini")
)
def test_real_files_are_changed_in_place(path: Path):
    text = path.read_bytes().decode()
    after = patch(
        text, "default", (CF, "write_buffer_size", "7654321"), (TABLE, "block_size", "9")
    )
    found = read_user_options(after)
    assert (found.get(CF, "write_buffer_size"), found.get(TABLE, "block_size")) == ("7654321", "9")
    rest = [line for line in untouched(after, None) if line in text]
    assert len(text.splitlines()) - len(rest) <= 2
    assert parse_options(after).families == parse_options(text).families
