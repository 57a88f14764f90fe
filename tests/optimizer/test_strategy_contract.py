"""Every strategy under the contract."""

import pytest
from pretend_bench import STRATEGY_NAMES
from strategy_contract import StrategyContract

pytestmark = pytest.mark.usefixtures("quick_ranking")


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
class TestAlwaysThere(StrategyContract):
    """What rocktune brings by itself."""
