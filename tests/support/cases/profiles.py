"""Folders and LOGs of databases, as ``rocktune profile`` reads them.

Figures of the whole database are in its JSON, counts of each family on the screen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.cases.case import Case, Figures, Ran

_OUT = ("--out", "{folder}/load.toml")
_FAMILY = re.compile(r"^Column family (\S+)$", re.MULTILINE)
_OPERATIONS = re.compile(r"^operations +([\d,]+): (.*?)(?: {2,}|$)", re.MULTILINE)
_SHARE = re.compile(r"(\w+) (\d+(?:\.\d+)?)%")


def _document(family: str, *checks: Callable[[Mapping[str, Any]], Figures]) -> Any:
    """Reads what the JSON tells of one family: its figures, and the database's counts."""

    def read(ran: Ran) -> Figures:
        document = json.loads(ran.stdout)
        found = next(each for each in document["families"] if each["name"] == family)
        told = {**found, "value_size": found["value_size"]["mean"]}
        told |= {f"counted {name}": count for name, count in document["operations"].items()}
        told |= {"families": len(document["families"]), "rate": document["ingest_rate"]}
        return told | {name: v for check in checks for name, v in check(found).items()}

    return read


def _counts(ran: Ran) -> Figures:
    """Of each family how often it was written to, and the share of deletes."""
    names = _FAMILY.split(ran.stdout)
    figures: dict[str, object] = {"families": len(names) // 2}
    for name, table in zip(names[1::2], names[2::2], strict=True):
        if told := _OPERATIONS.search(table):
            total, shares = float(told[1].replace(",", "")), dict(_SHARE.findall(told[2]))
            for kind, share in shares.items():
                figures[f"{name} {kind}"] = total * float(share) / 100
            deleted = float(shares.get("delete", 0.0))
            figures[f"{name} deletes, %"] = deleted
    return figures


def _unknown_or(name: str, right: float) -> Callable[[Mapping[str, Any]], Figures]:
    """That a figure is right within 5%, or said not to be known."""

    def check(family: Mapping[str, Any]) -> Figures:
        value = family[name]
        right_or_not = value is None or abs(value - right) <= 0.05 * right
        return {f"{name} {right:g} or unknown": right_or_not}

    return check


def _profile(
    artefact: str,
    family: str = "default",
    /,
    *checks: Any,
    within: float = 0.01,
    **expected: object,
) -> Case:
    return Case(
        artefact=artefact,
        command=("profile", "{file}", "--json", "--column-family", family, *_OUT),
        expected={name.replace("__", " "): value for name, value in expected.items()},
        read=_document(family, *checks),
        within=within,
    )


_CACHE = "45-redis-cache-10.9.1-folder"
_BENCHMARK = "46-database-benchmark-10.4.2-folder"
_FIVE = "69-five-families-with-blobs"
_ALL_WRITES = "all openings together flushed 15,000 writes"
_READS = {
    # Gets and scans of truth.json, of all families together.
    "counted__get": 329_560 + 164_780 + 329_560 + 65_912 + 32_956.0,
    "counted__seek": 32_956 + 32_956.0,
}

CASES: tuple[Case, ...] = (
    # Eight flushes of the write buffer in the last opening, and all data in one table.
    _profile(
        _CACHE,
        counted__put=3_450_373, waf=35_194_348 / 472_320_244, entries=89_066.0,
        overwrite_share=1.0, key_size=15.0, value_size=112.0, within=0.03,
    ),
    # Two flushes cut out by hand: 432,249 + 430,360.
    _profile(f"{_CACHE}/smallest.LOG", counted__put=862_609, key_size=15.0, value_size=112.0),
    # Every table comes from a recovery; both hold the same 5,000 keys.
    _profile(
        _BENCHMARK, "default", _unknown_or("entries", 5000.0), _unknown_or("overwrite_share", 1.0),
        **{"entries 5000 or unknown": True, "overwrite_share 1 or unknown": True},
        counted__put=10_000,
    ),
    # The LOG.old of all openings together.
    Case(
        artefact=_BENCHMARK,
        command=("profile", "{file}", *_OUT),
        expected={_ALL_WRITES: True},
        read=lambda ran: {each: each in ran.stderr for each in (_ALL_WRITES,)},
    ),
    # Five families, one of them with blob files; none is refused.
    _profile(_FIVE, "events", families=5, key_size=18.0, value_size=400.0, waf=0.94, **_READS),
    _profile(_FIVE, "index", families=5, **_READS),
    _profile(_FIVE, "counters", families=5, **_READS),
    _profile(_FIVE, "blobs", families=5, value_size=16_384.0, **_READS),
    # It flushed nothing: 500 keys, written 41,195 times.
    _profile(_FIVE, "default", _unknown_or("entries", 500.0),
             **{"entries 500 or unknown": True}, families=5, **_READS),
    # Counts of truth.json. expected.txt says that 22 to 25% of the writes to index are deletes,
    # but 617,925 of the 2,441,825 that truth.json counts are 25.3%: that is what must come out.
    Case(
        artefact=_FIVE,
        command=("profile", "{file}", *_OUT),
        expected={
            "families": 5, "events put": 3_647_800.0, "blobs put": 71_195.0,
            "blobs delete": 10_298.0, "index put": 1_823_900.0, "index delete": 617_925.0,
            "index deletes, %": 61_792_500 / 2_441_825, "counters put": 2_235_850.0,
            "default put": 41_195.0,
        },
        read=_counts,
        within=0.01,
    ),
)  # fmt: skip
