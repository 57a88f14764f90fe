"""From a configuration to its OPTIONS file and its command line of db_bench, and to the export."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sampler.bench.process import HELD_BYTES
from sampler.rocksdb.measured_part import caches_of, displaced_by, measured_part, with_block_cache
from sampler.rocksdb.option_values import read_values, scaled, title_of, value_in, write_values
from sampler.rocksdb.options_file import CF, DB, ELSEWHERE, OptionsFile, without_leaf
from sampler.rocksdb.parameters import Parameter, Value, catalogue
from sampler.space.space import LEAST_WRITE_BUFFER, Configuration, Space, flushed_at
from sampler.workload.workload import (
    COLUMN_FAMILIES,
    SEED_APART,
    SHARED,
    Prepare,
    Settle,
    Workload,
)

# RocksDB then writes its counters into the LOG every second, so that a run that is cut off is
# not lost. What it costs is measured in docs/results/measuring.md.
DUMP_STATISTICS = {"stats_dump_period_sec": "1"}
# Left at RocksDB's defaults while measuring, with the values that change nothing: a LOG that says
# less, or begins again, does not tell when the tree came to rest.
_LOGGING = {
    "info_log_level": ("INFO_LEVEL", "DEBUG_LEVEL"),
    "max_log_file_size": ("0",),
    "log_file_time_to_roll": ("0",),
}
TRACE = "trace"  # the file in a trial's folder that holds what is replayed
SCAN_NEXTS = 20  # keys of a short scan after its first
# The heading of what ``stats`` prints. From there on the output is held back until the tree is at
# rest; what is printed after it was computed after it.
HELD_FROM = "** Compaction Stats ["
_REPLAY_THREADS = "trace_replay_threads"
_LEAST_STATS_BYTES = 4096  # it prints 7 KB of 7.8.3, and more of newer ones
_HELD = ("stats",) * (1 + -(-HELD_BYTES // _LEAST_STATS_BYTES))
_SETTLING = {"wait": ("flush", *_HELD), "flush": ("flush",), "none": ()}


@dataclass(frozen=True)
class BenchPlan:
    """What stays the same through all trials of a job."""

    workload: Workload
    space: Space
    library: Configuration  # the library's default of every catalogued parameter
    # A family of the user's own OPTIONS file in its normal form, full scale, or an empty one.
    baseline_file: OptionsFile = field(default_factory=OptionsFile)
    # Section and key of what of that file is not measured, for the RocksDB that measures does not
    # know it.
    dropped: frozenset[tuple[str, str]] = frozenset()
    # A line for each thing of that file that is not measured as it says.
    notes: tuple[str, ...] = ()
    text: str | None = None  # the user's file as it is; None without one

    def options(self, configuration: Configuration) -> OptionsFile:
        """The scaled file that a trial runs with."""
        values = self.space.complete(configuration)
        named = [
            parameter
            for name, parameter in catalogue().items()
            # A special value is never divided, so it need not be written where it is the default.
            if (parameter.scaled and values[name] not in parameter.special)
            or self.moved(name, values)
        ]
        named = [p for p in named if not p.is_option or (title_of(p), p.key) not in self.dropped]
        own = measured_part(self.taken(self._freed(values)), self.workload.scale)
        own = own.without(DB, (*ELSEWHERE, *_LOGGING))
        options = write_values(own, values, named, scale=self.workload.scale)
        limited = self._limited(options, values)
        return limited.with_values(CF, self._facts).with_values(DB, DUMP_STATISTICS)

    @property
    def _facts(self) -> dict[str, str]:
        """Options that are facts of the load, but for those that the user's own file says."""
        facts, file = self.workload.options, self.baseline_file
        return {k: text for k, text in facts.items() if file.get(CF, k) in (None, "nullptr")}

    def _limited(self, options: OptionsFile, values: Configuration) -> OptionsFile:
        """Memtables that a limit of all of them keeps small, as memtables of that size.

        At 1/64 the fixed cost of a flush lets several of them wait, and RocksDB merges those into
        one: a limit of 16 MiB gave write amplification 2.7, and 5.0 at scale 1 (7.8.3,
        2026-11-25). Memtables of that size are not merged, and give 4.6 to 5.0.
        """
        size, scale = flushed_at(values), self.workload.scale
        if scale == 1 or size >= int(values["write_buffer_size"]):
            return options
        small = {"write_buffer_size": str(max(LEAST_WRITE_BUFFER, size // scale))}
        return options.without(DB, ["db_write_buffer_size"]).with_values(CF, small)

    def taken(self, file: OptionsFile) -> OptionsFile:
        """A file without what the RocksDB that measures does not know."""
        for section, key in self.dropped:
            file = without_leaf(file, section, key)
        return file

    def _freed(self, values: Configuration) -> OptionsFile:
        """The user's file without what would override, or contradict, a value that is moved."""
        file = self.baseline_file
        for name in catalogue() if file.sections else ():
            if self.moved(name, values) and (displaced := displaced_by(name, file)):
                file = file.without(title_of(catalogue()[name]), displaced)
        return file

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """What the user's own file says and trials do not take over."""
        return tuple(name for name in ELSEWHERE if self.baseline_file.get(DB, name))

    @property
    def unlogged(self) -> tuple[str, ...]:
        """What the user's own file says of logging and trials do not take over."""
        file = self.baseline_file
        return tuple(n for n, usual in _LOGGING.items() if file.get(DB, n) not in (None, *usual))

    def export(self, configuration: Configuration) -> OptionsFile:
        """The file for production: what differs from the library's defaults, and little else.

        A full dump would freeze today's defaults into the user's database; a tuned key whose
        default varies between versions is written even where it equals this version's.
        """
        values = self.space.complete(configuration)
        named = [
            parameter
            for name, parameter in catalogue().items()
            if self.moved(name, values)
            or (parameter.varies and name in configuration and not self._names(parameter))
        ]
        own = self._freed(values)
        if values["cache_size"] != self.space.context["cache_size"]:
            own = with_block_cache(own, int(values["cache_size"]))
        return write_values(own, values, named, scale=1)

    def _names(self, parameter: Parameter) -> bool:
        title = title_of(parameter) if parameter.is_option else DB
        return self.baseline_file.get(title, parameter.key) is not None

    def moved(self, name: str, values: Configuration) -> bool:
        """Whether a value must be written: it is not what the file, or the library, has anyway."""
        if name in self._facts:
            return False
        start = self.space.context if self.baseline_file.sections else self.library
        if values[name] != start[name]:
            return True
        # The list of codecs by level is made of three parameters.
        others = ("compression_type", "num_levels")
        return name == "min_level_to_compress" and any(values[o] != start[o] for o in others)

    def flags(self, configuration: Configuration) -> dict[str, Value]:
        """The flags that carry what no OPTIONS file can: deployment and workload factors."""
        values, scale = self.space.complete(configuration), self.workload.scale
        parameters = [p for p in catalogue().values() if p.section == "deployment"]
        deployed = {p.flag: scaled(p, values[p.name], scale) for p in parameters}
        caches = caches_of(self.baseline_file)
        row = {"row_cache_size": max(1, caches.row // scale)} if caches.row else {}
        return {**deployed, **caches.flags, **row}


def effective_values(
    written: OptionsFile, configuration: Configuration, space: Space, *, scale: int
) -> tuple[dict[str, Value], tuple[str, ...]]:
    """The values in effect, from the OPTIONS file that RocksDB wrote.

    RocksDB repairs some values silently at open (column_family.cc, SanitizeOptions). A special
    value that means "automatic" stays what was asked, whatever number it became.

    Returns:
        The configuration in effect at full scale, and a line for each value that was changed.
    """
    parameters, values = [space.known[n] for n in configuration], space.complete(configuration)
    found = read_values(written, parameters)
    effective: dict[str, Value] = {}
    changed: list[str] = []
    for parameter in parameters:
        asked = configuration[parameter.name]
        measured = scaled(parameter, asked, scale)
        there = found.get(parameter.name, measured)
        limited = parameter.name == "write_buffer_size" and flushed_at(values) < int(asked)
        if limited or asked in parameter.special or _same(there, measured):
            effective[parameter.name] = asked
        else:
            divided = parameter.scaled and there not in parameter.special
            effective[parameter.name] = int(there) * scale if divided else there
            changed.append(f"{parameter.name}: requested {measured}, in effect {there}")
    return effective, tuple(changed)


def unmet_values(
    intended: OptionsFile, written: OptionsFile, names: Mapping[str, Parameter]
) -> list[str]:
    """The parameters whose value in effect is not the intended one, one line each."""
    lines = []
    for name, parameter in names.items():
        if not parameter.is_option:
            continue
        title = title_of(parameter)
        asked = intended.get(title, parameter.key)
        if asked is None:
            continue
        if parameter.key == "compression_per_level":
            if written.get(title, parameter.key) != asked:
                lines.append(f"{parameter.key}: requested {asked}, not in effect")
            continue
        wanted, there = value_in(intended, parameter), value_in(written, parameter)
        if wanted not in parameter.special and not _same(wanted, there):
            lines.append(f"{name}: requested {wanted}, in effect {there}")
    return lines


def _same(a: Value | None, b: Value | None) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(float(a) - float(b)) <= 1e-6
    return a == b


def command_line(program: Path, flags: Mapping[str, Value], folder: Path) -> list[str]:
    """The arguments of a run in a trial's folder: its database, its OPTIONS file, its flags."""
    places = {"db": str(folder / "db"), "options_file": str(folder / "OPTIONS.ini")}
    if flags.get("report_interval_seconds"):  # else it would be written where Rocktune works
        places["report_file"] = str(folder / "report.csv")
    if flags.get(_REPLAY_THREADS):
        places["trace_file"] = str(folder / TRACE)
    return [str(program), *flag_arguments({**places, **flags})]


def flag_arguments(flags: Mapping[str, Value]) -> list[str]:
    """Flags as arguments of db_bench."""
    return [
        f"--{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in flags.items()
    ]


def measured_flags(plan: BenchPlan, configuration: Configuration) -> dict[str, Value]:
    """The flags of the measured process.

    They carry only the workload and deployment parameters: beside an OPTIONS file db_bench ignores
    nearly every option flag, so what is measured is what is exported.
    """
    workload = plan.workload
    after = {"use_existing_db": True, "seed": workload.seed + SEED_APART}
    return {
        "benchmarks": _benchmarks(workload.benchmarks, workload.owes),
        "num": workload.num,
        "threads": workload.threads_of(configuration),
        **_common(plan, configuration),
        **(after if workload.prepare else {}),
        **plan.flags(configuration),
        **dict(workload.flags),
        **_replay_flags(workload, workload.threads_of(configuration)),
    }


def _replay_flags(workload: Workload, threads: int) -> dict[str, Value]:
    """What replays a trace.

    With one column family db_bench (7.8.3, 9.10) stops at an assertion, for it holds no handle
    of it: then there is a second one that stays empty. It makes those that are missing.
    """
    if workload.trace is None:
        return {}
    return {
        "threads": 1,  # db_bench refuses more
        _REPLAY_THREADS: threads,
        "trace_replay_fast_forward": workload.trace.fast_forward,
        COLUMN_FAMILIES: max(2, workload.column_families),
    }


def preparing_flags(
    plan: BenchPlan, prepare: Prepare, configuration: Configuration
) -> dict[str, Value]:
    """The flags of the process that fills the database: it always ends with a settled tree."""
    return {
        "benchmarks": _benchmarks(prepare.benchmarks, "wait"),
        "num": prepare.num,
        "threads": prepare.threads,
        **_common(plan, configuration),
        **plan.flags(configuration),
        **{name: value for name, value in plan.workload.flags if name in SHARED},
        **dict(prepare.flags),
    }


def reading_flags(
    plan: BenchPlan, configuration: Configuration, benchmark: str, operations: int
) -> dict[str, Value]:
    """The flags of a process that reads what a run has left, and writes nothing.

    With the load's own seed ``readrandom`` asks for the keys that ``fillrandom`` wrote first.
    """
    workload = plan.workload
    return {
        "benchmarks": benchmark,
        "num": workload.prepare.num if workload.prepare else workload.num,
        "reads": operations,
        "seek_nexts": SCAN_NEXTS,
        "use_existing_db": True,
        "readonly": True,
        **_common(plan, configuration),
        **plan.flags(configuration),
        **{name: value for name, value in workload.flags if name in SHARED},
    }


def _benchmarks(benchmarks: Sequence[str], settle: Settle) -> str:
    return ",".join([*benchmarks, *_SETTLING[settle], "stats", "sstables"])


def _common(plan: BenchPlan, configuration: Configuration) -> dict[str, Value]:
    workload = plan.workload
    return {
        "key_size": workload.key_size,
        "value_size": workload.value_size,
        "compression_ratio": configuration.get("compression_ratio", workload.compression_ratio),
        "seed": workload.seed,
        "statistics": True,
        "histogram": True,
        "progress_reports": False,
    }
