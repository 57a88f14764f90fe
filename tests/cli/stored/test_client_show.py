"""`rocktune show`, `jobs`, `parameters`, `options`, `cancel`, `resume` and a real service."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.render.outcome_screen import print_outcome
from sampler.rocksdb.forms import FORMS
from tests.support.cli.client_scene import Scene, on_terminal, serving

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def done(service: Scene) -> int:
    """A job that found something better, after enough draws to learn from."""
    return service.finished(trials=40)


@pytest.fixture(scope="module")
def in_vain(service: Scene) -> int:
    """A job that found nothing better."""
    return service.finished("even")


@pytest.fixture
def gated(service: Scene) -> Any:
    """A running job that waits until the gate is open."""
    service.gate.unlink(missing_ok=True)
    job_id = service.submitted("gated", trials=12)
    service.until(job_id, "running")
    yield job_id
    service.gate.touch()
    service.until(job_id, "done", "cancelled", "failed")


def test_a_job_that_is_done(client: Client, service: Scene, done: int, capsys: Capture):
    assert client("show", done, url=service.url) == 0
    printed = capsys.readouterr()
    page = Console(file=io.StringIO(), width=80)
    result = service.desk.call("GET", f"{service.url}/v1/jobs/{done}/result")
    print_outcome(page, result, job=done)
    best = service.job(done)["best"]
    assert printed.out == (
        f"job {done}: instant, space codecs, objective waf, random\ndone: all trials are "
        f"done\n40/40 trials, 0 failed, best {best['fitness']:+.0f} (trial {best['trial']})\n"
        + page.file.getvalue()  # type: ignore[attr-defined]
    )
    assert printed.err == ""


def test_a_job_with_limits(client: Client, service: Scene, capsys: Capture):
    number = service.submitted("even", limits=["rate >= 0.5 baseline", "sa <= 1"])
    service.until(number, "done")
    assert client("show", number, url=service.url) == 3
    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == "limits: rate >= 0.5 baseline; sa <= 1"
    limits = [line.strip() for line in shown if line.lstrip().startswith("Limit ")]
    assert limits == [
        "Limit rate >= 0.5 baseline (here 525) is kept: median 1,050, 3 of 3 runs within it.",
        "Limit sa <= 1 is broken: median 1.2, 0 of 3 runs within it.",
    ]


def test_as_json(client: Client, service: Scene, done: int, capsys: Capture):
    assert client("show", done, "--json", url=service.url) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.pop("result") == service.desk.call(
        "GET", f"{service.url}/v1/jobs/{done}/result"
    )
    assert document == service.job(done)


def test_nothing_better(
    client: Client, service: Scene, in_vain: int, tmp_path: Path, capsys: Capture
):
    assert client("show", in_vain, url=service.url) == 3
    assert "Nothing was proven better" in capsys.readouterr().out
    out = tmp_path / "OPTIONS.ini"
    assert client("options", in_vain, "--out", out, url=service.url) == 3
    assert not out.exists()
    said = f"job {in_vain} found nothing better than its baseline; there is no file"
    assert capsys.readouterr().err == f"rocktune: {said}\n"


def test_a_failed_job(client: Client, service: Scene, capsys: Capture):
    job_id = service.submitted("broken")
    service.until(job_id, "failed")
    assert client("show", job_id, url=service.url) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[1] == f"failed: {service.job(job_id)['error']}"
    assert client("options", job_id, url=service.url) == 2
    assert "it has no result yet" in capsys.readouterr().err


def test_the_options_file(
    client: Client, service: Scene, done: int, tmp_path: Path, capsys: Capture
):
    assert client("options", done, url=service.url) == 0
    text = capsys.readouterr().out
    assert "\n[Version]\n" in text
    out = tmp_path / "OPTIONS.ini"
    out.write_text("of yesterday")
    assert client("options", done, "--out", out, url=service.url) == 0
    assert out.read_text() == text
    assert [path for path in tmp_path.iterdir() if "OPTIONS" in path.name] == [out]


def test_the_same_in_other_forms(
    client: Client, service: Scene, done: int, tmp_path: Path, capsys: Capture
):
    for form in FORMS:
        assert client("options", done, "--format", form, url=service.url) == 0
        printed = capsys.readouterr().out
        out = tmp_path / form
        assert client("options", done, "--format", form, "--out", out, url=service.url) == 0
        assert out.read_text() == printed
        capsys.readouterr()
        told = service.desk.call("GET", f"{service.url}/v1/jobs/{done}/options?format=json")
        assert form != "json" or json.loads(printed) == told
    assert client("options", done, "--format", "yaml", url=service.url) == 2
    said = capsys.readouterr().err
    assert said.startswith("rocktune: --format: 'yaml' is not one of ini, string, ceph")


@pytest.mark.parametrize("place", ["pipe", "folder", "none/OPTIONS.ini"])
def test_where_no_file_can_be(
    client: Client, service: Scene, done: int, capsys: Capture, place: str
):
    Path("folder").mkdir()
    os.mkfifo("pipe")
    before = sorted(Path.cwd().iterdir())
    assert client("options", done, "--out", place, url=service.url) == 2
    assert capsys.readouterr().err.startswith("rocktune: --out: ")
    assert sorted(Path.cwd().iterdir()) == before
    assert Path("pipe").is_fifo()


def test_a_write_that_fails_leaves_the_old_file(
    client: Client, service: Scene, done: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "OPTIONS.ini"
    out.write_text("of yesterday")
    before = sorted(tmp_path.iterdir())
    real = os.fdopen

    def full(descriptor: int, mode: str) -> None:
        with real(descriptor, mode) as file:
            file.write(b"of today, ")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    assert client("options", done, "--out", out, url=service.url) == 2
    assert out.read_text() == "of yesterday"
    assert sorted(tmp_path.iterdir()) == before


def test_ranked_parameters(client: Client, service: Scene, done: int, capsys: Capture):
    assert client("parameters", done, "--json", url=service.url) == 0
    ranking = json.loads(capsys.readouterr().out)
    assert client("parameters", done, url=service.url) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    rows, words = (
        lines[: len(ranking["parameters"])],
        " ".join(lines[len(ranking["parameters"]) :]),
    )
    assert head.split() == ["rank", "parameter", "waf", "p"]
    assert [row.split()[1] for row in rows] == [each["name"] for each in ranking["parameters"]]
    for row, each in zip(rows, ranking["parameters"], strict=True):
        share, p = (each["model"]["waf"][name] for name in ("total", "p_holm"))
        shown = row.split()[2:]
        assert shown[0] == f"{100 * share:.1f}%"
        assert shown[1] == ("<0.001" if p < 0.001 else f"{p:.3f}")
    assert rows[0].split()[1] == "codec"
    assert rows[0].split()[3] == "<0.001"
    assert all(line in words for line in ranking["trust"]) and ranking["trust"]
    assert "Analysis of variance of the" in words
    assert client("parameters", done, "--metric", "waf", "--top", 1, url=service.url) == 0
    head, row, *_ = capsys.readouterr().out.splitlines()
    assert head.split()[:7] == [
        "rank",
        "parameter",
        "process",
        "95%",
        "p",
        "permutation",
        "impurity",
    ]
    assert f"{100 * ranking['parameters'][0]['model']['waf']['total']:.1f}%" in row
    assert client("parameters", done, "--metric", "foo", url=service.url) == 2
    said = "rocktune: --metric: the objective has no metric 'foo'; choose one of waf"
    assert capsys.readouterr().err.startswith(said)


def test_a_ranking_of_too_few_draws(client: Client, service: Scene, in_vain: int, capsys: Capture):
    assert client("parameters", in_vain, url=service.url) == 0
    assert "R2: waf unknown" in capsys.readouterr().out
    assert client("parameters", in_vain, "--metric", "waf", url=service.url) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("Unknown: fewer than 10")


def test_listing(client: Client, service: Scene, done: int, in_vain: int, capsys: Capture):
    assert client("jobs", url=service.url) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["job", "kind", "state", "phase", "workload", "objective", "trials",
                            "best", "so", "far", "left"]  # fmt: skip
    numbers = [int(row.split()[0]) for row in rows]
    assert numbers == sorted(numbers, reverse=True)
    assert {done, in_vain} <= set(numbers)
    row = rows[numbers.index(done)].split()
    assert row[1:6] == ["tune", "done", "instant", "waf", "40/40"]
    assert client("jobs", "--state", "queued", url=service.url) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "no jobs\n")


@pytest.mark.usefixtures("done", "in_vain")
def test_listing_page_by_page(
    client: Client, service: Scene, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    whole = service.desk.call("GET", f"{service.url}/v1/jobs?limit=1000")
    assert client("jobs", "--limit", 1, url=service.url) == 0
    assert "older jobs; use --limit" in capsys.readouterr().err
    monkeypatch.setattr("cli.stored.jobs._PAGE", 1)
    assert client("jobs", "--json", "--limit", 1000, url=service.url) == 0
    assert json.loads(capsys.readouterr().out) == whole


def test_a_running_job_is_one_picture(client: Client, service: Scene, gated: int, capsys: Capture):
    """Nothing that waits for the end: the gate is shut."""
    assert client("show", gated, url=service.url) == 0
    name, why, standing = capsys.readouterr().out.splitlines()
    assert name.startswith(f"job {gated}: gated, ")
    assert why.startswith("baseline: measure")
    assert standing == "0/12 trials, 0 failed, no best yet"
    assert client("options", gated, url=service.url) == 2
    assert client("parameters", gated, url=service.url) == 2
    said = capsys.readouterr().err
    assert f"ID: job {gated} is running; it has no result yet" in said
    assert f"ID: job {gated} has no ranking yet" in said


def test_cancel_and_resume(client: Client, service: Scene, gated: int, capsys: Capture):
    assert client("cancel", gated, url=service.url) == 0
    assert service.job(gated)["state"] == "cancelled"
    printed = capsys.readouterr().out
    assert printed.startswith(f"job {gated} is cancelled; 0/12 trials are kept\n")
    assert f"Continue it with: rocktune resume {gated}" in printed
    assert client("show", gated, url=service.url) == 130
    assert capsys.readouterr().out.splitlines()[1] == "cancelled"
    assert client("resume", gated, url=service.url) == 0
    assert capsys.readouterr().out.startswith(f"job {gated} is queued; 0/12 trials are kept\n")
    assert client("resume", gated, url=service.url) == 2
    assert "only a failed or cancelled job can be resumed" in capsys.readouterr().err


def test_followed_without_a_terminal(client: Client, service: Scene, gated: int, capsys: Capture):
    service.gate.touch()
    assert client("show", gated, "--follow", url=service.url) == 3
    printed = capsys.readouterr()
    assert "Nothing was proven better" in printed.out
    assert "12/12 trials, 0 failed, best +0 (trial " in printed.err
    assert "\x1b" not in printed.out + printed.err


def test_ctrl_c_leaves_the_job_alone(service: Scene, gated: int):
    with on_terminal(service.user(), "show", gated) as run:
        run.sees("no best yet")
        run.interrupt()
        assert run.ends() == 130
        run.sees(f"rocktune: job {gated} continues")
        assert run.shown.endswith(b"\r\n")
        assert b"\x1b[?25h" in run.shown  # the cursor is back
    assert service.job(gated)["state"] == "running"


@pytest.mark.slow
def test_a_live_view_outlives_a_restart_of_the_service(tmp_path: Path):
    with serving(tmp_path) as service:
        job_id = service.submitted("gated", trials=12)
        service.until(job_id, "running")
        with on_terminal(service.user(), "show", job_id) as run:
            run.sees("no best yet")
            assert service.process.stop() == 0
            run.sees(": Connection refused; trying again")
            port = service.url.rpartition(":")[2]
            service.process = service.desk.start("serve", f"--port={port}")
            run.sees("the service answers again")
            service.gate.touch()
            assert run.ends() == 3
            run.sees("Nothing was proven better")
            assert bytes(run.shown).count(b"trying again") == 1
