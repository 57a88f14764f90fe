"""The events of a RocksDB LOG, added up by column family: tables made, entries dropped, levels.

Events and their fields are those of ``log_reader``, of every version. That of a table names its
family, others only their job, and the line before them tells whose job that is: ``[default] [JOB
13] Flushing memtable``.
"""

import re
from collections import Counter, defaultdict, deque

from sampler.profile.family_events import (
    COMPACTION,
    FLUSH,
    KEY_TRAILER,
    MOST_STEPS,
    PROPERTIES,
    AtDump,
    FamilyEvents,
    Flushed,
    FlushedEntries,
    Held,
    LiveTable,
    Memtables,
    Merge,
    OpeningEvents,
    Writes,
    add_values,
    value_bytes,
    value_squares,
)
from sampler.rocksdb.log_reader import LogEvent, UnknownEvents, stamp_of

_JOB = re.compile(r"\[([^\[\]]*)\] \[JOB (\d{1,9})\] (\w*)( table)?")
# A flush that the end of a process cancels makes a table and does not commit it.
_COMMITTED = re.compile(
    r" Level-0 commit (?:flush result of )?table #(\d{1,18})(?: \(\+\d+ blob files\))?: memtable "
)
# "Moved" since 11.x; an opening that changes to dynamic levels calls both "from_level" (8.2).
_MOVED = re.compile(
    r" Mov(?:ing|ed) #(\d{1,18}) (?:from from_level-\d+ )?to (?:from_)?level-(\d{1,3}) "
)
_LAST_SEQUENCE = re.compile(r"last_sequence is (\d{1,18}),")
_FOUND_TABLES = re.compile(r"SST files in .* dir, Total Num: (\d{1,9})")

_ONE_RUN = 0.9  # of the entries of a tree, in its largest run: their keys are then known


class LogEvents:
    """Takes a LOG's lines, the oldest first, and adds up what its events tell."""

    def __init__(self) -> None:
        self.openings = [OpeningEvents(0)]
        self.live: dict[int, LiveTable] = {}  # by number
        self.count = 0  # events
        self.unknown = UnknownEvents()
        # By family the entries of tables that were deleted whole, as by FIFO compactions.
        self.deleted_whole: Counter[str] = Counter()
        # By family the entries that recoveries flushed, of which an unknown part was dropped.
        self.hidden: Counter[str] = Counter()
        # Whether no table was there when the LOG begins; and whether it does with an opening.
        self._began: bool | None = None
        self._opened = False
        self._unaccounted: set[str] = set()  # families whose tables are not all known
        self._base: dict[str, int] = {}  # keys of those whose tables were all known at some time
        # By family the entries that were flushed before the first was dropped or deleted.
        self._new: dict[str, int] = {}
        self._flushed: Counter[str] = Counter()
        # By family flushes and compactions over all keys, from the first that dropped one.
        self.merges: dict[str, deque[Merge]] = defaultdict(lambda: deque(maxlen=MOST_STEPS))
        self._cut: LogEvent | None = None  # an event that lacks its end, if another line comes
        self._sequence: int | None = None  # the largest sequence number that was flushed
        self._lines = 0  # taken
        self._begin_jobs()

    def _begin_jobs(self) -> None:
        self._seen = False  # whether anything happened in the opening
        self._family_of: dict[int, str] = {}  # the last family of a job
        self._compacted: set[int] = set()  # jobs that made a compaction and put it into the tree
        self._inputs: dict[int, list[int]] = {}
        self._outputs: dict[int, dict[int, LiveTable]] = defaultdict(dict)
        self._memtables: dict[tuple[int, str], Memtables] = {}
        self._flushes: dict[int, Flushed] = {}  # tables of flushes that are not committed
        self._recovered: dict[int, Flushed] = {}  # those of a recovery

    def accounted(self, family: str) -> bool:
        """Whether all tables of the family are known, and every entry since some moment."""
        from_empty = bool(self._began) and self._opened and family not in self._unaccounted
        return from_empty or family in self._base

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
                whole.ingested_means |= found.ingested_means
        return whole

    def entry_size(self, family: str) -> float:
        """Mean bytes of an entry in a write batch, about; 0 where nothing tells it."""
        whole = self.of_all_openings(family)
        told = whole.counts["written"] - whole.counts["dataless"]
        if told > 0:
            return whole.counts["data"] / told
        total = whole.summed(FLUSH, COMPACTION)
        raw, entries = total["raw_key_size"] + total["raw_value_size"], total["num_entries"]
        return max(0.0, raw / entries - KEY_TRAILER) if entries else 0.0

    def history(self, family: str, opening: OpeningEvents) -> list[Writes]:
        """What was flushed of a family since all is known of it; of one opening counts."""
        base = self._base.get(family, 0)
        return [
            *([Writes(base, 0, counts=False)] if base else []),
            *(
                Writes(puts, deletes, merges, counts=opened is opening)
                for opened in self.openings
                if family in opened.families
                for puts, deletes, merges, *_ in opened.families[family].history
            ),
        ]

    def take(self, line: str, event: LogEvent | None) -> None:
        """See ``Taker``; after the last line comes ``settle``."""
        number, self._lines = self._lines, self._lines + 1
        if self._cut:
            self.unknown.take(self._cut)
            self._cut = None
        if event is not None:
            self._event(line, event)
        elif "[JOB " in line:
            if found := _JOB.search(line):
                self._family_of[int(found[2])] = found[1]
                if found[3] == "Compacted":
                    self._compacted.add(int(found[2]))
                elif found[3] == "Generated" and found[4] and int(found[2]) not in self._inputs:
                    self._inputs[int(found[2])] = []  # it began before the LOG does
                    self._lose(found[1])
        elif " Level-0 commit " in line:
            if (found := _COMMITTED.search(line)) and int(found[1]) in self._flushes:
                self._commit(int(found[1]), self._flushes.pop(int(found[1])), self.openings[-1])
        elif " Mov" in line:
            if (found := _MOVED.search(line)) and (table := self.live.get(int(found[1]))):
                table.level = int(found[2])
        elif "DUMPING STATS" in line:
            self._dumped(stamp_of(line))
        elif "Recovered from manifest" in line:  # once in each opening; a rolled LOG has it not
            self._reopened(number, stamp_of(line))
            if found := _LAST_SEQUENCE.search(line):
                self.openings[-1].sequence = int(found[1])
        elif self._began is None and "Total Num: " in line:
            self._began = bool((found := _FOUND_TABLES.search(line)) and found[1] == "0")

    def _reopened(self, number: int, at: float | None) -> None:
        self.settle()
        if not self._seen and not self._opened:
            self._opened = True
        else:
            self.openings.append(OpeningEvents(number))
        self._begin_jobs()
        self._seen, self.openings[-1].began_at = True, at

    def _dumped(self, at: float | None) -> None:
        opened, self._seen = self.openings[-1], True
        opened.dumped_at = at
        opened.at_dump = {}
        for name, family in opened.families.items():
            before, last = family.flushed_at or (None, None)
            before = opened.began_at if before is None or before == last else before
            took = last - before if last is not None and before is not None else 0.0
            rate = family.last.entries / took if took > 0 else 0.0
            opened.at_dump[name] = AtDump(
                Counter(family.counts), rate, last, tuple(family.flushed_to)
            )

    def _lose(self, family: str) -> None:
        self._unaccounted.add(family)
        self._base.pop(family, None)

    def _event(self, line: str, event: LogEvent) -> None:
        if event.cut and event.missing():
            self._cut = event
            return
        missing = self.unknown.take(event)
        if "job" in missing or (missing and event.kind == "table_file_deletion"):
            for family in {name for each in self.openings for name in each.families}:
                self._lose(family)  # of which it is, nothing tells
        self.count += 1
        self._seen = True
        opened, job = self.openings[-1], event.count("job") if event.has("job") else 0
        opened.begin, opened.end = opened.begin or event.micros, event.micros or opened.end
        if event.kind == "flush_started" or event.kind == "recovery_finished":
            self.settle()
        name = str(event.raw.get("cf_name", self._family_of.get(job, "")))
        match event.kind:
            case "flush_started":
                self._memtables[job, name] = Memtables(
                    None if missing else event.number("num_entries"), event.count("num_deletes"),
                    event.number("num_range_deletes"), event.number("total_data_size"),
                    stamp_of(line),
                )  # fmt: skip
            case "table_file_creation" if not event.failed:
                self._made(job, name, event)
            case "recovery_started":  # of a WAL, whose last write no line tells
                opened.sequence = None
            case "blob_file_creation" if not event.failed:
                self._made_blobs(job, name, event)
            case "compaction_started":
                self._inputs[job] = [*event.inputs]
                self._family_of[job] = name
            case "compaction_finished" if job in self._compacted:
                self._compaction(job, event)
            case "table_file_deletion":
                # Of a compaction the inputs are no longer live; this went in another way (FIFO,
                # DeleteFilesInRange), and nothing tells of its entries.
                if gone := self.live.pop(event.count("file_number"), None):
                    self._lose(gone.family)
                    self.deleted_whole[gone.family] += gone.entries
        if event.levels is not None and not self.accounted(name):
            self._rebase(name, event.levels)

    def _rebase(self, name: str, levels: tuple[int, ...]) -> None:
        """Takes a family for known from now on where the LOG's tables are all that there are."""
        known = Counter(table.level for table in self.live.values() if table.family == name)
        if dict(known) != {level: count for level, count in enumerate(levels) if count}:
            return
        held = self.held(name)
        if not known or held.largest < _ONE_RUN * held.all or self.deleted_whole[name]:
            return
        self._base[name] = self._flushed[name] = held.largest
        self._new.pop(name, None)
        self.merges.pop(name, None)
        for opened in self.openings:
            if name in opened.families:
                opened.families[name].history.clear()

    def _made_in(self, job: int, name: str) -> tuple[str, bool, OpeningEvents]:
        """How a file was made; whether by a recovery; the opening that wrote what is in it."""
        kind = COMPACTION if job in self._inputs else FLUSH
        started = (job, name) in self._memtables or (job, "") in self._memtables
        # A recovery flushes what the opening before left in its WAL.
        recovered = kind == FLUSH and not started and not self.unknown.lacks("flush_started")
        return kind, recovered, self._before() if recovered else self.openings[-1]

    def _before(self) -> OpeningEvents:
        """The opening before the last one, whose WAL a recovery flushes."""
        if len(self.openings) == 1 and self._opened:
            self.openings.insert(0, OpeningEvents(0, in_log=False))
        return self.openings[-2:][0]

    def _made_blobs(self, job: int, name: str, event: LogEvent) -> None:
        kind, _, _ = self._made_in(job, name)
        counts, size = self.openings[-1].families[name].counts, event.count("total_blob_bytes")
        blobs = event.count("total_blob_count") or 1
        counts.update(blobs=blobs, blob_bytes=size, made=size)
        counts.update(flushed=size if kind == FLUSH else 0, lost_bytes=bool(event.missing()))
        counts.update(flushed_blobs=blobs if kind == FLUSH else 0)

    def _made(self, job: int, name: str, event: LogEvent) -> None:
        told = event.properties.get("column_family_name")
        name = str(told) if "cf_name" not in event.raw and told is not None else name
        kind, recovered, opened = self._made_in(job, name)
        family, size = opened.families[name], event.count("file_size")
        memtables = self._memtables.pop((job, name), None) or self._memtables.pop((job, ""), None)
        entries, number = event.number("num_entries"), event.count("file_number")
        # As RocksDB's counters do, those of a recovery count where they were written.
        counts = self.openings[-1].families[name].counts
        counts.update(made=size, flushed=size if kind == FLUSH else 0)
        if missing := event.missing():
            self._lose(name)
            counts.update(lost_bytes="file_size" in missing, lost_writes=kind == FLUSH)
            return
        if not entries:
            return
        deletions = self._deletions(kind, name, event, memtables)
        codec = str(event.properties.get("compression", ""))
        sums = family.made[kind, codec, 2 * deletions <= entries]
        sums_of = Counter({each: event.count(each) for each in PROPERTIES})
        sums_of["num_deletions"] = deletions
        sums.update(sums_of)
        sums.update(tables=1, file_size=size, value_squares=value_squares(sums_of))
        if entries > deletions and len(family.value_means) < 2:
            family.value_means.add(round(value_bytes(sums_of) / (entries - deletions), 6))
        table = LiveTable(name, 0, size, entries, deletions)
        if kind == COMPACTION:
            self._outputs[job][number] = table
            return
        merges, largest = event.count("num_merge_operands"), event.number("largest_seqno")
        family.counts["merged"] += merges
        if recovered:
            self._recovered[number] = Flushed(table, entries, deletions, merges, largest=largest)
        elif memtables is None or memtables.entries is None:
            family.counts["lost_writes"] += 1
            self._lose(name)
            self.live[number] = table
        else:
            ranges = memtables.ranges
            ranges = event.count("num_range_deletions") if ranges is None else ranges
            self._flushes[number] = Flushed(
                table, memtables.entries, min(memtables.entries, memtables.deletes), merges,
                ranges, memtables.data, memtables.at, event.number("smallest_seqno"), largest,
            )  # fmt: skip
            add_values(family, self._flushes[number], event)

    def _deletions(
        self, kind: str, name: str, event: LogEvent, memtables: Memtables | None
    ) -> int:
        """Deletions in a table; 5.12 to 6.x do not tell them, but those of memtables."""
        if (told := event.number("num_deletions")) is not None:
            return told
        kept, deleted = event.count("num_entries"), memtables.deletes if memtables else 0
        if kind == FLUSH and memtables and memtables.entries:
            return min(kept, round(kept * deleted / memtables.entries))
        if any(o.families[name].counts["deleted"] for o in self.openings if name in o.families):
            self._lose(name)
        return 0

    def settle(self) -> None:
        """Counts what a recovery flushed.

        No event tells its memtables. Sequence numbers do, where the database has one family: one
        for each write, and that of the last write is in the table.
        """
        found, self._recovered = self._recovered, {}
        families = {name for opened in self.openings for name in opened.families}
        sequence = self._sequence if self._sequence is not None or not self._began else 0
        for number, each in found.items():
            kept, name = each.table.entries, each.table.family
            entries = None
            if each.largest is not None and sequence is not None and len(families) == 1:
                entries, sequence = each.largest - sequence, each.largest
            if entries is None or entries != kept:
                self.hidden[name] += max(kept, entries or 0)
            whole = Flushed(each.table, max(kept, entries or 0), each.deletes, each.merges)
            written_in = self._before()
            written_in.families[name].counts["recovered"] += whole.entries
            self._commit(number, whole, written_in)
            if each.largest is not None:
                self._sequence = max(self._sequence or 0, each.largest)
                opened = self.openings[-1]
                opened.sequence = max(opened.sequence or 0, each.largest)

    def _commit(self, number: int, flushed: Flushed, written_in: OpeningEvents) -> None:
        table, entries, deletes = flushed.table, flushed.entries, flushed.deletes
        family = written_in.families[table.family]
        family.counts.update(memtables=1, written=entries, deleted=deletes, ranges=flushed.ranges)
        family.counts.update(
            data=flushed.data or 0, dataless=entries if flushed.data is None else 0
        )
        if flushed.at is not None:
            family.flushed_at = (family.flushed_at or (flushed.at,) * 2)[1], flushed.at
        if flushed.largest is not None:
            self._sequence = max(self._sequence or 0, flushed.largest)
            before = family.flushed_to[-2:] or [((flushed.smallest or 1) - 1, 0)]
            family.flushed_to = [*before, (flushed.largest, before[-1][1] + entries)]
        puts = max(0, entries - deletes - flushed.ranges)
        family.last = FlushedEntries(
            puts, deletes, flushed.merges, flushed.ranges, flushed.data or 0
        )
        family.history.append(family.last)
        if len(family.history) == MOST_STEPS:
            halves = zip(family.history[::2], family.history[1::2], strict=False)
            family.history = [FlushedEntries(*map(sum, zip(a, b, strict=True))) for a, b in halves]
        self.live[number] = table
        if table.entries < entries or deletes:
            self._new.setdefault(table.family, self._flushed[table.family])
        if table.family in self._new:
            merge = Merge(table.entries, entries, deletes, tombstones=table.deletions)
            self.merges[table.family].append(merge)
        self._flushed[table.family] += table.entries

    def _compaction(self, job: int, event: LogEvent) -> None:
        name = self._family_of.get(job, "")
        gone = [self.live.pop(number, None) for number in self._inputs.pop(job, [])]
        for number, table in self._outputs.pop(job, {}).items():
            table.level = event.count("output_level")
            self.live[number] = table
        counts = self.openings[-1].families[name].counts
        if event.missing():
            counts["lost_records"] += 1
            self._lose(name)
            return
        read, kept = event.count("num_input_records"), event.count("num_output_records")
        counts.update(read=read, kept=kept)
        known = [table for table in gone if table]
        if len(known) < len(gone):  # made before the LOG begins
            self._lose(name)
        if kept < read:
            self._new.setdefault(name, self._flushed[name])
        runs = Counter[int]()
        for table in known:
            runs[table.level] += table.entries if table.level else 0
        top = [table.entries for table in known if not table.level]
        if top and name in self._new and not any(table.deletions for table in known):
            self.merges[name].append(Merge(kept, runs=(*top, *filter(None, runs.values()))))
