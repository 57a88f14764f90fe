"""What a winner's explanation says of effects that are known."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.explained import Explanation
from optimizer.explanation import explain_winner
from optimizer.objective.objective import Limit
from optimizer.trials.trial import Purpose
from sampler.space.space import Space
from sampler.space.space_file import space_from_document
from tests.support.optimizer.known_effects import (
    additive,
    effects_space,
    fitness,
    history_of,
    problem,
)
from tests.support.optimizer.pretend_bench import trial_of

WINNER = {
    "much": 0.9, "some": 0.8, "idle": 0.7, "lazy": 0.4, "inert": 0.9, "little": "on", "dull": True,
}  # fmt: skip
NOISE = 10.0  # about the standard error of a proof of seven pairs
INERT = {"idle", "lazy", "inert", "dull"}


@pytest.fixture(scope="module")
def found() -> Explanation:
    asked = problem()
    explanation = explain_winner(
        Evaluation(asked, history_of(asked, additive)), WINNER, error=NOISE
    )
    assert explanation is not None
    return explanation


@pytest.mark.slow
def test_the_path_has_the_true_order_and_sizes(found: Explanation):
    assert [step.names for step in found.steps[:3]] == [["much"], ["some"], ["little"]]
    asked, made = problem(), dict(effects_space().default_configuration())
    before = 0.0
    for step in found.steps:
        made |= {name: WINNER[name] for name in step.names}
        after = fitness(additive, asked, made)
        assert step.gain.expected == pytest.approx(after - before, abs=15)
        assert step.gain.low - 5 <= after - before <= step.gain.high + 5
        assert step.fitness.expected == pytest.approx(after, abs=20)
        before = after
    waf = found.steps[0].metrics["waf"]
    assert waf.low < -36 < waf.high  # exp(-0.45) - 1
    assert waf.high - waf.low < 10


def test_its_steps_add_up_to_what_the_winner_gains(found: Explanation):
    total = sum(step.gain.expected for step in found.steps)
    assert total == pytest.approx(found.predicted.expected)
    assert found.steps[-1].fitness == found.predicted
    names = [name for step in found.steps for name in step.names]
    assert sorted(names) == sorted(WINNER)


def test_just_what_does_nothing_is_left_out(found: Explanation):
    minimal = found.minimal
    assert minimal is not None
    assert set(minimal.dropped) == INERT
    assert minimal.kept == ["much", "some", "little"]
    default = effects_space().default_configuration()
    assert minimal.configuration == WINNER | {name: default[name] for name in INERT}
    assert minimal.loss.expected <= minimal.noise


@pytest.mark.slow
def test_a_loss_beyond_the_noise_is_not_taken():
    """However noisy the proof was: a tenth of the gain is the most."""
    asked = problem()
    history = history_of(asked, additive)
    loud = explain_winner(Evaluation(asked, history), WINNER, error=1e6)
    assert loud is not None and loud.minimal is not None
    assert loud.minimal.noise == pytest.approx(0.1 * loud.predicted.expected)
    assert {"much", "some"} <= set(loud.minimal.kept)


def test_the_doubt_is_that_of_the_trials(found: Explanation):
    """Few and noisy trials: the true size is still within the interval, which is far wider."""
    asked = problem()
    history = history_of(asked, additive, draws=40, noise=0.1)
    loud = explain_winner(Evaluation(asked, history), WINNER, error=NOISE)
    assert loud is not None
    truth = fitness(additive, asked, WINNER)
    assert loud.predicted.low <= truth <= loud.predicted.high
    quiet = found.predicted
    assert loud.predicted.high - loud.predicted.low > 4 * (quiet.high - quiet.low)


@pytest.mark.slow
def test_what_only_the_winner_has_moved_gets_what_the_others_leave():
    """No draw tells what `inert` does, but the winner is better than all the others explain."""

    def truth(configuration: Mapping[str, Any]) -> dict[str, float]:
        found = additive(configuration)
        return found | {"waf": found["waf"] * (0.7 if configuration["inert"] > 0 else 1.0)}

    asked = problem()
    history = history_of(asked, additive, draws=60)
    for trial in history.of(Purpose.CANDIDATE):
        still = {**trial.configuration, "inert": 0.0}
        history.put(replace(trial, configuration=still, point=None))
    number = history.next_number
    for place in range(8):
        again = trial_of(number + place, truth(WINNER), configuration=WINNER)
        history.put(replace(again, purpose=Purpose.PROVE))
    found = explain_winner(Evaluation(asked, history), WINNER, error=NOISE)
    assert found is not None and found.minimal is not None
    (gain,) = [step.gain for step in found.steps if step.names == ["inert"]]
    assert gain.expected > 0.5 * (fitness(truth, asked, WINNER) - fitness(additive, asked, WINNER))
    assert "inert" in found.minimal.kept


@pytest.mark.slow
def test_a_limit_that_the_winner_keeps_is_kept():
    """`dull` gains nothing, and without it writes are too slow."""

    def slow(configuration: Mapping[str, Any]) -> dict[str, float]:
        return additive(configuration) | {"write_p99": 50.0 if configuration["dull"] else 100.0}

    asked = problem()
    limited = replace(asked.objective, limits=(Limit("write_p99", at_most_baseline=0.75),))
    asked = replace(asked, objective=limited)
    found = explain_winner(Evaluation(asked, history_of(asked, slow)), WINNER, error=NOISE)
    assert found is not None and found.minimal is not None
    assert set(found.minimal.dropped) == INERT - {"dull"}


@pytest.mark.slow
def test_a_winner_that_the_models_hold_for_worse_has_no_minimal_one():
    asked = problem()

    def costly(configuration: Mapping[str, Any]) -> dict[str, float]:
        return {name: 1 / value for name, value in additive(configuration).items()}

    found = explain_winner(Evaluation(asked, history_of(asked, costly)), WINNER, error=NOISE)
    assert found is not None
    assert found.predicted.expected < 0
    assert found.minimal is None


def fixed_space() -> Space:
    rows = [
        {"name": "much", "type": "float", "low": 0.0, "high": 1.0, "default": 0.0},
        {"name": "idle", "type": "float", "low": 0.0, "high": 1.0, "default": 0.0},
    ]
    return space_from_document(
        {"name": "fixed", "fixed": {"compaction_style": "universal"}, "parameter": rows}
    )


def test_what_the_space_fixes_is_a_step_of_its_own():
    """It is in every trial; that the baseline lacks it is all that tells its effect."""
    asked = problem(fixed_space())

    def truth(configuration: Mapping[str, Any]) -> dict[str, float]:
        style = configuration.get("compaction_style", "level") == "universal"
        return {"waf": 3.0 * (0.7 if style else 1.0) * (1 - 0.3 * configuration["much"]),
                "sa": 1.2, "time": 10.0, "rate": 1e5}  # fmt: skip

    winner = {"compaction_style": "universal", "much": 0.9, "idle": 0.8}
    history = history_of(asked, truth)
    assert history[1].configuration.get("compaction_style", "level") == "level"
    found = explain_winner(Evaluation(asked, history), winner, error=NOISE)
    assert found is not None
    assert [step.fixed for step in found.steps[:2]] == [True, False]
    assert [step.names for step in found.steps[:2]] == [["compaction_style"], ["much"]]
    assert found.steps[0].gain.expected == pytest.approx(300, abs=30)
    assert found.minimal is not None
    assert found.minimal.configuration["compaction_style"] == "universal"
    assert found.minimal.dropped == ["idle"]


def test_a_baseline_outside_of_the_space_is_told_from_it():
    """The codec that the baseline has is no choice of the space, and all others are better."""
    rows = [
        {"name": "compression_type", "choices": ["none", "zstd"]},
        {"name": "wal_bytes_per_sync"},
        {"name": "max_background_jobs", "low": 4, "high": 16},
    ]
    asked = problem(space_from_document({"name": "codecs", "parameter": rows}))

    def truth(configuration: Mapping[str, Any]) -> dict[str, float]:
        packed = {"none": 1.0, "zstd": 0.8, "snappy": 1.2}[configuration["compression_type"]]
        slow = 1.3 - 0.3 * (configuration["max_background_jobs"] - 2) / 14
        return {"waf": 3 * packed, "sa": 1.2, "time": 10 * slow, "rate": 1e5}

    winner = {"compression_type": "zstd", "wal_bytes_per_sync": 2**22, "max_background_jobs": 16}
    found = explain_winner(
        Evaluation(asked, history_of(asked, truth, draws=40)), winner, error=NOISE
    )
    assert found is not None and found.minimal is not None
    gains = {tuple(step.names): step.gain.expected for step in found.steps}
    assert gains["compression_type",] == pytest.approx(333, abs=60)
    assert gains["max_background_jobs",] == pytest.approx(230, abs=60)
    assert found.minimal.dropped == ["wal_bytes_per_sync"]
