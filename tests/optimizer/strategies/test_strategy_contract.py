"""Every strategy under the contract; those of an extra where it is installed."""

import sys
from collections.abc import Iterator

import pytest

from optimizer.strategies.registry import EXTRAS, STRATEGIES, find_strategy, missing_extra
from sampler.common.errors import InputError
from tests.support.models.quick_ranking import no_simplified
from tests.support.optimizer.pretend_bench import STRATEGY_NAMES
from tests.support.optimizer.strategy_contract import StrategyContract

pytestmark = [pytest.mark.usefixtures("quick_ranking", "unranked"), pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def _nothing_simplified() -> Iterator[None]:
    """All new configurations are the strategy's: simplified versions are no strategy's matter."""
    with no_simplified():
        yield


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
class TestAlwaysThere(StrategyContract):
    """What rocktune brings by itself."""


def installed_or_not(strategy: str):
    extra = missing_extra(strategy)
    why = f"{strategy} needs the extra {extra}, which is not installed: see `make compare`"
    return pytest.param(strategy, marks=pytest.mark.skipif(extra is not None, reason=why))


@pytest.mark.parametrize("strategy", [installed_or_not(name) for name in EXTRAS])
class TestOfAnExtra(StrategyContract):
    """What an extra brings."""


def test_an_unknown_one_is_refused_with_the_names():
    with pytest.raises(InputError, match=r"^strategy: .*random, lhs, sobol, genetic"):
        find_strategy("annealing")


def test_there_are_no_others():
    # greedy waits, repeats itself whatever the seed and ends early: see test_greedy.
    assert {*STRATEGY_NAMES, "greedy", *EXTRAS} == STRATEGIES.keys()


@pytest.mark.parametrize("strategy", EXTRAS)
def test_one_that_is_not_installed_is_refused_with_the_mend(strategy: str, monkeypatch):
    extra, modules = EXTRAS[strategy]
    monkeypatch.setitem(sys.modules, modules[-1], None)
    with pytest.raises(InputError) as refused:
        find_strategy(strategy)
    mend = {
        "compare": "run `make compare`",
        "compare-gp": "run `make compare`, then "
        '`"$(scripts/uv.sh)" pip install --python .venv/bin/python "torch>=2.9"`',
    }[extra]
    assert str(refused.value) == f"strategy: {strategy} needs the extra {extra}; {mend}"
