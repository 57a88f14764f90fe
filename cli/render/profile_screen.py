"""What `rocktune profile` shows: a profile family by family, and its load."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from cli.render.screen import bare_table, say
from jobs.results.figures import figure_rows
from sampler.profile.load import ChosenLoad
from sampler.profile.profile import (
    DatabaseProfile,
    FamilyProfile,
    family_document,
    span_words,
)


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
    total = sum(family.operations.values())
    for field, what, value in (*figure_rows(family_document(family)), *_of_database(profile)):
        source = family.sources.get(field) or profile.sources.get(field)
        count = f"{total:,.0f}: " if field == "operations" else ""
        sure, where = (source.sure, source.where) if source else ("", "")
        table.add_row(what, f"{count}{value}", sure, where)
    return table


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
