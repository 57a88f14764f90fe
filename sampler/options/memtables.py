"""The kinds of memtable, in the spellings of all versions.

Before 6.28 a file holds the name alone, so that the count of buckets is RocksDB's default, or a
number behind a colon. Hash memtables take memory for all buckets as they are made, so the count
has to be seen to be divided (memtable/hash_skiplist_rep.cc, hash_linklist_rep.cc, vectorrep.cc;
the names are those of RegisterBuiltinMemTableRepFactory in table/plain/plain_table_factory.cc).
"""

from __future__ import annotations

from collections.abc import Mapping

from sampler.options.options_file import format_struct, parse_struct

MEMTABLE = "memtable_factory"
# By class and nickname: the class, and the field that stands behind the colon with its default.
_KINDS: Mapping[str, tuple[str, str, str]] = {
    name: kind
    for kind, names in {
        ("HashSkipListRepFactory", "bucket_count", "1000000"): ("prefix_hash",),
        ("HashLinkListRepFactory", "bucket_count", "50000"): ("hash_linkedlist",),
        ("VectorRepFactory", "count", "0"): ("vector",),
    }.items()
    for name in (kind[0], *names)
}


def memtable_in_full(text: str) -> str:
    """A memtable as a structure that names its count; what counts nothing stays as it is."""
    fields = parse_struct(text) if text.startswith("{") else {}
    name, _, number = fields.get("id", text).partition(":")
    if name not in _KINDS:
        return text
    kind, counted, default = _KINDS[name]
    return format_struct({"id": kind, counted: number or default, **_rest(fields)})


def _rest(fields: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in fields.items() if key != "id"}
