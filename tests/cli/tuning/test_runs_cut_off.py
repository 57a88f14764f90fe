"""Slow configurations are cut off, which is no failure, and said so wherever a job stands."""

import json
from collections.abc import Callable

import pytest

from cli.render.screen import HowFar
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import write_space, write_workload

# The codec that is new never ends; it takes as long as the baseline says that it takes.
SCRIPT = """\
read -r given < "$1"
case "$given" in *'"codec": "fast"'*) exec tail -f /dev/null ;; esac
printf 'measured\\n{"waf": 2.0, "sa": 1.2, "time": 0.3, "rate": 10, "wall_seconds": 0.3}\\n'
"""


@pytest.mark.slow
def test_tune_and_show_count_them_apart(
    desk: Desk, client: Callable[..., int], capsys: pytest.CaptureFixture[str]
):
    workload = write_workload(desk.folder, script=SCRIPT)
    given = ["tune", "--workload", workload, "--space", write_space(desk.folder)]
    given += ["--objective", "paper", "--strategy", "random", "--trials", 14, "--cutoff", 1]
    assert client(*given, "--db", desk.database, "--out", desk.out) == 3
    counts = json.loads((desk.out / "result.json").read_text())["trials"]
    assert counts["censored"] > 0 == counts["failed"]
    line = f"14/14 trials, 0 failed, {counts['censored']} cut off, best "
    assert line in capsys.readouterr().err
    assert client("show", 1, "--db", desk.database) == 3
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    ("failed", "cut_off", "words"),
    [(0, 0, "0 failed"), (3, 0, "3 failed"), (3, 3, "0 failed, 3 cut off"),
     (3, 1, "2 failed, 1 cut off")],
)  # fmt: skip
def test_failures_are_those_that_were_not_cut_off(failed: int, cut_off: int, words: str):
    assert HowFar(9, failed, cut_off, 24, "", "").failures == words
