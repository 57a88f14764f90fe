"""What `rocktune profile` shows: a profile family by family, and how well its load fits."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from cli.render.screen import bare_table, say
from jobs.profile.fidelity import Fidelity
from sampler.common.byte_size import format_bytes
from sampler.profile.load import ChosenLoad
from sampler.profile.profile import OPERATIONS, DatabaseProfile, FamilyProfile, span_words


def show_profile(console: Console, profile: DatabaseProfile) -> None:
    """A table a family: each figure, how sure it is and its source; then what is unknown."""
    of = f"RocksDB {profile.version}" if profile.version else "RocksDB of unknown version"
    span = f", {span_words(profile.seconds)}" if profile.seconds else ""
    say(console, f"{of}{span}, column families: {len(profile.families)}")
    for family in profile.families:
        say(console, "", f"Column family {family.name}")
        console.print(_family_table(profile, family))
    for each in profile.unknown:
        say(console, f"Unknown: {each.what}. To learn it: {each.how}")


def _family_table(profile: DatabaseProfile, family: FamilyProfile) -> Table:
    table = bare_table(("figure",), ("value",), ("how sure", "from"))
    for field, what, value in (*_figures(family), *_of_database(profile)):
        source = family.sources.get(field) or profile.sources.get(field)
        table.add_row(what, value, source.sure if source else "", source.where if source else "")
    return table


def _figures(family: FamilyProfile) -> Iterator[tuple[str, str, str]]:
    """Field, name and value of what is known."""
    size, total = family.value_size, sum(family.operations.values())
    if family.key_size is not None:
        yield "key_size", "key size", f"{family.key_size:.4g} B"
    if size.mean is not None:
        rest = [(name, getattr(size, name)) for name in ("p50", "p99")]
        told = "".join(f", {name} {value:.4g}" for name, value in rest if value is not None)
        yield "value_size", "value size", f"{size.mean:.5g} B{told}"
    if family.compression_ratio is not None:
        yield "compression_ratio", "compression of values", f"{family.compression_ratio:.3f}"
    if family.codecs:
        told = ", ".join(f"{name} {100 * size:.0f}%" for name, size in family.codecs.items())
        yield "codecs", "a table with each codec", told
    if family.entries is not None:
        yield "entries", "live keys", f"{family.entries:,}"
    if total:
        shares = ", ".join(
            f"{name} {100 * family.operations[name] / total:.1f}%"
            for name in OPERATIONS
            if family.operations.get(name)
        )
        yield "operations", "operations", f"{total:,.0f}: {shares}"
    for field, what in (("overwrite_share", "overwrites of puts"), ("hit_rate", "gets that find")):
        value = getattr(family, field)
        if value is not None:
            yield field, what, f"{100 * value:.1f}%"
    if family.scan_length is not None:
        yield "scan_length", "keys of a scan", f"{family.scan_length:.4g}"
    for kind in ("reads", "writes"):
        share = getattr(family.skew, kind)
        if share is not None:
            yield "skew", f"keys that take half of the {kind}", f"{100 * share:.2g}%"
    if family.waf is not None:
        yield "waf", "write amplification", f"{family.waf:.2f}"
    if family.levels:
        levels = ", ".join(
            f"L{level.level} {level.files} files {format_bytes(level.bytes)}"
            for level in family.levels
            if level.files
        )
        yield "levels", "levels", levels


def _of_database(profile: DatabaseProfile) -> Iterator[tuple[str, str, str]]:
    if profile.batch_size is not None:
        yield "batch_size", "keys of a write", f"{profile.batch_size:.4g}"
    if profile.ingest_rate is not None:
        peak = profile.ingest_peak
        told = "" if peak is None else f", peak {peak / 2**20:.4g}"
        yield (
            "ingest_rate",
            "written by the application",
            f"{profile.ingest_rate / 2**20:.4g} MiB/s{told}",
        )
    if profile.stall_percent is not None:
        yield "stall_percent", "time in stalls, since the opening", f"{profile.stall_percent:.2g}%"


def show_load(console: Console, chosen: ChosenLoad, column_family: str, others: list[str]) -> None:
    """The benchmark that was chosen, and what it does not express."""
    load = chosen.workload
    beside = f". Left out: {', '.join(others)}" if others else ""
    say(console, "", f"Profiled for tuning: column family {column_family}{beside}")
    names = list(dict.fromkeys(load.benchmarks))
    say(console, f"Workload: {', '.join(names)}, {load.num:,} keys, scale 1/{load.scale}")
    for line in chosen.not_expressed:
        say(console, f"Not expressed: {line}")


def show_fidelity(console: Console, check: Fidelity) -> None:
    """A line a figure, and one for the whole."""
    table = bare_table(("figure",), ("database", "load"), ("verdict", "what to do"))
    for row in check.rows:
        table.add_row(row.what, _amount(row.database), _amount(row.load), row.verdict, row.advice)
    console.print(table)
    say(console, check.verdict)


def _amount(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
