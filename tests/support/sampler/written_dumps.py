"""Writes dumps as RocksDB 4 and later do, for the tests."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

BENCH = "RocksDB:    version 7.8.3\n"  # the heading of db_bench's standard error
KEYS = "Keys:       16 bytes each (+ 0 bytes user-defined timestamp)\n"  # of its standard output


@dataclass(frozen=True, kw_only=True)
class Family:
    """What a dump says of a column family; sizes in GB."""

    name: str = "default"
    written: float = 2.0
    interval_written: float = 0.2
    flushed: float = 1.0
    seconds: float | None = None
    stalls: str = "Stalls(count): 0 level0_slowdown, 0 memtable_compaction"
    levels: str = ""


@dataclass(frozen=True, kw_only=True)
class Dump:
    """A dump of a database at some moment of its uptime."""

    at: float
    seconds: float
    families: tuple[Family, ...] = (Family(),)
    ingest: float = 1.0
    stall_percent: float = 0.0
    marker: str | None = None
    twice: bool = False
    database: bool = True

    def text(self) -> str:
        marker = "" if self.marker is None else f"{self.marker} 7f DUMPING STATS -------\n"
        parts = [self._family(each, self.seconds) for each in self.families]
        if self.twice:  # 5.x and 6.x
            parts += [self._family(each, 0.0) for each in self.families]
        database = self._database() if self.database else ""
        return marker + database + "".join(parts)

    def _database(self) -> str:
        return (
            f"** DB Stats **\nUptime(secs): {self.at:.1f} total, {self.seconds:.1f} interval\n"
            "Cumulative writes: 24K writes, 704M keys, 24K commit groups, 1.0 writes per commit "
            f"group, ingest: {self.ingest:.2f} GB, {self.ingest * 1024 / max(self.at, 0.1):.2f} "
            "MB/s\n"
            "Interval writes: 5886 writes, 156M keys, 5886 commit groups, 1.0 writes per commit "
            "group, ingest: 60.00 MB, 1.00 MB/s\n"
            f"Cumulative stall: 00:00:{self.stall_percent * self.at / 100:.3f} H:M:S, "
            f"{self.stall_percent:.1f} percent\n"
        )

    def _family(self, family: Family, seconds: float) -> str:
        length = family.seconds if family.seconds is not None else seconds
        new = family.interval_written if length else 0.0
        return (
            f"** Compaction Stats [{family.name}] **\n{family.levels}"
            f"Uptime(secs): {self.at:.1f} total, {length:.1f} interval\n"
            f"Flush(GB): cumulative {family.flushed:.3f}, interval 0.100\n"
            f"Cumulative compaction: {family.written:.2f} GB write, "
            f"{family.written * 1024 / max(self.at, 0.1):.2f} MB/s write, 0.00 GB read, "
            "0.00 MB/s read, 1.0 seconds\n"
            f"Interval compaction: {new:.2f} GB write, {new * 1024 / max(length, 0.1):.2f} MB/s "
            "write, 0.00 GB read, 0.00 MB/s read, 0.5 seconds\n"
            f"{family.stalls}\n"
        )


def text(*dumps: Dump) -> str:
    """The dumps one after the other."""
    return "".join(dump.text() for dump in dumps)


def clock(minute: int, second: int = 0, hour: int = 10) -> str:
    """The beginning of a LOG's line."""
    return f"2022/11/24-{hour:02}:{minute:02}:{second:02}.000000"


PIECES = (
    "** DB Stats **\n", "** Compaction Stats [a] **\n", "** Compaction Stats [] **\n",
    "Compactions\n",
    "Uptime(secs): 1.0 total, 1.0 interval\n", "Uptime(secs): 2.0 total, 0.0 interval\n",
    "Uptime(secs): 0.0 total, 9.0 interval\n", "Level    Files   Size     Score Read(GB)\n",
    "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n", "  L0  1/0  1.0 GB  nan  inf  -3\n",
    "  0 1 2 3 4 5\n", "------- DUMPING STATS -------\n", f"{clock(10)} DUMPING STATS\n",
    "2022/99/99-99:99:99.0 DUMPING STATS\n", BENCH, KEYS, f"{clock(1)} RocksDB version: 9.1\n",
    "Cumulative writes: 1K writes, 1K keys, 1 commit groups, 1.0 x, ingest: 1.00 GB, 1.00 MB/s\n",
    "Interval writes: 1 writes, 1 batches, 1.0 x, 2.0 MB user ingest, stall micros: 9\n",
    "Cumulative compaction: -1.00 GB write, 1.00 MB/s write, 1.00 GB read, 1.00 MB/s read\n",
    "Interval compaction: 17179869183.99 GB write, 1.00 MB/s write, 0.0 GB read, 1.0 MB/s read\n",
    "Flush(GB): cumulative 0.001, interval 0.001\n",
    "Interval stall: 00:00:9.9 H:M:S, 9.9 percent\n",
    "Stalls(count): 99 level0_slowdown, 1 nobody_knows\n", "Write Stall (count): total-stops: 1\n",
    "Stalls(secs): 1.0 a, 2.0 b\n", "[a] Stalling writes because \n", "STATISTICS:\n",
    "[a] Stopping writes because we have 99999999999999999999999 level-0 files\n",
    " rocksdb.bytes.written COUNT : 99999999999999999999\n",
    "Compaction IO interval (MB/sec): nan new, nan read, nan write\n",
    "Options for column family [a]:\n", "Options.max_write_buffer_number: x\n",
)  # fmt: skip


def any_file() -> st.SearchStrategy[str]:
    """Lines of dumps of all versions in any order, and other text between them."""
    pieces = st.one_of(st.sampled_from(PIECES), st.text(max_size=40))
    return st.lists(pieces, max_size=30).map("".join)
