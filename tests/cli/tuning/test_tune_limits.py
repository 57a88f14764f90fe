"""`--limit` at the terminal: real small jobs that keep what they must, or say what broke it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import write_space, write_workload

Here = Callable[..., int]
Capture = pytest.CaptureFixture[str]
# `codec = "fast"` writes half as much and is a tenth slower; nothing else matters.
SCRIPT = """\
read -r given < "$1"
n=$(( ($$ * 1103515245 + 12345) / 65536 % 90 + 10 ))
case "$given" in *'"codec": "fast"'*) waf=1 rate=900 ;; *) waf=2 rate=1000 ;; esac
printf '{"waf": %d.0%d, "rate": %d, "lag_us": 300}\\n' $waf $n $rate
"""


def asked(desk: Desk, *limits: str) -> list[object]:
    workload, space = write_workload(desk.folder, script=SCRIPT), write_space(desk.folder)
    given = [part for limit in limits for part in ("--limit", limit)]
    return ["tune", "--workload", workload, "--space", space, "--objective", "waf",
            "--strategy", "random", "--trials", 14, "--db", desk.database, "--out", desk.out,
            *given]  # fmt: skip


def result_in(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())


def test_a_winner_that_keeps_them_is_proven_and_says_so(desk: Desk, here: Here, capfd: Capture):
    limits = ("rate >= 85% baseline", "lag_us <= 0.5ms")
    assert here(*asked(desk, *limits)) == 0
    printed = capfd.readouterr().out.splitlines()
    lines = [
        "Limit rate >= 0.85 baseline (here 850) is kept: median 900, 3 of 3 runs within it",
        "Limit lag_us <= 500 us is kept: median 300, 3 of 3 runs within it",
    ]
    assert [line for line in printed if line.startswith("Limit ")] == [f"{x}." for x in lines]
    result = result_in(desk.out)
    assert result["job"]["objective"]["limit"] == [
        {"metric": "rate", "at_least_baseline": 0.85}, {"metric": "lag_us", "at_most": 500.0},
    ]  # fmt: skip
    assert result["best"]["configuration"]["codec"] == "fast"
    assert [(row["limit"], row["kept"]) for row in result["verdict"]["limits"]] == [
        ("rate >= 0.85 baseline", True), ("lag_us <= 500 us", True),
    ]  # fmt: skip
    options = (desk.out / "OPTIONS.ini").read_text()
    assert all(f"# {line}.\n" in options for line in lines)
    # The same command finds its job again; one with other limits is another job.
    assert here(*asked(desk, *limits), "--resume") == 0
    assert "job 1 is already done" in capfd.readouterr().err


def test_what_breaks_one_does_not_win(desk: Desk, here: Here, capfd: Capture):
    here(*asked(desk, "rate >= 0.95 baseline"))  # of equals one may seem better, by chance
    result = result_in(desk.out)
    assert result["verdict"]["metrics"]["rate"] == 1000
    assert "(here 950) is kept: median 1,000, 3 of 3" in capfd.readouterr().out


def test_where_all_break_one_nothing_is_proven_and_it_is_named(
    desk: Desk, here: Here, capfd: Capture
):
    assert here(*asked(desk, "lag_us <= 200us")) == 3
    said = "lag_us <= 200 us is broken: median 300, 0 of 3 runs within it"
    printed = capfd.readouterr().out
    assert "Nothing was proven better than the baseline" in printed
    assert f"\n  Limit {said}.\n" in printed
    # The gain was shown: more pairs would show the same.
    steps = printed.partition("\nWhat to do next\n")[2]
    assert "Loosen the limit lag_us <= 200 us, if that is acceptable." in steps
    assert "--detect" not in steps and "more pairs" not in steps
    result = result_in(desk.out)
    assert result["best"] is None and result["verdict"]["p"] < 0.025
    assert not (desk.out / "OPTIONS.ini").exists()
    page = (desk.out / "report.html").read_text()
    row = re.search(r"lag_us &lt;= 200 us</th>(.*?)</tr>", page, re.DOTALL)
    assert row and "at most 200" in row[1] and "0 of 3" in row[1] and ">broken</td>" in row[1]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (["read_p99 <= 1ms"], "--objective (waf): needs the metric 'read_p99', but the benchmark"),
        (["rate >= 5000", "rate <= 1.1 baseline"], "--objective (waf): no value can be rate >= 5"),
    ],
)
def test_what_only_the_first_run_can_tell_ends_the_job_there(
    desk: Desk, here: Here, capfd: Capture, limits: list[str], said: str
):
    assert here(*asked(desk, *limits)) == 2
    assert capfd.readouterr().err.splitlines()[-1].startswith(f"rocktune: {said}")
