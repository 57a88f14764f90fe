"""docs/results/recovery.md: what is true of each load beside what its profile says."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from sampler.common.text import format_bytes
from studies.recovery.transfer import transfer_lines
from studies.study import days_words

Row = Mapping[str, Any]
# What is compared, by how much it may be off, and whether that is of the true value or in points.
LIMITS: Mapping[str, tuple[str, float, bool]] = {
    "key_size": ("key bytes", 0.02, True),
    "value_size": ("value bytes", 0.02, True),
    "mix": ("mix", 0.03, False),
    "compression_ratio": ("compressibility", 0.05, True),
    "overwrite_share": ("overwrites", 0.05, False),
    "waf": ("write amplification", 0.03, True),
    "read_skew": ("skew of reads", 0.10, True),
    "write_skew": ("skew of writes", 0.10, True),
}
_FITS = {True: "fits", False: "**does not fit**", None: "cannot tell"}
_VERDICTS = ("within", "off", "rightly doubted", "wrongly doubted", "not told")
_WHOLE = ("mix", "waf")  # figures of the database
_SHARES = ("overwrite_share", "read_skew", "write_skew")
OF = {
    "log": ("key_size", "value_size", "mix", "compression_ratio", "overwrite_share", "waf"),
    "trace": ("key_size", "value_size", "mix", "compression_ratio", "read_skew", "write_skew"),
}
_HEAD = """# What a profile tells of a known load

Each load is a database that `db_bench` made with known flags (`studies/recovery/loads.py`), where
what is true follows from the flags alone; or one that an application made, which counted what it
did (`app-...`, `studies/recovery/applications.py`): blob files, a TTL, range deletes, FIFO
compaction, several openings, five families. The profile is of a folder with copies of LOG and
OPTIONS without tables, or of the trace of the load's last benchmark. A cell is the true value, the
profile's, and how far that is off: in percent of the true value, or in points of shares. **Bold**
is off by more than the limit, or not told. *Doubted*: the profile says in words why it does not
tell the figure; it was right to doubt where the figure that it had would have been off. `-`: there
is no true value. How values compress has none where no codec tells it, or where they are so short
that db_bench's ratio does nothing. *Mix* is off by its worst operation. It and write amplification
are of the whole database and stand with its first family; the true write amplification is that of
RocksDB's own counters. Range deletes count as deletes, and the 4 bytes of time that a TTL puts
behind a value as part of it."""
_LOG = "## From LOG and OPTIONS"
_TRACE = """## From a trace

Skew is the share of the keys used that takes half of the operations."""
_FIDELITY = """## The scaled load beside the database

`rocktune profile --check` on the same folders: the load of the family that most is written into,
under the database's own OPTIONS, two to five times. The limits are 15% of its write amplification
and one level of its tree; of each figure the database's and the mean of the load's runs, which
must lie within the limits with its 95% interval. *Differs* names all that is off. Where one run is
named, the check is older than the repeated one."""
_TRANSFER = """## What is proven at scale, and what it gains at full size

`rocktune tune --like` sees LOG and OPTIONS alone, and proves its winner on a scaled load of its
own choice in 40 runs. *At full size* is the load itself, as `db_bench` made the database, under
the winner's OPTIONS against the database's own, five times in turn (`rocktune compare`). Changes
have their 95% intervals, each by itself. *Agrees*: the intervals overlap; *same way*: they do
not, and both changes have one sign."""


@dataclass(frozen=True)
class Figure:
    """A figure of a family, the true one and the profile's."""

    name: str
    true: Any  # None: there is nothing to compare with
    found: Any  # None: the profile does not tell it
    doubted: Any = None  # what it does not tell because it doubts it

    @property
    def error(self) -> float | None:
        """How far it is off, of the true value or in shares; None where either is missing."""
        return self._off(self.found)

    def _off(self, found: Any) -> float | None:
        if self.true is None or found is None:
            return None
        if self.name == "mix":
            if self.true.keys() - found.keys():
                return None
            return max((float(share - self.true.get(n, 0)) for n, share in found.items()),
                       key=abs)  # fmt: skip
        gap = float(found - self.true)
        return gap / self.true if LIMITS[self.name][2] else gap

    @property
    def verdict(self) -> str:
        """``within``, ``off``, ``not told``, or ``-`` where there is no truth to be off from.

        ``rightly`` or ``wrongly doubted`` where the figure that was not told is known.
        """
        if self.true is None:
            return "-"
        if self.error is None:
            would = self._off(self.doubted)
            if would is None:
                return "not told"
            right = abs(would) > LIMITS[self.name][1]
            return "rightly doubted" if right else "wrongly doubted"
        return "within" if abs(self.error) <= LIMITS[self.name][1] else "off"

    def cell(self) -> str:
        """True value, the profile's, how far it is off."""
        if self.true is None:
            return "-"
        if self.error is None:
            had = "" if self.doubted is None else f"; {_value(self.name, self.doubted)}"
            return f"{_value(self.name, self.true)}{had}: **{self.verdict}**"
        off = f"{100 * self.error:+z.1f}{_unit(self.name)}"
        said = off if self.verdict == "within" else f"**{off}**"
        return f"{_value(self.name, self.true)}; {_value(self.name, self.found)}: {said}"


def figures_of(row: Row) -> list[tuple[str, list[Figure]]]:
    """A row's figures by family."""
    found = []
    for place, family in enumerate(row["families"]):
        of_family = row["true"].get("families", {}).get(family, {})
        true = {**row["true"], **of_family, **(dict.fromkeys(_WHOLE) if place else {})}
        told = row["found"]["families"].get(family, {})
        doubted = told.get("doubted", {})
        told = {**told, **{name: row["found"].get(name) for name in _WHOLE}}
        found.append((family, [
            Figure(n, true.get(n), told.get(n), doubted.get(n)) for n in OF[row["kind"]]
        ]))  # fmt: skip
    return found


def write_page(out: Path, rows: Sequence[Row]) -> None:
    """Writes the page from all rows, at least one; of what was measured again the last counts."""
    kept = {(row["kind"], row["load"]): row for row in rows}.values()
    kinds = {
        kind: [row for row in kept if row["kind"] == kind]
        for kind in (*OF, "fidelity", "transfer")
    }
    remarks = Path(__file__).with_name("remarks.md").read_text(encoding="utf-8")
    head = ("from", "figure", "limit", *_VERDICTS, "furthest off")
    fidelity = ("load", "RocksDB", "family", "write amplification", "deepest level",
                "mean level of a byte", "verdict", "differs")  # fmt: skip
    transfer = ("load", "RocksDB", "proven", "metric", "at scale", "at full size", "verdict")
    parts = [
        _HEAD, _about([*kept]), _table(head, [*_summary(kinds)]), _doubts(kinds["log"]),
        _LOG, _recovery(kinds, "log"), _TRACE, _recovery(kinds, "trace"),
        _FIDELITY, _table(fidelity, [_checked(row) for row in kinds["fidelity"]]),
        _TRANSFER, _table(transfer, [*chain(*map(transfer_lines, kinds["transfer"]))]),
        remarks.strip(),
    ]  # fmt: skip
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _about(rows: Sequence[Row]) -> str:
    host, loads = rows[-1]["host"], {row["load"] for row in rows}
    return (
        f"Commands: `make prove-recovery`, `make prove-transfer`. {len(loads)} loads; "
        f"{host['cpu']}, {host['cores']} cores, {format_bytes(host['memory_bytes'])}, "
        f"{host['file_system']}, {host['system']}; "
        f"{days_words({str(row['ended'])[:10] for row in rows})}."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    if not rows:
        return "None yet."
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def _summary(kinds: Mapping[str, Sequence[Row]]) -> Iterator[list[str]]:
    for kind, names in OF.items():
        listed = [(row["load"], each) for row in kinds[kind] for _, each in figures_of(row)]
        for place, name in enumerate(names):
            figures = [(load, each[place]) for load, each in listed]
            verdicts = [each.verdict for _, each in figures]
            counts = [str(verdicts.count(word)) for word in _VERDICTS]
            errors = [(abs(each.error), load) for load, each in figures if each.error is not None]
            words, limit, _ = LIMITS[name]
            unit = _unit(name)
            most, load = max(errors, default=(0.0, "-"))
            worst = f"{100 * most:.1f}{unit}, {load}"
            yield [kind, words, f"{100 * limit:g}{unit}", *counts, worst]


def _doubts(rows: Sequence[Row]) -> str:
    """How many figures of LOGs are not told, and how often that was right."""
    figures = [each for row in rows for _, listed in figures_of(row) for each in listed]
    verdicts = [each.verdict for each in figures if each.true is not None]
    rightly, wrongly, silent = (verdicts.count(word) for word in _VERDICTS[2:])
    untold = rightly + wrongly + silent
    share = 100 * untold / max(1, len(verdicts))
    return (
        f"Of {len(verdicts)} figures of LOGs {untold} are not told ({share:.1f}%): {rightly} were "
        f"doubted rightly, {wrongly} wrongly, and for {silent} there was nothing to tell."
    )


def _recovery(kinds: Mapping[str, Sequence[Row]], kind: str) -> str:
    head = ("load", "RocksDB", "family", *(LIMITS[name][0] for name in OF[kind]))
    return _table(head, [
        [row["load"], row["rocksdb"], family, *(each.cell() for each in figures)]
        for row in kinds[kind]
        for family, figures in figures_of(row)
    ])  # fmt: skip


def _checked(row: Row) -> list[str]:
    """A load's line: what decides, the verdict, and all that differs."""
    lines = row["fidelity"]["rows"]
    off = [each["what"] for each in lines if each["verdict"] == "differs"]
    decides = [_beside(each) for each in lines[:3]]
    once = "" if any(each.get("runs") for each in lines) else ", one run"
    verdict = f"{_FITS[row['fidelity']['fits']]}{once}"
    head = [row["load"], row["rocksdb_version"], row["column_family"]]
    return [*head, *decides, verdict, ", ".join(off) or "-"]


def _beside(line: Row) -> str:
    if line["database"] is None or line["load"] is None:
        return "not told"
    told = f"{line['database']:.3g}, {line['load']:.3g}"
    return told if line["verdict"] == "fits" else f"**{told}**"


def _unit(name: str) -> str:
    return "%" if LIMITS[name][2] else " points"


def _value(name: str, value: Any) -> str:
    if name == "mix":
        return ", ".join(f"{n} {100 * share:.0f}%" for n, share in sorted(value.items()) if share)
    return f"{100 * value:.1f}%" if name in _SHARES else f"{value:.4g}"
