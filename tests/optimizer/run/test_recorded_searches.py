"""Jobs that draw as they drew when they were recorded; the script compares all strategies."""

import json

import pytest

from tests.support.optimizer.recorded_searches import (
    RECORDED,
    WITHOUT_MODELS,
    differences,
    hashes,
    one_host,
)

pytestmark = pytest.mark.usefixtures("unranked")
_DRAWN = 40  # trials, before the models of simplified versions come in


@pytest.mark.slow
@pytest.mark.parametrize("strategy", WITHOUT_MODELS)
def test_the_same_seed_proposes_the_same_trials(strategy: str):
    before = json.loads(RECORDED.read_text())[strategy]["trials"]
    assert "".join(hashes(one_host(strategy).history)[:_DRAWN]) == before[: 4 * _DRAWN]


def test_the_first_trial_that_is_another_is_named():
    before = {"trials": "aaaabbbbcccc", "winner": 2, "result": {"best": "1", "plan": "1"}}
    now = {"trials": "aaaabbbbdddd", "winner": 3, "result": {"best": "2", "plan": "1"}}
    assert differences(before, before) == []
    assert differences(before, now) == [
        "trial 3 is another (3 and 3 trials)",
        "the winner is 3 and was 2",
        "in result.json: best",
    ]
