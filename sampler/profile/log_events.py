"""The events of a RocksDB LOG, added up by column family: tables made, entries dropped, levels.

An event is a line of JSON (logging/event_logger.cc; db/event_helpers.cc, db/flush_job.cc,
db/compaction/compaction_job.cc). That of a table names its family, others only their job, and the
line before them tells whose job that is: ``[default] [JOB 13] Flushing memtable``.
"""

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sampler.profile.overwrites import Held, Merge, Writes

_EVENT, _RANGES = "EVENT_LOG_v1 ", "num_range_deletes"
_JOB = re.compile(r"\[([^\[\]]*)\] \[JOB (\d{1,9})\] (\w*)")
# A flush that the end of a process cancels makes a table and does not commit it.
_COMMITTED = re.compile(r" Level-0 commit (?:flush result of )?table #(\d{1,18}): memtable ")
_MOVED = re.compile(r" Moving #(\d{1,18}) to level-(\d{1,3}) ")
_FOUND_TABLES = re.compile(r"SST files in .* dir, Total Num: (\d{1,9})")
_MOST_STEPS = 2000  # of the history of a family in an opening, even; more are merged
_MOST_NUMBER = 2**63
FLUSH, COMPACTION = "flushes", "compactions"
KEY_TRAILER = 8  # bytes after a user's key: sequence number and type
# What is added up of tables, besides ``tables``, ``file_size`` and ``value_squares``: of each the
# square of the bytes of its values over their number, which tells how much sizes differ.
_PROPERTIES = (
    "num_entries", "num_deletions", "num_merge_operands", "raw_key_size", "raw_value_size",
    "data_size", "num_data_blocks", "num_range_deletions",
)  # fmt: skip


@dataclass
class FamilyEvents:
    """What the events of one column family in one opening come to."""

    # (``FLUSH`` or ``COMPACTION``, codec in the LOG's word or "", whether at least half of the
    # entries have values) -> sums over the tables made.
    made: dict[tuple[str, str, bool], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    # ``written``, ``deleted``: entries of memtables that were flushed. ``merged``: operands among
    # them. ``read``, ``kept``: entries that compactions read and wrote. ``made``, ``flushed``:
    # bytes of files, those of flushes among them. ``blobs``: blob files.
    counts: Counter[str] = field(default_factory=Counter)
    # Of each flush: puts and merges together, deletes, merges.
    history: list[tuple[int, int, int]] = field(default_factory=list)
    value_means: set[float] = field(default_factory=set)  # of tables; no more than two are kept

    def summed(self, *kinds: str) -> Counter[str]:
        """Sums over the tables that were made in these ways."""
        total = Counter[str]()
        for (kind, *_), sums in self.made.items():
            if kind in kinds:
                total.update(sums)
        return total


@dataclass
class Opened:
    """One opening of the database."""

    line: int  # of the LOG at which it begins, from 0
    families: dict[str, FamilyEvents] = field(default_factory=lambda: defaultdict(FamilyEvents))
    # Counts of each family at the last dump of statistics.
    at_dump: dict[str, Counter[str]] | None = None
    begin: int | None = None  # microseconds since the epoch, of its first and its last event
    end: int | None = None


@dataclass
class Table:
    """A table that is live."""

    family: str
    level: int
    size: int
    entries: int
    deletions: int


class LogEvents:
    """Takes a LOG's lines, the oldest first, and adds up what its events tell. Never raises."""

    def __init__(self) -> None:
        self.openings = [Opened(0)]
        self.live: dict[int, Table] = {}  # by number
        self.count = 0  # events
        # Whether no table was there when the LOG begins; and whether it does with an opening.
        self._began: bool | None = None
        self._opened = False
        self._unaccounted: set[str] = set()  # families whose tables are not all known
        # By family the entries that were flushed before the first was dropped or deleted.
        self._new: dict[str, int] = {}
        self._flushed: Counter[str] = Counter()
        # By family flushes and compactions over all keys, from the first that dropped one.
        self.merges: dict[str, deque[Merge]] = defaultdict(lambda: deque(maxlen=_MOST_STEPS))
        self._family_of: dict[int, str] = {}  # the last family of a job
        self._compacted: set[int] = set()  # jobs that made a compaction and put it into the tree
        self._inputs: dict[int, list[int]] = {}
        self._outputs: dict[int, dict[int, Table]] = defaultdict(dict)
        # Entries, deletes, and range deletes where they are told.
        self._memtables: dict[tuple[int, str], tuple[int, int, int | None]] = {}
        # Tables of flushes that are not committed; entries, deletes and merges of their memtables.
        self._flushes: dict[int, tuple[Table, int, int, int]] = {}

    def passing(self, lines: Iterable[str]) -> Iterator[str]:
        """The same lines, each of which has been taken."""
        for number, line in enumerate(lines):
            self._take(number, line)
            yield line

    def accounted(self, family: str) -> bool:
        """Whether every entry of the family is known, from an empty database on."""
        return bool(self._began) and self._opened and family not in self._unaccounted

    def new(self, family: str) -> int:
        """Entries that were flushed until one was dropped or deleted."""
        return self._new.get(family, self._flushed[family])

    def held(self, family: str) -> Held:
        """Entries with values that the tree of a family holds at the end."""
        values = Counter[tuple[int, int]]()  # by level, and by number in level 0
        for number, table in self.live.items():
            if table.family == family:
                run = table.level, number if table.level == 0 else 0
                values[run] += table.entries - table.deletions
        return Held(values.total(), max(values.values(), default=0))

    def of_all_openings(self, family: str) -> FamilyEvents:
        """What the events of a family in all openings come to, without their history."""
        whole = FamilyEvents()
        for opened in self.openings:
            if found := opened.families.get(family):
                for key, sums in found.made.items():
                    whole.made[key].update(sums)
                whole.counts.update(found.counts)
                whole.value_means |= found.value_means
        return whole

    def entry_size(self, family: str) -> float:
        """Mean bytes of a user's key with its value; 0 where no table tells it."""
        total = self.of_all_openings(family).summed(FLUSH, COMPACTION)
        raw, entries = total["raw_key_size"] + total["raw_value_size"], total["num_entries"]
        return max(0.0, raw / entries - KEY_TRAILER) if entries else 0.0

    def history(self, family: str, opening: Opened) -> list[Writes]:
        """What was flushed of a family since the first opening; those of one opening count."""
        return [
            Writes(puts, deletes, merges, counts=opened is opening)
            for opened in self.openings
            if family in opened.families
            for puts, deletes, merges in opened.families[family].history
        ]

    def _take(self, number: int, line: str) -> None:
        if _EVENT in line:
            self._event(line.partition(_EVENT)[2])
        elif "[JOB " in line:
            if found := _JOB.search(line):
                self._family_of[int(found[2])] = found[1]
                if found[3] == "Compacted":
                    self._compacted.add(int(found[2]))
                elif found[3] == "Generated" and int(found[2]) not in self._inputs:
                    self._inputs[int(found[2])] = []  # it began before the LOG does
                    self._unaccounted.add(found[1])
        elif " Level-0 commit " in line:
            if found := _COMMITTED.search(line):
                self._commit(int(found[1]), self.openings[-1])
        elif " Moving #" in line:
            if (found := _MOVED.search(line)) and (table := self.live.get(int(found[1]))):
                table.level = int(found[2])
        elif "DUMPING STATS" in line:
            opened = self.openings[-1]
            opened.at_dump = {name: Counter(f.counts) for name, f in opened.families.items()}
        elif "Recovered from manifest" in line:  # once in each opening; a rolled LOG has it not
            self._reopened(number)
        elif self._began is None and "Total Num: " in line:
            self._began = bool((found := _FOUND_TABLES.search(line)) and found[1] == "0")

    def _reopened(self, number: int) -> None:
        if not self.count:
            self._opened = True
        else:
            self.openings.append(Opened(number))
        self._family_of, self._inputs, self._memtables, self._flushes = {}, {}, {}, {}
        self._outputs, self._compacted = defaultdict(dict), set()

    def _event(self, text: str) -> None:
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):  # cut off
            return
        if not isinstance(event, dict) or "event" not in event:
            return
        self.count += 1
        opened, micros = self.openings[-1], _number(event, "time_micros")
        opened.begin, opened.end = opened.begin or micros, micros
        job = _number(event, "job")
        match event["event"]:
            case "flush_started":
                entries, deletes = _number(event, "num_entries"), _number(event, "num_deletes")
                # Older versions count range deletes among the entries, and not by themselves.
                ranges = _number(event, _RANGES) if _RANGES in event else None
                memtables = entries, min(entries, deletes), ranges
                self._memtables[job, self._family_of.get(job, "")] = memtables
            case "table_file_creation":
                self._made(job, event)
            case "blob_file_creation":
                opened.families[str(event.get("cf_name", ""))].counts["blobs"] += 1
            case "compaction_started":
                lists = (each for name, each in event.items() if name.startswith("files_L"))
                self._inputs[job] = [
                    n for each in lists if isinstance(each, list) for n in each if type(n) is int
                ]
            case "compaction_finished" if job in self._compacted:
                self._compaction(job, event)
            case "table_file_deletion":
                # Of a compaction the inputs are no longer live; this went in another way (FIFO,
                # DeleteFilesInRange), and nothing tells of its entries.
                if gone := self.live.pop(_number(event, "file_number"), None):
                    self._unaccounted.add(gone.family)

    def _made(self, job: int, event: Mapping[str, Any]) -> None:
        properties, number = event.get("table_properties"), _number(event, "file_number")
        if not isinstance(properties, dict) or not _number(properties, "num_entries"):
            return
        told = event.get("cf_name", properties.get("column_family_name"))
        name = self._family_of.get(job, "") if told is None else str(told)
        kind = COMPACTION if job in self._inputs else FLUSH
        memtables = self._memtables.pop((job, name), None)
        # A recovery flushes what the opening before left in its WAL.
        recovered = kind == FLUSH and memtables is None
        opened = self.openings[-2:][0] if recovered else self.openings[-1]
        family, size = opened.families[name], _number(event, "file_size")
        entries, deletions = (_number(properties, each) for each in _PROPERTIES[:2])
        codec = str(properties.get("compression", ""))
        sums = family.made[kind, codec, 2 * deletions <= entries]
        sums_of = Counter({each: _number(properties, each) for each in _PROPERTIES})
        sums.update(sums_of)
        sums.update(tables=1, file_size=size, value_squares=_value_squares(sums_of))
        family.counts.update(made=size, flushed=size if kind == FLUSH else 0)
        if entries > deletions and len(family.value_means) < 2:
            family.value_means.add(round(value_bytes(sums_of) / (entries - deletions), 6))
        table = Table(name, 0, size, entries, deletions)
        if kind == COMPACTION:
            self._outputs[job][number] = table
            return
        merges = _number(properties, "num_merge_operands")
        family.counts["merged"] += merges
        if memtables:
            entries, deletions, ranges = memtables
            deletions += sums_of["num_range_deletions"] if ranges is None else ranges
        self._flushes[number] = (table, entries, min(entries, deletions), merges)
        if recovered:
            self._commit(number, opened)

    def _commit(self, number: int, written_in: Opened) -> None:
        if number not in self._flushes:
            return
        table, entries, deletes, merges = self._flushes.pop(number)
        family = written_in.families[table.family]
        family.counts.update(written=entries, deleted=deletes)
        family.history.append((entries - deletes, deletes, merges))
        if len(family.history) == _MOST_STEPS:
            halves = zip(family.history[::2], family.history[1::2], strict=False)
            family.history = [(a[0] + b[0], a[1] + b[1], a[2] + b[2]) for a, b in halves]
        self.live[number] = table
        if table.entries < entries or deletes:
            self._new.setdefault(table.family, self._flushed[table.family])
        if table.family in self._new:
            self.merges[table.family].append(Merge(table.entries, entries, deletes))
        self._flushed[table.family] += table.entries

    def _compaction(self, job: int, event: Mapping[str, Any]) -> None:
        read, kept = _number(event, "num_input_records"), _number(event, "num_output_records")
        gone = [self.live.pop(number, None) for number in self._inputs.pop(job, [])]
        name = self._family_of.get(job, "")
        self.openings[-1].families[name].counts.update(read=read, kept=kept)
        known = [table for table in gone if table]
        if len(known) < len(gone):  # made before the LOG begins
            self._unaccounted.add(name)
        if kept < read:
            self._new.setdefault(name, self._flushed[name])
        runs = Counter[int]()
        for table in known:
            runs[table.level] += table.entries if table.level else 0
        top = [table.entries for table in known if not table.level]
        if top and name in self._new and not any(table.deletions for table in known):
            self.merges[name].append(Merge(kept, runs=(*top, *filter(None, runs.values()))))
        for number, table in self._outputs.pop(job, {}).items():
            table.level = _number(event, "output_level")
            self.live[number] = table


def value_bytes(sums: Counter[str]) -> float:
    """Bytes of the values of tables: RocksDB counts the end of a range delete as one, too."""
    ends = sums["num_range_deletions"] * (sums["raw_key_size"] / sums["num_entries"] - KEY_TRAILER)
    return max(0.0, sums["raw_value_size"] - ends)


def _value_squares(sums: Counter[str]) -> int:
    values = sums["num_entries"] - sums["num_deletions"]
    return round(value_bytes(sums) ** 2 / values) if values > 0 else 0


def _number(event: Mapping[str, Any], name: str) -> int:
    """A whole number of an event; 0 where it is not there, or no number of RocksDB's."""
    value = event.get(name)
    return value if type(value) is int and 0 <= value < _MOST_NUMBER else 0
