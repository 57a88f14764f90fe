"""``--minutes`` with several hosts, of which some leave."""

from __future__ import annotations

import math

import pytest

from optimizer.run.driver import Driver, tune
from optimizer.run.planning import Budget
from optimizer.run.ports import ControllerStops
from optimizer.strategies.registry import find_strategy
from optimizer.trials.trial import Trial
from tests.support.optimizer.pretend_bench import ListLog, Watcher, problem_of
from tests.support.optimizer.pretend_hosts import PretendHost, PretendHosts

pytestmark = [pytest.mark.usefixtures("unranked", "unsimplified"), pytest.mark.slow]

MINUTES = 20.0


def leaving(gone: int, at: float, there: int = 10) -> PretendHosts:
    """So many hosts, of which some leave at the same time, in seconds."""
    until = [at] * gone + [math.inf] * (there - gone)
    return PretendHosts([PretendHost(f"h{i}", there=(0, end)) for i, end in enumerate(until)])


def timed(hosts: PretendHosts, log: ListLog | None = None, watcher: Watcher | None = None):
    problem = problem_of("random")
    driver = Driver(
        problem, Budget(minutes=MINUTES), find_strategy("random"), log or ListLog(),
        observer=watcher or Watcher(), now=hosts.now,
    )  # fmt: skip
    return tune(driver, hosts)


def test_where_nine_of_ten_leave_it_ends_nearly_in_time():
    hosts = leaving(9, 300)
    conclusion = timed(hosts)
    assert conclusion.verdict is not None
    assert MINUTES * 60 * 0.7 < hosts.seconds < MINUTES * 60 * 1.25


def test_where_all_stay_all_of_the_time_is_used():
    hosts = leaving(0, 0, there=3)
    timed(hosts)
    assert MINUTES * 60 * 0.8 < hosts.seconds < MINUTES * 60 * 1.15


def test_a_job_that_is_killed_and_goes_on_ends_as_late():
    class Stops(Watcher):
        def trial_started(self, trial: Trial) -> None:
            self.stop = trial.number >= 175

        def tick(self) -> None:
            if self.stop:
                raise ControllerStops

    whole, hosts, log = leaving(9, 300), leaving(9, 300), ListLog()
    timed(whole)
    with pytest.raises(ControllerStops):
        timed(hosts, log, Stops())
    hosts.seconds += 36_000  # nobody is there for ten hours, and that counts for nothing
    timed(hosts, log)
    assert abs(hosts.seconds - 36_000 - whole.seconds) < 0.1 * MINUTES * 60
