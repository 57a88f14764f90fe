"""Gives 13 million inputs to everything that reads what others wrote, and keeps what it learned.

Run with ``make prove-fuzz ARGS="--runs 13000000"``. Slices are kept as they end, so it may be
stopped at any time; called again it goes on. An input that breaks a target ends the run, stands
in ``rocktune-fuzz/`` and is told: it is to be mended, and added to ``test_fuzz_targets.py``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from studies.study import append_line, made_by, read_lines
from tests.support.fuzzing.fuzz_seeds import keep, kept, seeds
from tests.support.fuzzing.fuzz_targets import LONGEST, TARGETS

RAW = Path("docs/results/fuzz.jsonl")
WORK = Path("rocktune-fuzz")
_ONE = "tests.support.fuzzing.fuzz_one"
# In parts of 100. Those that work through files or a whole service take longest, and get least.
SHARES = {
    "output": 18, "log": 18, "last_line": 7, "options": 15, "space": 9, "workload": 9,
    "objective": 7, "words": 7, "batch": 4, "archive": 2, "body": 2, "request": 2,
}  # fmt: skip
_SLICE = 200_000
_SECONDS_FOR_ONE = 3  # an input that takes longer is a fault
_MOST_WORDS = 500
_DONE = re.compile(r"stat::number_of_executed_units:\s+(\d+)|Done (\d+) runs in")
_WORD = re.compile(rb"[A-Za-z][A-Za-z0-9_./:-]{2,39}")
_REACHED = re.compile(r"cov: (\d+)")


def main() -> int:
    """Runs what is missing, and writes the page."""
    given = _parser().parse_args()
    assert SHARES.keys() == TARGETS.keys() and sum(SHARES.values()) == 100
    for target in given.targets:
        wanted = int(given.runs * SHARES[target] / 100)
        while (left := wanted - _runs(target)) > 0:
            if not _slice(target, min(left, _SLICE)):
                return 1
    sys.stdout.write(_write_page(RAW.with_suffix(".md"), given.runs) + "\n")
    return 0


def _slice(target: str, runs: int) -> bool:
    """Runs one slice and keeps it; False where an input broke the target."""
    shown, corpus, found = WORK / "seeds" / target, WORK / target, WORK / "found"
    for folder in (shown, corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for number, each in enumerate(seeds(target)):
        (shown / f"{number:05}").write_bytes(each)
    words = WORK / f"{target}.dict"
    words.write_text(_dictionary(seeds(target)), encoding="ascii")
    began = time.monotonic()
    arguments = [
        f"-runs={runs}", f"-max_len={LONGEST}", f"-timeout={_SECONDS_FOR_ONE}",
        f"-artifact_prefix={found}/{target}-", "-print_final_stats=1", "-rss_limit_mb=4096",
        f"-seed={_runs(target) + 1}", f"-dict={words}",
    ]  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-m", _ONE, target, *arguments, str(corpus), str(shown)],
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    printed = ended.stdout + ended.stderr
    done = [int(a or b) for a, b in _DONE.findall(printed)]
    reached = [int(each) for each in _REACHED.findall(printed)]
    if ended.returncode != 0 or not done:
        sys.stderr.write(f"{target} ended with {ended.returncode}:\n{printed[-4000:]}\n")
        return False
    row = {
        "target": target,
        "runs": max(done),
        "seconds": round(time.monotonic() - began, 1),
        "reached": max(reached, default=0),
        # What led further before is among the seeds, so it is not found again.
        "corpus": keep(target, [*kept(target), *(path.read_bytes() for path in corpus.iterdir())]),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    append_line(RAW, row)
    sys.stdout.write(f"{target}: {_runs(target):,} inputs, {row['corpus']:,} kept\n")
    sys.stdout.flush()
    return True


def _dictionary(shown: Sequence[bytes]) -> str:
    """The words of what a target is shown, as libFuzzer reads them."""
    found = Counter(word for each in shown for word in _WORD.findall(each))
    return "".join(f'"{word.decode()}"\n' for word, _ in found.most_common(_MOST_WORDS))


def _runs(target: str) -> int:
    return sum(row["runs"] for row in read_lines(RAW) if row["target"] == target)


def _write_page(out: Path, runs: int) -> str:
    rows = read_lines(RAW)
    made = made_by(f'make prove-fuzz ARGS="--runs {runs}"', [row["ended"][:10] for row in rows])
    total = sum(row["runs"] for row in rows)
    lines = [
        "# Inputs that were made to break a reader",
        "",
        f"{made}, atheris (libFuzzer).",
        "",
        f"{total:,} inputs of at most {LONGEST:,} bytes, led by the lines of Rocktune that they "
        "reach. Each may take 3 seconds (before 2026-11-24: 20), and words of the first ones are "
        "put into others (since then). A reader may refuse an input in one sentence "
        "(`InputError`; the service with a problem document below 500), or read it; what it reads "
        "from OPTIONS files, workloads and objectives must read the same after it was written. "
        "Anything else is a fault. At the end of this run none was left. What was found stays in "
        "`tests/fuzzing/test_fuzz_targets.py`, the corpora in `tests/data/fuzz`.",
        "",
        "| reader | what | inputs | a second | edges reached | inputs kept |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for target, call in TARGETS.items():
        own = [row for row in rows if row["target"] == target]
        if own:
            done, seconds = sum(r["runs"] for r in own), sum(r["seconds"] for r in own)
            what = (call.__doc__ or "").partition(":")[0].rstrip(".")
            lines.append(
                f"| `{target}` | {what} | {done:,} | {done / seconds:,.0f} "
                f"| {own[-1]['reached']:,} | {len(kept(target)):,} |"
            )
    out.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return f"{out} tells of {total:,} inputs"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Fuzzes what reads what others wrote.")
    parser.add_argument("--runs", type=int, default=13_000_000, help="inputs in all")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")
