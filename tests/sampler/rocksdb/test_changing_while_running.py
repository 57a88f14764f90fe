"""Which options a running database changes: the table of facts beside RocksDB itself."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from sampler.bench.installed import InstalledDbBench
from sampler.rocksdb.changes import parameter_document
from sampler.rocksdb.option_facts import OptionFact, option_facts
from sampler.rocksdb.options_file import CF, DB, parse_options
from sampler.rocksdb.parameters import catalogue
from tests.support.cases.case import ARTEFACTS
from tests.support.sampler.rocksdb_library import RocksDbLibrary, written_options
from tests.support.sampler.versions import ignores, knows

Sections = Mapping[str, Mapping[str, str]]
# SetOptions takes the name that they have already, and refuses any other.
BY_NAME = {
    "comparator", "memtable_factory", "table_factory", "flush_block_policy_factory",
    "block_based_table_factory",
}  # fmt: skip
VALUES = {
    "compression_per_level": "kNoCompression:kZSTD",
    "compaction_options_universal": "{size_ratio=1;}",
    "compression_opts": "{level=1;}",
    "bottommost_compression_opts": "{level=1;}",
    "filter_policy": "bloomfilter:10:false",
    "metadata_cache_options": "{partition_pinning=kAll;}",
}


def asked(fact: OptionFact, version: str) -> dict[str, str]:
    """What SetOptions is given to set an option of a family or of its table."""
    text = VALUES.get(fact.key) or fact.default_in(version) or "1"
    if fact.section == "CFOptions":
        return {fact.key: text}
    struct, _, member = fact.key.partition(".")
    text = f"{{{member}={text};}}" if member else text
    return {"block_based_table_factory": f"{{{struct}={text};}}"}


def of_families() -> list[OptionFact]:
    """Options of a family and its table that are no objects, which a name alone does not make."""
    kinds, left = {"CFOptions", "BlockBasedTable"}, BY_NAME | {"block_cache"}
    return [
        fact
        for fact in option_facts().values()
        if fact.section in kinds and fact.key.partition(".")[0] not in left
    ]


def test_each_parameter_says_how_it_is_changed_and_from_when_on_it_acts():
    for name, parameter in catalogue().items():
        told = parameter_document(name, "11.12.0")
        assert (told is None) == (parameter.section == "workload"), name
        assert told is None or told["acts"], name
    assert parameter_document("of a space of the user's own", "7.8.3") is None


def test_what_no_call_changes_acts_after_a_restart_at_the_earliest():
    for fact in option_facts().values():
        if not fact.mutable:
            assert fact.acts not in {"at once", "new memtables"}, fact.key
        elif fact.since:
            assert not fact.is_mutable_in("4.3"), fact.key


@pytest.mark.db_bench
def test_set_options_takes_what_the_table_calls_mutable_and_nothing_else(
    installed: InstalledDbBench, tmp_path: Path
):
    library = RocksDbLibrary(installed.program)
    wrong, tried = [], 0
    with library.database(tmp_path / "db") as database:
        for fact in of_families():
            if knows(installed, fact) and not ignores(installed, fact):
                said = library.set_options(database, **asked(fact, installed.version))
                tried += 1
                if (said is None) != fact.is_mutable_in(installed.version):
                    wrong.append((fact.key, said))
    assert tried > 130
    assert wrong == []


def test_a_newer_rocksdb_takes_what_the_table_says(tmp_path: Path):
    rocksdict = pytest.importorskip("rocksdict")
    database = rocksdict.Rdict(str(tmp_path / "db"), rocksdict.Options(raw_mode=True))
    numbers = written_options(tmp_path / "db").version
    assert numbers is not None and numbers >= (9, 8)
    version, wrong, tried = ".".join(map(str, numbers)), [], 0
    for fact in of_families():
        since = tuple(map(int, fact.since.split("."))) if fact.since else ()
        # The ages of FIFO are refused, by reason, for any other compaction.
        if fact.deprecated or since > numbers or "file_temperature_age" in fact.key:
            continue
        try:
            database.set_options(asked(fact, version))
            taken = True
        except Exception:
            taken = False
        tried += 1
        if taken != fact.is_mutable_in(version):
            wrong.append(fact.key)
    database.close()
    assert tried > 150
    assert wrong == []


def in_the_wrong_list(sections: Sections, title: str, version: str) -> set[str]:
    """What the table calls mutable and stands after an option that it does not call so.

    A dump of 7.8 or newer has the options of RocksDB's list of mutable ones first
    (configurable.cc goes through the lists in turn). 9.10 lists ``table_factory`` there for the
    fields of the table, which have a name of their own.
    """
    kind = title.partition(" ")[0]
    facts = [option_facts()[kind, key] for key in sections[title] if key not in BY_NAME]
    told = {fact.key: fact.is_mutable_in(version) for fact in facts}
    first = list(told.values()).index(False)
    assert first > 15
    return {key for key in list(told)[first:] if told[key]}


@pytest.mark.db_bench
@pytest.mark.parametrize("title", [DB, CF])
def test_a_dump_has_the_mutable_options_first(installed: InstalledDbBench, title: str):
    sections = installed.defaults.sections
    assert in_the_wrong_list(sections, title, installed.version) == set()


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("dbbench_default_options-7.10.2.ini", "7.10.2"),
        ("kvrocks_default_options.ini", "8.8.1"),
    ],
)
@pytest.mark.parametrize("title", [DB, CF])
def test_a_real_dump_of_another_version_has_them_first(name: str, version: str, title: str):
    text = (ARTEFACTS / "08-llm-tuner-inputs" / name).read_text(encoding="utf-8")
    assert f"rocksdb_version={version}" in text
    assert in_the_wrong_list(parse_options(text).sections, title, version) == set()
