"""The tuning run: gives every free host its next trial, keeps what comes, until none is left."""

from collections.abc import Sequence
from datetime import datetime
from importlib import import_module

from optimizer.results.result import Conclusion
from optimizer.run.driver import Driver
from optimizer.run.ports import ControllerStops, Hosts, LeaseLost

_TICK_SECONDS = 0.25
# So long a job waits for another host before it readmits an excluded one, or ends without any.
ALONE_SECONDS = 300.0


class NoHostCanMeasure(RuntimeError):
    """Hosts are there, and the baseline fails on every one of them."""


def tune(driver: Driver, hosts: Hosts) -> Conclusion:
    """Runs what is left of a job on its hosts, and judges it.

    Raises:
        InputError: The baseline cannot be measured, or the machine cannot run a trial.
        LeaseLost: Another controller has taken the job over.
        NoHostCanMeasure: None of the hosts that are there can measure even the baseline.
    """
    idle_since: datetime | None = None
    try:
        driver.resume(hosts.attach)
        while _begin_all(driver, hosts) or not driver.complete():
            idle_since = _waiting_since(driver, hosts.hosts(), idle_since)
            ended = hosts.wait(_TICK_SECONDS)
            if ended is None:
                driver.observer.tick()
            else:
                driver.tell_ended(ended, hosts.hosts())
        hosts.leave()
    except (LeaseLost, ControllerStops):
        hosts.leave()
        raise
    except BaseException:
        hosts.cancel()
        raise
    return driver.conclude()


def _begin_all(driver: Driver, hosts: Hosts) -> int:
    """Begins a trial on every free host that has one; how many were begun."""
    begun, there = 0, driver.admitted(hosts.hosts())
    for host in there:
        if driver.state(host).trial is None and (trial := driver.ask(host, there)):
            hosts.start(trial, host=host, cutoff_seconds=driver.cutoff(trial))
            begun += 1
    return begun


def _waiting_since(
    driver: Driver, there: Sequence[str], since: datetime | None
) -> datetime | None:
    """Since when nothing is in flight though hosts are there; None: that is not so.

    After ``ALONE_SECONDS`` hosts that are all excluded are readmitted.

    Raises:
        NoHostCanMeasure: They are not excluded, and the baseline fails on them.
    """
    if driver.busy or not there:
        return None
    now = driver.now()
    since = min(since or now, now)  # a clock may be set back
    if (now - since).total_seconds() < ALONE_SECONDS:
        return since
    if all(driver.state(host).excluded is not None for host in there):
        for host in there:
            driver.readmit(host)
        return None
    failed = driver.withdraw_failed_baselines(there)
    said = f"the baseline fails: {failed[-1].failure}" if failed else "the reason is unknown"
    raise NoHostCanMeasure(
        f"no connected host can continue ({', '.join(there)}): {said}; "
        "fix it or connect another host, then resume the job"
    )


MODULES = (
    "deap.benchmarks.tools",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.metrics",
    "sklearn.model_selection",
    "statsmodels.nonparametric.smoothers_lowess",
)


def load_libraries() -> None:
    """Loads them now: for whoever is about to hold what others wait for."""
    for module in MODULES:
        import_module(module)
