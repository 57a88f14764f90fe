"""Runs every case of ``tests/cases`` and writes docs/results/real_files.md: expected beside got.

Run with ``make prove-files``: some minutes, most of them with the real db_bench.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sampler.bench.installed import find_db_bench, probe
from sampler.machine.machine import fingerprint
from tests.support.cases import loads, logs, options, other_forms, profiles
from tests.support.cases.case import Case, Ran

PAGE = Path("docs/results/real_files.md")
_PARTS = (
    ("OPTIONS files", options.CASES),
    ("Loads", loads.CASES),
    ("LOGs and outputs", logs.CASES),
    ("Databases", profiles.CASES),
    ("Other forms", other_forms.CASES),
)
_HEAD = """# Real files: expected and got

Public files of people who run RocksDB, and the smallest inputs of failures that they pointed to
(`tests/data/cases`, each folder with its source). What is right was worked out from the files by
hand; `make test` checks the same cases. Figures of runs have a tolerance, for how compactions fall
differs from run to run; figures that are read have none.

In one place the two files beside an artefact differ: `expected.txt` of the five families says that
22 to 25% of the writes to `index` are deletes, `truth.json` counts 617,925 of 2,441,825, which is
25.3%. The table compares with `truth.json`.

`make prove-files`, {machine}, RocksDB {version}, {date}: {right} of {total} figures are right.
"""


def main() -> int:
    """Runs all cases; ends with 1 where a figure is wrong."""
    found = {title: [_rows(case) for case in cases] for title, cases in _PARTS}
    rows = [row for part in found.values() for case in part for row in case]
    machine = fingerprint(Path.cwd())
    page = _HEAD.format(
        machine=f"{machine['cores']} cores {machine['cpu']}, {machine['system']}",
        version=probe(find_db_bench("db_bench")).version,
        date=datetime.now(UTC).date(),
        right=sum(row.endswith("yes |") for row in rows),
        total=len(rows),
    )
    for title, part in found.items():
        page += f"\n## {title}\n\n| artefact | command | figure | expected | got | right |\n"
        page += "|---|---|---|---|---|---|\n" + "".join(f"{r}\n" for case in part for r in case)
    PAGE.write_text(page, encoding="utf-8")
    wrong = [row for row in rows if not row.endswith("yes |")]
    sys.stderr.write("\n".join([*wrong, f"{PAGE} written"]) + "\n")
    return 1 if wrong else 0


def _rows(case: Case) -> list[str]:
    sys.stderr.write(f"{case.artefact} {case.command[0]}\n")
    with tempfile.TemporaryDirectory(prefix="rocktune-case-") as folder:
        ran = case.run(Path(folder))
    command = " ".join(case.command).replace("{file}", "FILE").replace("{folder}", "DIR")
    head = f"| {case.artefact} | `rocktune {command}` |"
    return [
        f"{head} {figure} | {_cell(expected)} | {_cell(got)} | {'yes' if right else 'no'} |"
        for figure, expected, got, right in _compared(case, ran)
    ]


def _compared(case: Case, ran: Ran) -> Iterator[tuple[str, object, object, bool]]:
    """Figure, what is expected, what was got, and whether that is right."""
    yield "exit status", case.status, ran.status, ran.status == case.status
    try:
        got = case.read(ran)
    except (ValueError, LookupError) as error:
        yield "output", "readable", type(error).__name__, False
        return
    for name, expected in case.expected.items():
        value = got.get(name)
        if isinstance(expected, float) and isinstance(value, int | float):
            right = abs(value - expected) <= case.within * abs(expected)
            about = f"{expected:.6g}"
            within = f" (within {case.within:.0%})" if case.within > 1e-3 else ""
            yield name, about + within, f"{value:.6g}", right
        elif expected is True and " " in name:
            yield "says", name, "yes" if value is True else "no", value is True
        else:
            yield name, expected, value, value == expected


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
