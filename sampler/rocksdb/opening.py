"""An opening of a database: its dumps, its intervals, its column families, and what it came to.

Idle families are left out of a dump since RocksDB 7.9, so a total is the sum of the last known
total of each family.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from sampler.rocksdb.figure_lines import Figures, StallLine, Stalls, added
from sampler.rocksdb.parts import DATABASE, DEFAULT, SLACK, Contents, Dump, Part, dumps_of

_MIB = 1024.0  # in a GiB
_HOUR = 3600.0
_LEAST_OF_TABLE = 1.0  # GiB
_STALLED_BY_REASON = "total_stall_reasons_seconds"  # of each family, in 2.0 to 3.x


@dataclass(frozen=True, kw_only=True)
class Interval:
    """One dump. What it did not hold is None; rates in MiB/s, clocks in seconds since the opening.

    What is called ``cumulative_`` is the same since the opening.
    """

    at: float  # when it ended
    seconds: float  # how long it was
    writes: float | None = None  # rate of keys and values that came in
    cumulative_writes: float | None = None
    ingested_gib: float | None = None  # GiB that came in since the opening, to two decimals
    # Rate at which flushes and compactions wrote, all column families together.
    compaction: float | None = None
    cumulative_compaction: float | None = None
    compacted_gib: float | None = None  # GiB that they wrote since the opening, to two decimals
    compaction_read: float | None = None  # rate at which compactions read
    cumulative_compaction_read: float | None = None
    stall_percent: float | None = None  # share of the time in which writes waited
    cumulative_stall_percent: float | None = None


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What a file tells of one opening of a database."""

    intervals: tuple[Interval, ...]  # by time; at least one
    # The last known part of each column family, in the order of the file.
    families: tuple[Part, ...]
    # (number of the interval, from 0; part) of every family in every dump.
    family_parts: tuple[tuple[int, Part], ...]
    database: Figures  # the last known figures of the whole database
    database_stalls: Stalls  # counts of stalls that are of no family
    begin: float  # seconds since the opening at which the first interval begins
    line: int  # at which its first dump begins, from 0
    version: str | None  # of RocksDB; None if it is not told
    tickers: Mapping[str, int]  # the last statistics; empty if there are none
    # Their histograms: name -> ``P50``, ``P95``, ``P99``, ``P100``, ``COUNT``, ``SUM``.
    histograms: Mapping[str, Mapping[str, float]]
    stall_lines: tuple[StallLine, ...]  # the lines that say that writes are held back, by time
    # Some options by column family, as the LOG's header has them.
    options: Mapping[str, Mapping[str, str]]

    @property
    def stalls(self) -> dict[tuple[str, str], int]:
        """Counts of stalls by (reason, kind), all families together."""
        return added(self.database_stalls, *(family.stalls for family in self.families))

    @property
    def told(self) -> bool:
        """Whether anything is known of writes, compactions or stalls besides the clock.

        Counts of stalls that are all 0 tell nothing by themselves: they are of single families.
        """
        figures = (astuple(each)[2:] for each in self.intervals)  # without at and seconds
        return any(self.stalls.values()) or any(f is not None for each in figures for f in each)

    @property
    def stall_seconds(self) -> float | None:
        """Seconds in which writes waited, since the opening; None if it is not told."""
        told = self.database.get("total_stall_seconds")
        return float(told) if told is not None else self.family_total(_STALLED_BY_REASON)

    def family_total(self, name: str) -> float | None:
        """The sum of a figure over the last known parts of the families; None if none has it."""
        return _sum(family.figures.get(name) for family in self.families)


def openings_in(contents: Contents) -> tuple[Opening, ...]:
    """The openings that a LOG or db_bench's output tells of, in its order. Never raises.

    None if it has no dump with a clock. db_bench prints dumps with ``--stats_interval_seconds=1
    --stats_per_interval=1``, a database writes them into its LOG every ``stats_dump_period_sec``
    (db/internal_stats.cc, DumpDBStats and DumpCFStatsNoFileHistogram). Its "compaction" counts
    flushes as well.
    """
    grouped = openings_of(dumps_of(contents.parts), contents)
    spans = [(min(d.line for d in dumps), max(d.line for d in dumps)) for dumps in grouped]
    return tuple(_opening(dumps, contents, spans, number) for number, dumps in enumerate(grouped))


def _opening(
    dumps: Sequence[Dump], contents: Contents, spans: Sequence[tuple[int, int]], number: int
) -> Opening:
    known: dict[str, Part] = {}
    database: dict[str, float | int | str] = {}
    stalls: dict[tuple[str, str], int] = {}
    intervals: list[Interval] = []
    told: list[tuple[int, Part]] = []
    before: float | None = None
    for index, dump in enumerate(dumps):
        if DATABASE not in dump.parts and before is not None:
            dump.seconds = min(dump.seconds, dump.at - before)
        families = _with_compaction(dump)
        told += [(index, part) for name, part in dump.parts.items() if name is not DATABASE]
        intervals.append(_interval(dump, families, known, last=index + 1 == len(dumps)))
        for name, family in families.items():  # without a table or counts it has those before
            earlier = known.get(name, family)
            levels, stalled = family.levels or earlier.levels, family.stalls or earlier.stalls
            known[name] = replace(family, levels=levels, stalls=stalled)
        if (part := dump.parts.get(DATABASE)) is not None:
            database |= part.figures
            stalls |= part.stalls
        before = dump.at
    begin, end = _reach(contents, spans, number)
    first = spans[number][0]
    statistics = [
        (tickers, histograms)
        for (line, tickers), histograms in zip(contents.tickers, contents.histograms, strict=True)
        if first <= line < end
    ]
    # RocksDB writes its LOG in blocks: the last may be cut off, unless its histograms have begun.
    whole = [each for each in statistics if each[1]] or statistics or [({}, {})]
    lines = [line for line, _ in contents.stalls]
    stall_lines = contents.stalls[bisect_left(lines, begin) : bisect_left(lines, end)]
    return Opening(
        intervals=tuple(intervals),
        families=tuple(known.values()),
        family_parts=tuple(told),
        database=database,
        database_stalls=stalls,
        begin=max(0.0, round(dumps[0].begin, 6)),
        version=_version(contents, spans[number]),
        line=first,
        tickers=whole[-1][0],
        histograms=whole[-1][1],
        stall_lines=tuple(line for _, line in stall_lines),
        # Of a header that stands before the first dump, the last header for each family.
        options={family: told for line, family, told in contents.options if line < first and told},
    )


def _reach(
    contents: Contents, spans: Sequence[tuple[int, int]], number: int
) -> tuple[float, float]:
    """The lines that are of an opening: from where it begins to where the next one does.

    A LOG says at which line a database was opened; openings of which it has no dump are of none.
    Where it does not say so, its headers part the lines between the dumps of two openings; without
    a header these lines are of the first.
    """
    first, last = spans[number]
    earlier = spans[number - 1][1] if number > 0 else -1
    later = spans[number + 1][0] if number + 1 < len(spans) else float("inf")
    if contents.recovered:
        begin = max((h for h in contents.recovered if earlier < h < first), default=earlier + 1)
        return begin, min((h for h in contents.recovered if last < h < later), default=later)
    between = [h for h in contents.headers if earlier < h < first]
    begin = max(between, default=first) if number > 0 else 0
    return begin, max((h for h in contents.headers if last < h < later), default=later)


def _version(contents: Contents, span: tuple[int, int]) -> str | None:
    earlier = [version for line, version in contents.versions if line <= span[0]]
    within = [version for line, version in contents.versions if span[0] < line <= span[1]]
    return earlier[-1] if earlier else within[0] if within else None


def _with_compaction(dump: Dump) -> dict[str, Part]:
    """The families of a dump, each with the totals of its compaction.

    RocksDB 3.x has these in the database's part, though they are of the default family alone
    (``DumpDBStats`` sums the levels of that one); what the others wrote is in their tables.
    """
    families = {name: part for name, part in dump.parts.items() if name is not None}
    database = dump.parts.get(DATABASE)
    if database is not None and "total_compaction_write_gib" in database.figures:
        default = families.get(DEFAULT) or Part(
            family=DEFAULT, line=database.line, block=database.block,
            at=database.at, seconds=database.seconds,
        )  # fmt: skip
        its = ("_compaction_", "_flush_")
        own = {n: v for n, v in database.figures.items() if any(part in n for part in its)}
        default.figures = own | default.figures
        families[DEFAULT] = default
    for part in families.values():
        if "total_compaction_write_gib" not in part.figures:
            part.figures |= _from_table(part) if not part.own_clock else _cut_off(part)
    return families


def _from_table(part: Part) -> dict[str, float]:
    """Totals and rates of a family of RocksDB 3.x: tables have one decimal, flushes three."""
    figures: dict[str, float] = {}
    for level, span, seconds in (("Sum", "total", part.at), ("Int", "interval", part.seconds)):
        row = next((each for each in part.levels if each["level"] == level), None)
        if row is None:
            continue
        for name in ("write", "read"):
            value = row.get(f"{name}_gib")
            if not isinstance(value, float):
                continue
            if name == "write":
                value = max(value, float(part.figures.get(f"{span}_flush_gib", 0.0)))
            figures[f"{span}_compaction_{name}_gib"] = value
            if seconds:
                figures[f"{span}_compaction_{name}_mib_s"] = value * _MIB / seconds
    return figures


def _cut_off(part: Part) -> dict[str, float]:
    """Totals of a family whose dump ends before ``Cumulative compaction``, as what is pasted may.

    Its table tells them to 0.1 GiB: to 5% from 1 GiB on. Less is too little to go by.
    """
    totals = {n: value for n, value in _from_table(part).items() if n.endswith("_gib")}
    kept = totals.get("total_compaction_write_gib", 0.0) >= _LEAST_OF_TABLE
    return {n: value for n, value in totals.items() if n.startswith("total_")} if kept else {}


def _interval(
    dump: Dump, told: Mapping[str, Part], known: Mapping[str, Part], *, last: bool
) -> Interval:
    """The interval that a dump of the families ``told`` ends.

    ``known`` is the last part of each family before it. The ``last`` dump may be cut off.
    """
    database = dump.parts.get(DATABASE)
    figures: Figures = database.figures if database is not None else {}
    latest = {**known, **told}.values()
    # db_bench is told of at least one family: a dump of it without any is cut off, and what they
    # wrote until then is not known. Their totals before are the least that it can be.
    rated = latest if told or dump.block > 0 else ()

    def number(name: str, seconds: float | None = None, factor: float = 1.0) -> float | None:
        """A figure of the database, over seconds where they are given."""
        value = figures.get(name)
        amount = float(value) if value is not None else None
        return amount if seconds is None else _per(amount, seconds, factor)

    def rate(name: str) -> float | None:
        if not told:  # all were idle, unless the file ends here
            return None if last or not known or dump.block == 0 else 0.0
        return _sum(_interval_rate(part, known.get(key), dump, name) for key, part in told.items())

    return Interval(
        at=dump.at,
        seconds=dump.seconds,
        writes=_first(
            number("interval_ingest_mib_s"), number("interval_ingest_mib", dump.seconds)
        ),
        cumulative_writes=_first(
            number("total_ingest_mib_s"), number("total_ingest_gib", dump.at, _MIB)
        ),
        ingested_gib=number("total_ingest_gib"),
        compaction=rate("write"),
        cumulative_compaction=_sum(_total_rate(part, dump.at, "write") for part in rated),
        compacted_gib=_sum(part.figures.get("total_compaction_write_gib") for part in latest),
        compaction_read=rate("read"),
        cumulative_compaction_read=_sum(_total_rate(part, dump.at, "read") for part in rated),
        stall_percent=_first(
            number("interval_stall_percent"), number("interval_stall_seconds", dump.seconds, 100.0)
        ),
        cumulative_stall_percent=_first(
            number("total_stall_percent"),
            number("total_stall_seconds", dump.at, 100.0),
            _per(_sum(p.figures.get(_STALLED_BY_REASON) for p in latest), dump.at, 100.0),
        ),
    )


def _interval_rate(part: Part, before: Part | None, dump: Dump, name: str) -> float | None:
    """MiB/s of one family in the interval of the dump.

    A family that was left out for being idle has a longer interval of its own, and so has every
    one that db_bench 8.0 and later tells without ending its interval: the difference of the
    totals counts then, to 0.01 GiB.
    """
    rate = part.figures.get(f"interval_compaction_{name}_mib_s")
    if part.seconds is not None and part.seconds > dump.seconds + SLACK and before is not None:
        total = part.figures.get(f"total_compaction_{name}_gib")
        earlier = before.figures.get(f"total_compaction_{name}_gib")
        if total is not None and earlier is not None and dump.seconds > 0:
            return max(0.0, float(total) - float(earlier)) * _MIB / dump.seconds
    return None if rate is None else float(rate)


def _total_rate(part: Part, at: float, name: str) -> float | None:
    """MiB/s since the opening of a family that may have been told last some dumps ago."""
    rate = part.figures.get(f"total_compaction_{name}_mib_s")
    if rate is None:
        return None
    if part.at is None or at <= 0 or abs(at - part.at) <= SLACK:
        return float(rate)
    return float(rate) * part.at / at


def _sum(values: object) -> float | None:
    found = [float(each) for each in values if each is not None]  # type: ignore[attr-defined]
    return round(sum(found), 9) if found else None  # 6.26 + 39.41 is 45.67


def _first(*values: float | None) -> float | None:
    return next((each for each in values if each is not None), None)


def _per(amount: float | None, seconds: float, factor: float = 1.0) -> float | None:
    return None if amount is None or seconds <= 0 else amount * factor / seconds


def openings_of(dumps: Iterable[Dump], contents: Contents) -> list[list[Dump]]:
    """The dumps of each opening, by time.

    What tells openings apart, the strongest first: a run of db_bench, or an opening that the LOG
    tells of, that begins between two dumps; intervals that overlap or a clock that goes back; an
    interval that begins where the one before ended; the moment of the opening, which is the LOG's
    clock less the uptime; a total that goes back. A LOG's header is no sign: a rolled LOG repeats
    it.

    db_bench's last dump stands on its standard output, the others on standard error: kept in one
    file, the last may stand first.
    """
    openings: list[_Opening] = []
    runs = list(contents.runs)
    for dump in dumps:
        passed = {kind for line, kind in runs if line < dump.line}
        runs = [each for each in runs if each[0] >= dump.line]
        if not openings or not openings[-1].holds(dump, passed, contents.stamps):
            openings.append(_Opening())
        openings[-1].add(dump, passed)
    return [_by_time(each.dumps) for each in openings]


@dataclass
class _Opening:
    dumps: list[Dump] = field(default_factory=list)
    ahead: list[Dump] = field(default_factory=list)  # those of standard output that stand first
    runs: set[str] = field(default_factory=set)

    def add(self, dump: Dump, passed: set[str]) -> None:
        if self.dumps and dump.at < self.dumps[-1].at - SLACK:
            self.ahead = list(self.dumps)
        self.dumps.append(dump)
        self.runs |= passed

    def holds(self, dump: Dump, passed: set[str], stamps: dict[int, float]) -> bool:
        newest = self.dumps[-1]
        if passed & self.runs:
            return False
        if dump.at < newest.at - SLACK:
            return self._stands_before(dump, passed, stamps)
        exact = DATABASE in dump.parts  # a family alone may be told since a dump long before
        if exact and any(_overlap(dump, each) for each in (newest, *self.ahead)):
            return False
        opened, known = _opened(dump, stamps), _opened(newest, stamps)
        if exact and dump.begin > SLACK and abs(dump.begin - newest.at) <= SLACK:
            return True
        if opened is not None and known is not None:
            apart = abs(opened - known)
            return apart <= 2.0 or abs(apart - _HOUR) <= 2.0  # the clocks went to summer time
        ingest, before = _ingest(dump), _ingest(newest)
        return ingest is None or before is None or ingest >= before - 0.01

    def _stands_before(self, dump: Dump, passed: set[str], stamps: dict[int, float]) -> bool:
        """Whether the dumps so far are what db_bench printed last.

        Its other output then begins between them, or with an interval since the opening.
        """
        first = min(each.begin for each in self.dumps)
        other = bool(passed and self.runs) or dump.begin <= SLACK < first
        is_before = dump.at <= first + SLACK and _opened(dump, stamps) is None
        return other and not self.ahead and is_before


def _opened(dump: Dump, stamps: dict[int, float]) -> float | None:
    stamp = stamps.get(dump.block)
    return None if stamp is None else stamp - dump.at


def _overlap(one: Dump, other: Dump) -> bool:
    if min(one.seconds, other.seconds) == 0.0 and abs(one.at - other.at) <= SLACK:
        return False
    return min(one.at, other.at) - max(one.begin, other.begin) > SLACK


def _ingest(dump: Dump) -> float | None:
    database = dump.parts.get(DATABASE)
    found = database.figures.get("total_ingest_gib") if database is not None else None
    return None if found is None else float(found)


def _by_time(dumps: Sequence[Dump]) -> list[Dump]:
    ordered: list[Dump] = []
    for dump in sorted(dumps, key=lambda each: each.at):
        if ordered and ordered[-1].at == dump.at:
            last = ordered[-1]
            for part in dump.parts.values():
                last.add(part)
            last.seconds = max(last.seconds, dump.seconds)
        else:
            ordered.append(dump)
    return ordered
