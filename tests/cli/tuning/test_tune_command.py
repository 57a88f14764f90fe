"""A whole job from the terminal, with a benchmark that ends at once."""

import csv
import io
import json
from collections.abc import Callable

import pytest

from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import write_space, write_workload

Here = Callable[..., int]


def asked(desk: Desk, *more: object, wins: str = "fast") -> list[object]:
    workload, space = write_workload(desk.folder, wins=wins), write_space(desk.folder)
    return ["tune", "--workload", workload, "--space", space, "--objective", "waf",
            "--strategy", "random", "--trials", 14, "--db", desk.database, "--out", desk.out,
            *more]  # fmt: skip


@pytest.mark.slow
def test_a_better_one_is_found(desk: Desk):
    ended = desk.run(*asked(desk))
    assert ended.returncode == 0, ended.stderr
    files = {"OPTIONS.ini", "report.html", "result.json", "trials.csv"}
    explained = json.loads((desk.out / "result.json").read_text())["explanation"]
    if explained and explained["minimal"] and explained["minimal"]["dropped"]:
        files.add("OPTIONS.minimal.ini")
    assert {path.name for path in desk.out.iterdir()} == files
    assert "Better than the baseline" in ended.stdout
    assert "Written to" in ended.stdout
    said = ended.stderr.splitlines()
    assert said[0] == f"job 1, results in {desk.out}"[: len(said[0])]
    for phase in ("baseline: measure", "sample: draw", "confirm: re-measure"):
        assert any(line.startswith(phase) for line in said), ended.stderr
    assert any(line.startswith("14/14 trials, 0 failed, best +") for line in said)
    assert list(desk.bench.iterdir()) == []
    # Nothing for a terminal where there is none.
    assert "\x1b" not in ended.stderr + ended.stdout


def test_result_json_is_as_agreed(desk: Desk, here: Here, capfd: pytest.CaptureFixture[str]):
    assert here(*asked(desk, "--json")) == 0
    printed = capfd.readouterr()
    result = json.loads((desk.out / "result.json").read_text())
    assert json.loads(printed.out) == result
    assert printed.out.count("\n") == 1
    assert "Better than the baseline" in printed.err
    assert result["schema"] == 1
    assert {"job", "environment", "baseline", "best", "parameters", "forest", "trials",
            "time"} <= result.keys()  # fmt: skip
    assert (result["job"]["trials"], result["job"]["strategy"]) == (14, "random")
    assert result["baseline"]["runs"] == 3
    assert {"waf", "sa", "time", "rate"} <= result["baseline"]["metrics"].keys()
    best = result["best"]
    assert best["confirmed"] is True
    assert best["configuration"]["codec"] == "fast"
    assert best["runs"] == 3
    change = best["change"]["waf"]
    assert change.keys() == {"percent", "low", "high", "p", "p_adjusted", "detectable"}
    assert -60 < change["low"] <= change["percent"] <= change["high"] < -40
    # The fitness is that of the deciding test: at the geometric means of the pairs' ratios.
    assert (
        best["fitness"] == result["verdict"]["fitness"] == pytest.approx(-10 * change["percent"])
    )
    assert [row["rank"] for row in result["parameters"]] == [1, 2]
    assert {row["name"] for row in result["parameters"]} == {"codec", "level"}
    assert result["forest"].keys() == {"waf"}
    assert result["trials"] == {"done": 14, "failed": 0, "timed_out": 0, "censored": 0,
                                "infeasible": 0, "lost": 0, "total": 14}  # fmt: skip
    assert result["time"]["wall_seconds"] >= result["time"]["bench_seconds"] > 0
    rows = list(csv.DictReader(io.StringIO((desk.out / "trials.csv").read_text())))
    assert len(rows) == 14


def test_nothing_better_is_found(desk: Desk, here: Here, capfd: pytest.CaptureFixture[str]):
    desk.out.mkdir()
    for name in ("OPTIONS.ini", "OPTIONS.minimal.ini"):
        (desk.out / name).write_text("of an earlier job")
    assert here(*asked(desk, "--json", wins="none")) == 3
    assert json.loads(capfd.readouterr().out)["best"] is None
    assert sorted(path.name for path in desk.out.iterdir()) == [
        "report.html", "result.json", "trials.csv"]  # fmt: skip
    assert here(*asked(desk, "--resume", wins="none")) == 3, "and of the done job"


def test_however_few_minutes_there_are_candidates_are_measured(desk: Desk, here: Here):
    arguments = asked(desk)
    place = arguments.index("--trials")
    assert here(*arguments[:place], "--minutes", 0.0001, *arguments[place + 2 :]) in (0, 3)
    result = json.loads((desk.out / "result.json").read_text())
    assert result["job"]["trials"] is None
    assert result["trials"]["total"] >= 12


class TestResume:
    @pytest.mark.slow
    def test_of_a_done_job_prints_it_again(
        self, desk: Desk, here: Here, capfd: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ):  # fmt: skip
        arguments = asked(desk, "--json")
        assert here(*arguments) == 0
        first = capfd.readouterr().out
        files = {path.name: path.read_bytes() for path in desk.out.iterdir()}
        # Nothing is needed for it but the database.
        program = (desk.folder / "bench.sh").read_text()
        (desk.folder / "bench.sh").unlink()
        with monkeypatch.context() as patch:
            patch.setenv("PATH", "/nowhere")
            assert here(*arguments, "--resume") == 0
        again = capfd.readouterr()
        assert json.loads(again.out) == json.loads(first)
        assert "job 1 is already done" in again.err
        assert {path.name: path.read_bytes() for path in desk.out.iterdir()} == files
        # Other options are those of another job, and without --resume a job is a new one.
        (desk.folder / "bench.sh").write_text(program)
        assert here(*arguments, "--resume", "--seed", 2) in (0, 3)
        assert "job 2, results in" in capfd.readouterr().err
        assert here(*arguments) == 0
        assert "job 3, results in" in capfd.readouterr().err


@pytest.mark.slow
def test_two_jobs_at_once_end_right(desk: Desk, database_url: str):
    arguments = asked(desk, "--json")
    place = arguments.index("--db")
    arguments[place + 1] = database_url
    with (
        desk.start(*arguments, "--seed", 1, "--out", desk.folder / "one") as one,
        desk.start(*arguments, "--seed", 2, "--out", desk.folder / "two") as two,
    ):
        results = [json.loads(process.communicate(timeout=120)[0]) for process in (one, two)]
    assert [one.returncode, two.returncode] == [0, 0]
    spans = []
    for result, name in zip(results, ("one", "two"), strict=True):
        assert result["trials"]["total"] == result["trials"]["done"] == 14
        rows = csv.DictReader(io.StringIO((desk.folder / name / "trials.csv").read_text()))
        spans += [(row["finished_at"], float(row["rate"])) for row in rows]
    assert len(spans) == 28
    assert list(desk.bench.iterdir()) == []
