"""Parts to dumps, and dumps to the openings of a database that they are of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sampler.stats_dumps.parts import DATABASE, Contents, Part

# Both clocks of a dump are rounded to tenths, and its parts are written one after the other.
SLACK = 0.25
_HOUR = 3600.0


@dataclass
class Dump:
    """The database and the column families at one moment."""

    at: float  # seconds since the opening
    seconds: float  # length of the interval
    line: int  # where it begins in the file
    block: int  # of its parts
    # By family; the database is under None. No family is twice in it.
    parts: dict[str | None, Part] = field(default_factory=dict)

    @property
    def begin(self) -> float:
        """Seconds since the opening at which the interval begins."""
        return self.at - self.seconds

    def add(self, part: Part) -> None:
        """Takes a part in; one of the same family is merged with it."""
        before = self.parts.get(part.family)
        self.parts[part.family] = part if before is None else merged(before, part)


def dumps_of(parts: Sequence[Part]) -> list[Dump]:
    """The parts gathered into dumps; parts that no clock belongs to are left out."""
    dumps: list[Dump] = []
    waiting: list[Part] = []
    for part in parts:
        waiting = [each for each in waiting if each.block == part.block]
        if part.at is None:
            waiting.append(part)
            continue
        if not dumps or not _joins(part, dumps[-1]):
            dumps.append(Dump(part.at, part.seconds or 0.0, part.line, part.block))
        dump = dumps[-1]
        for each in (*waiting, part):
            _add(each, dump)
        waiting = []
    return dumps


def _joins(part: Part, dump: Dump) -> bool:
    """Whether a part is of the dump before it: of the same moment, and not its next telling."""
    assert part.at is not None
    if part.block != dump.block:
        return False
    before = dump.parts.get(part.family)
    in_log = part.block > 0
    if before is None:
        return part.at >= dump.at - SLACK and (in_log or part.at <= dump.at + SLACK)
    since = part.at - (before.at if before.at is not None else dump.at)
    if in_log:  # 5.x and 6.x write a family again, with an interval since the first time
        return since >= -SLACK and (part.seconds or 0.0) <= since + 0.15
    return abs(since) <= SLACK and (part.seconds or 0.0) < 0.05


def _add(part: Part, dump: Dump) -> None:
    if part.at is None:
        part.at, part.seconds, part.own_clock = dump.at, dump.seconds, False
    if part.family is DATABASE and DATABASE not in dump.parts:
        dump.at, dump.seconds = part.at, part.seconds or 0.0
    dump.add(part)


def merged(first: Part, second: Part) -> Part:
    """One part of two that tell of the same family at the same moment.

    Totals are of the second; what is of an interval is of the longer one: the other begins where
    the first part ended, and is empty.
    """
    longer = first if (first.seconds or 0.0) >= (second.seconds or 0.0) else second
    intervals = {n: v for n, v in longer.figures.items() if n.startswith("interval_")}
    return replace(
        first,
        at=longer.at,
        seconds=longer.seconds,
        figures={**first.figures, **second.figures, **intervals},
        stalls={**first.stalls, **second.stalls},
        levels=longer.levels or first.levels or second.levels,
        own_clock=first.own_clock or second.own_clock,
    )


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
