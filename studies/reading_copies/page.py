"""docs/results/reading.md: every figure out of the runs that are kept."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from optimizer.confirmation.paired_change import change
from sampler.common.byte_size import format_bytes
from studies.reading_copies.rows import CONFIGURATIONS, KINDS, METRICS, Row, done

_LEAST_PAIRS = 2
_HEAD = """# Prepared databases and copies of them

Each run of a reading workload on a database that was prepared for it, and on a copy of one that
was prepared before under the same options, in turn (`prepared` and `copied`). What a copy saves is
in the seconds; whether runs on copies are too much alike is in the scatter, the standard deviation
of a single run over its mean. The copies of a configuration are all of one database."""


def page(rows: Sequence[Row], command: str) -> str:
    """The page.

    Args:
        rows: At least one.
        command: What measured them.
    """
    parts = [_HEAD, _where(rows, command)]
    for workload in dict.fromkeys(row.workload for row in rows):
        parts.append(f"## {workload}")
        for configuration in CONFIGURATIONS:
            kinds = [done(rows, workload, configuration, kind) for kind in KINDS]
            both = sorted(kinds[0].keys() & kinds[1].keys())
            if len(both) >= _LEAST_PAIRS:
                pairs = [(kinds[0][number], kinds[1][number]) for number in both]
                parts.append(f"### {_said(configuration)}")
                parts.append("\n".join(_table(pairs)))
                parts.append(_seconds(pairs))
    return "\n\n".join(parts) + "\n"


def _where(rows: Sequence[Row], command: str) -> str:
    last = rows[-1]
    failed = sum(row.state != "done" for row in rows)
    machine = last.machine
    memory = format_bytes(int(machine["memory_bytes"]))
    return (
        f"`{command}`; {len(rows)} runs, {failed} of them failed; "
        f"{machine['cpu']}, {machine['cores']} cores, {memory}, {machine['file_system']}, "
        f"{machine['system']}, RocksDB {machine['rocksdb']}; {last.date}."
    )


def _said(configuration: str) -> str:
    values = CONFIGURATIONS[configuration]
    return configuration + "".join(f", {name} {value}" for name, value in values.items())


def _table(pairs: Sequence[tuple[Row, Row]]) -> Iterator[str]:
    yield "| metric | prepared | scatter | copied | scatter | copied against prepared, 95% |"
    yield "|---|--:|--:|--:|--:|--:|"
    for metric in METRICS:
        sides = [[row.metrics[metric] for row in side] for side in zip(*pairs, strict=True)]
        found = change(list(zip(*sides, strict=True)))
        cells = [cell for side in sides for cell in (_figure(side), _scatter(side))]
        between = f"{found.percent:+.1f}% [{found.low:+.1f}, {found.high:+.1f}]"
        yield f"| {metric} | {' | '.join(cells)} | {between} |"


def _seconds(pairs: Sequence[tuple[Row, Row]]) -> str:
    prepared, copied = (
        statistics.median(row.seconds for row in side) for side in zip(*pairs, strict=True)
    )
    return (
        f"{len(pairs)} pairs. Seconds of the benchmark in a run: {prepared:.1f} prepared, "
        f"{copied:.1f} copied."
    )


def _figure(values: Sequence[float]) -> str:
    return f"{statistics.median(values):,.4g}"


def _scatter(values: Sequence[float]) -> str:
    mean = statistics.fmean(values)
    return f"{100 * statistics.stdev(values) / mean:.1f}%" if mean else "-"
