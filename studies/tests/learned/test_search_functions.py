"""Test functions are what was recorded: as well as they say, and as noisy."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.errors import InputError
from studies.search.function import TestFunction, noise_of
from studies.search.functions import Functions, families_of
from studies.search.recorded import ARCHIVES, of_archive, read_recorded
from studies.search.truth import Tuned, learn, table_of, tune, unseen_r2
from tests.support import DATA

ARCHIVE = DATA / "reproduction_first_80.jsonl.gz"
SETTINGS = {"max_leaf_nodes": 8}


@pytest.fixture(scope="module")
def load():
    return read_recorded("load")


def trial_of(configuration, seed, purpose=Purpose.CANDIDATE):
    return Trial(
        number=1,
        phase=Phase.SAMPLE,
        purpose=purpose,
        seed=seed,
        configuration=configuration,
        digest="",
    )


def r2(truth, predicted):
    return 1 - np.sum((truth - predicted) ** 2) / np.sum((truth - truth.mean()) ** 2)


def test_the_load_is_read_in_the_catalogues_names(load):
    assert (len(load.runs), len(load.default_runs)) == (688, 27)
    codecs = {run.configuration["compression_type"] for run in load.runs}
    assert codecs == {"none", "snappy", "lz4", "zstd", "zlib", "lz4hc", "bzip2"}
    for run in load.runs:
        known = {p.name: p.values for p in load.space.parameters if p.values}
        assert all(run.configuration[n] in v for n, v in known.items() if n in run.configuration)
        assert ("compaction_pri" in run.configuration) == (
            run.configuration["compaction_style"] == "level"
        )
    first = load.runs[0].metrics
    assert first["waf"] == pytest.approx((61048943 + 130293395) / 105600000)
    assert first["sa"] == pytest.approx(49504858 / 105600000)


def test_a_recording_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(ARCHIVES, "mixed", tmp_path / "mixed.jsonl.gz")
    with pytest.raises(InputError, match=r"cannot read .*mixed\.jsonl\.gz"):
        read_recorded("mixed")


def test_an_archive_poses_its_problem_without_what_is_left_to_the_users():
    recorded = of_archive("paper", ARCHIVE)
    assert set(recorded.space.names) - set(recorded.problem.space.names) == {"threads"}
    assert len(recorded.default_runs) >= 3
    cut_off = [run for run in recorded.runs if "sa" not in run.metrics]
    assert cut_off and all({"time", "rate"} <= run.metrics.keys() for run in cut_off)
    held = learn(recorded, "none", {}).held
    assert held == {"threads": 1}


def test_the_truth_predicts_unseen_runs_as_well_as_it_says(load):
    said = unseen_r2(table_of(load), "waf", "boosting", SETTINGS)
    apart = [run.configuration != load.default and at % 3 == 0 for at, run in enumerate(load.runs)]
    seen = tuple(run for run, out in zip(load.runs, apart, strict=True) if not out)
    unseen = [run for run, out in zip(load.runs, apart, strict=True) if out]
    truth = learn(replace(load, runs=seen), "boosting", {"waf": Tuned(SETTINGS, said)})
    predicted = truth.logarithms([run.configuration for run in unseen])["waf"]
    measured = np.log([run.metrics["waf"] for run in unseen])
    assert said > 0.8
    assert r2(measured, predicted) == pytest.approx(said, abs=0.1)


def test_what_no_option_decides_is_not_predicted(load):
    rng = np.random.default_rng(1)
    runs = tuple(replace(run, metrics={"waf": np.exp(rng.normal())}) for run in load.runs)
    assert unseen_r2(table_of(replace(load, runs=runs)), "waf", "boosting", SETTINGS) < 0.05


def test_a_measurement_is_the_truth_with_the_scatter_of_the_defaults_runs(load):
    names = ["waf", "sa", "time", "rate"]
    noise = noise_of([run.metrics for run in load.default_runs], names)
    logs = {name: np.log([run.metrics[name] for run in load.default_runs]) for name in names}
    assert noise.scatter == pytest.approx({n: values.std(ddof=1) for n, values in logs.items()})
    function = TestFunction("", "", load.problem, learn(load, "none", {}), noise)
    runs = [function.measured(trial_of(load.default, seed), None) for seed in range(4000)]
    true = function.truth.metrics(load.default)
    errs = {n: np.log([run.metrics[n] for run in runs]) - np.log(true[n]) for n in names}
    for name in names:
        assert errs[name].std() == pytest.approx(noise.scatter[name], rel=0.1)
        assert abs(errs[name].mean()) < 0.1 * noise.scatter[name]
    # A run that is slow has a low rate: they are errors of one run.
    assert np.corrcoef(errs["time"], errs["rate"])[0, 1] < -0.9


def test_runs_of_one_configuration_are_never_on_both_sides_of_a_fold(load):
    rng = np.random.default_rng(2)
    draws = [run for run in load.runs if run.configuration != load.default][:120]
    noisy = {id(run): {"waf": float(np.exp(rng.normal()))} for run in draws}
    runs = tuple(replace(run, metrics=noisy[id(run)]) for run in draws for _ in range(5))
    default = tuple(replace(run, metrics={"waf": 1.0}) for run in load.default_runs)
    table = table_of(replace(load, runs=(*runs, *default)))
    assert unseen_r2(table, "waf", "boosting", SETTINGS) < 0.2


def test_where_no_option_matters_nothing_is_better(load):
    function = TestFunction("", "", load.problem, learn(load, "none", tune(load, "none")), None)
    drawn = [run.configuration for run in load.runs[:20]]
    assert function.fitness(drawn).tolist() == [0.0] * 20


def test_names_that_are_unknown_are_refused(tmp_path):
    with pytest.raises(InputError, match="'lode' is not one of load, paper"):
        Functions(tmp_path / "known.json", None).digest("lode", "boosting")
    with pytest.raises(InputError, match="'oak' is not one of boosting"):
        families_of("load", ("oak",))
    assert families_of("null", ("boosting", "forest")) == ("none",)
