import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.bench.command_bench import last_line_metrics
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.rocksdb.options_file import CF, parse_options
from sampler.space.space import Configuration
from sampler.space.space_file import space_from_document
from sampler.workload.metric_table import MACHINE
from tests.support.sampler.real_runs import command_bench

Run = Callable[..., Outcome]


@pytest.fixture
def run(settings: Settings) -> Run:
    """Runs a command of one's own as a trial; only its own metrics are kept."""

    def measure(*argv: str, configuration: Configuration | None = None, scale: int = 1) -> Outcome:
        bench = command_bench(*argv, scale=scale)
        found = LocalRunner(bench, settings).run(configuration or {})
        own = {name: value for name, value in found.metrics.items() if name not in MACHINE}
        return dataclasses.replace(found, metrics=own)

    return measure


def test_the_last_line_is_the_measurement(run: Run):
    outcome = run("sh", "-c", """echo hello; echo; echo '{"waf": 2, "rate": 1e4}'""")
    assert outcome.state is TrialState.DONE
    assert outcome.metrics == {"waf": 2.0, "rate": 10_000.0}
    assert all(isinstance(value, float) for value in outcome.metrics.values())


@pytest.mark.parametrize(
    ("printed", "fragment"),
    [
        ("", "the last line is not a JSON object of metrics: ''"),
        ("waf = 2", "the last line is not a JSON object of metrics: 'waf = 2'"),
        ("[2, 3]", "the last line is not a JSON object"),
        ("{}", "the last line is not a JSON object"),
        ("null", "the last line is not a JSON object"),
        ('{"waf": 2}\ngoodbye', "the last line is not a JSON object of metrics: 'goodbye'"),
        ('{"waf": 2', "the last line is not a JSON object"),
        ('{"waf": NaN}', "metric 'waf' is not a finite number: nan"),
        ('{"waf": -Infinity}', "metric 'waf' is not a finite number: -inf"),
        ('{"waf": 1e999}', "metric 'waf' is not a finite number: inf"),
        ('{"waf": "2"}', "metric 'waf' is not a finite number: '2'"),
        ('{"waf": [2]}', "metric 'waf' is not a finite number: [2]"),
        ('{"waf": null}', "metric 'waf' is not a finite number: None"),
        ('{"waf": true}', "metric 'waf' is not a finite number: True"),
        ('{"waf": 1, "sa": {}}', "metric 'sa' is not a finite number"),
        ('{"waf": ' + "9" * 400 + "}", "metric 'waf' is not a finite number: 9999"),
        ('{"waf": ' + "9" * 9000 + "}", "the last line is not a JSON object"),
        ("[" * 100_000, "the last line is not a JSON object"),
    ],
)
def test_a_last_line_that_is_no_measurement_is_told(printed: str, fragment: str):
    with pytest.raises(ValueError) as refused:
        last_line_metrics(printed)
    assert fragment in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("""echo '{"waf": NaN}'""", "metric 'waf' is not a finite number: nan"),
        # A good last line does not excuse a bad exit.
        ("""echo '{"waf": 2}'; echo disk broke >&2; exit 1""", "disk broke"),
        (r"printf '\377\376\000'", "the last line is not a JSON object"),
    ],
)
def test_without_a_measurement_a_trial_failed_with_that_reason(script: str, why: str, run: Run):
    outcome = run("sh", "-c", script)
    assert (outcome.state, outcome.metrics) == (TrialState.FAILED, {})
    assert outcome.failure is not None and outcome.failure.startswith(why)


@given(st.text())
def test_whatever_was_printed_is_finite_numbers_or_refused(printed: str):
    try:
        metrics = last_line_metrics(printed)
    except ValueError as refused:
        assert str(refused)
    else:
        assert metrics and all(abs(value) < float("inf") for value in metrics.values())


@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_any_object_of_finite_numbers_is_a_measurement(metrics: dict[str, float]):
    assert last_line_metrics("noise\n" + json.dumps(metrics) + "\n\n") == metrics


PROGRAM = """
import json, pathlib, sys
configuration, options, directory = map(pathlib.Path, sys.argv[1:4])
asked = json.loads(configuration.read_text())
assert not list(directory.iterdir())
(directory / "some file").write_text("a benchmark may write here")
lines = [line.strip() for line in options.read_text().splitlines()]
written = dict(line.split("=", 1) for line in lines if "=" in line)
print(json.dumps({"asked": asked["write_buffer_size"],
                  "written": int(written["write_buffer_size"]),
                  "pairs": sys.argv[4].count("configuration.json")}))
"""


def test_placeholders_name_what_the_command_needs(run: Run):
    outcome = run(
        sys.executable, "-c", PROGRAM, "{configuration}", "{options}", "{directory}",
        "--pair={configuration}:{configuration}",
        configuration={"write_buffer_size": 32 * 2**20}, scale=64,
    )  # fmt: skip
    assert outcome.failure is None
    assert outcome.metrics == {"asked": 32 * 2**20, "written": 2**19, "pairs": 2.0}
    assert outcome.effective == {"write_buffer_size": 32 * 2**20}


def test_other_braces_are_left_alone(run: Run):
    assert run("echo", '{"{": 1, "{other}": 2}').metrics == {"{": 1.0, "{other}": 2.0}


def test_the_user_s_environment_reaches_the_command(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANSWER", "42")
    assert run("sh", "-c", """echo "{\\"answer\\": $ANSWER}" """).metrics == {"answer": 42.0}


def test_a_parameter_of_one_s_own_is_in_the_configuration_and_in_no_options_file(
    bench_folder: Path,
):
    rows = [
        {"name": "batch", "type": "int", "low": 1, "high": 64},
        {"name": "write_buffer_size"},
    ]
    space = space_from_document({"name": "own", "parameter": rows})
    bench = command_bench("true")
    bench = dataclasses.replace(bench, plan=dataclasses.replace(bench.plan, space=space))
    asked = {"batch": 8, "write_buffer_size": 16 * 2**20}
    bench.prepare(asked, bench_folder)
    assert json.loads((bench_folder / "configuration.json").read_text()) == asked
    written = parse_options((bench_folder / "OPTIONS.ini").read_text())
    assert written.get(CF, "write_buffer_size") == str(16 * 2**20)
    assert not any("batch" in keys for keys in written.sections.values())


def test_a_program_beside_the_user_is_found_by_its_path(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    script = tmp_path / "bench.sh"
    script.write_text("#!/bin/sh\necho '{\"waf\": 3}'\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert run("./bench.sh").metrics == {"waf": 3.0}
    assert dataclasses.asdict(run(str(script)))["metrics"] == {"waf": 3.0}
