import json
import sys
from pathlib import Path

import pytest

from cli.main import main
from jobs.autotune.request import configured
from sampler.bench.command_bench import last_line_metrics
from sampler.bench.host_lock import MARK
from sampler.common.errors import InputError
from sampler.space.space import default_values
from sampler.space.space_file import load_space
from sampler.workload.workload_file import load_workload
from tests.support.jobs.small_wave import ASKED

SMALL = ["autotune", "--seconds", "0.6", "--low", "2MB", "--high", "8MB", "--value-size", "2000",
         "--read-seconds", "0.05", "--no-direct-reads"]  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(tmp_path / "bench"))
    monkeypatch.setenv("ROCKTUNE_LOCK", str(tmp_path / "lock"))


@pytest.mark.slow
def test_policies_are_compared_and_plotted(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    given = [*SMALL, "--policy", "off", "--policy", "duty", "--out", str(tmp_path / "out")]
    assert main(given) == 0
    printed = capsys.readouterr().out
    for words in ("write amplification", "insertion rate", "recovery time", "level 0", "duty"):
        assert words in printed
    kept = json.loads((tmp_path / "out" / "autotune.json").read_text())
    assert [run["asked"]["policy"] for run in kept["runs"]] == ["off", "duty"]
    assert 'class="shaded"' in (tmp_path / "out" / "off.svg").read_text()
    assert (tmp_path / "out" / "autotune.html").stat().st_size > 10**6
    assert list((tmp_path / "bench").iterdir()) == []


def test_metrics_are_what_a_command_workload_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Within a trial the host is held already: to wait for it would be to wait forever.
    monkeypatch.setenv(MARK, "a-trial")
    monkeypatch.setenv("ROCKTUNE_LOCK", str(tmp_path))  # no file: it cannot be locked
    file = tmp_path / "configuration.json"
    file.write_text(json.dumps({"policy": "duty", "full_mark": 1.5}))
    assert main([*SMALL, "--metrics", "--configuration", str(file)]) == 0
    found = last_line_metrics(capsys.readouterr().out)
    assert set(found) == {"waf", "sa", "time", "rate", "read_rate"}
    assert found["time"] >= 0.6


def test_the_space_holds_what_the_tuner_takes_and_its_defaults_are_the_marks() -> None:
    space = load_space("warlo")
    values = {p.name: p.default for p in space.parameters}
    assert not set(values) & set(default_values("library"))
    run = configured(ASKED, values)
    assert run.policy == "tuned"
    assert (run.marks.low, run.marks.high, run.marks.full) == (0.5, 0.9, 1.0)
    assert run.marks.step == pytest.approx(10 * ASKED.shape.factor)


def test_a_mark_that_no_float_can_hold_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="configuration low_mark"):
        configured(ASKED, {"low_mark": 10**400})


def test_the_shipped_command_is_the_python_that_runs_rocktune(tmp_path: Path) -> None:
    from jobs.execution.assembly import assemble
    from jobs.specification.named_files import specify
    from sampler.bench.settings import load_settings

    assembly = assemble(specify(workload="warlo-command", space="warlo"), load_settings())
    argv = assembly.benchmark.prepare({"policy": "duty"}, tmp_path)
    assert argv[0] == sys.executable
    assert json.loads(Path(argv[-1]).read_text()) == {"policy": "duty"}
    assert load_workload("warlo-command").command.argv[0] == "{python}"  # on any machine


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--policy", "auto"], "--policy: 'auto' is not one of on, lifted, off, tuned, duty"),
        (["--shape", "500"], "--shape: '500' is not one of 350, 700, 1000"),
        (["--seconds", "0"], "--seconds"),
        (["--low", "9MB"], "--low"),
        (["--capacity", "0"], "--capacity"),
        (["--metrics", "--policy", "on", "--policy", "off"], "--metrics: works with one run"),
        (["--configuration", "nowhere.json"], "--configuration: cannot read"),
    ],
)
def test_bad_input_is_told_in_one_line(
    given: list[str], said: str, capsys: pytest.CaptureFixture
) -> None:
    assert main([*SMALL, *given]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_configuration_of_other_parameters_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    file = tmp_path / "configuration.json"
    file.write_text('{"write_buffer_size": 1}')
    assert main([*SMALL, "--configuration", str(file)]) == 2
    assert "write_buffer_size" in capsys.readouterr().err


def test_without_the_binding_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    assert main([*SMALL, "--policy", "on"]) == 2
    assert "rocktune[tuner]" in capsys.readouterr().err
