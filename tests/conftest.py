"""What the tests of several rooms share: databases, the real db_bench, a bench folder."""

import gc
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from functools import partial
from multiprocessing.util import Finalize
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from jobs.queue.service_settings import CONFIGURED_LIBRARIES
from optimizer.strategies.registry import load_libraries
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe
from sampler.bench.settings import Settings
from tests.support import AT_ONCE
from tests.support.db.databases import *  # noqa: F403
from tests.support.db.databases import _server_url, _sqlite_template  # noqa: F401
from tests.support.made_once import FOLDER
from tests.support.sampler.no_neighbours import no_neighbours

# How long an example takes is the machine's matter: it may be measuring beside the tests. Every
# run draws the same examples, so that none fails by chance; `--hypothesis-seed` draws others.
for _profile, _same, _examples in (
    ("rocktune", True, 50),
    ("quick", True, 20),
    ("drawn", False, 100),
):
    hypothesis_settings.register_profile(
        _profile,
        max_examples=_examples,
        deadline=None,
        derandomize=_same,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
hypothesis_settings.load_profile("rocktune")
os.environ.pop("COLUMNS", None)  # how wide the terminal of whoever runs the tests is

# What this machine's user has fetched is none of the tests' business; processes inherit it.
os.environ["ROCKTUNE_BUILD_DIR"] = os.devnull
os.environ.update(AT_ONCE)

# A shell without job control starts what it puts in the background deaf to Ctrl-C, and with it all
# that the tests start to interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fixtures that need a program of the system, or seconds: a service and commands of their own.
NEEDS = {
    "_server_url": "postgres",
    "browser": "chromium",
    "installed": "db_bench",
    "service": "slow",
    "zygote": "slow",
}


def _needed(item: pytest.Function) -> set[str]:
    names = set(item.fixturenames)
    needed = {NEEDS[name] for name in names & NEEDS.keys()}
    # Tests of the store run on both databases, each time with the parameter of one.
    drawn = getattr(item, "callspec", None)
    if drawn is not None and "postgresql" in map(str, drawn.params.values()):
        needed.add("postgres")
    return needed


def _says_the_same_again(item: pytest.Function) -> bool:
    return bool(item.get_closest_marker("one_database") and item.get_closest_marker("postgres"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    """Marks what needs a program of the system; and mixes the files for tests beside each other.

    Files that wait for processes (``slow``) and files that compute take turns: while a worker
    waits others compute.
    """
    for item in items:
        for mark in _needed(item):
            item.add_marker(mark)
    whole = config.getoption("--whole", default=False)
    left_out = {
        item
        for item in items
        if _says_the_same_again(item) or (whole and "whole" not in item.fixturenames)
    }
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    # Backwards: tests of whole services, the longest of all, are not the last that is waited for.
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    waiting = sorted(slow, reverse=True)
    computing = sorted({item.path for item in items} - set(waiting))
    place = {
        path: (index + 0.5) / len(part)
        for part in (waiting, computing)
        for index, path in enumerate(part)
    }
    items.sort(key=lambda item: (place[item.path], item.path))


def pytest_configure(config: pytest.Config) -> None:
    """Names the folder of what is made once a run; processes that run tests beside inherit it."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="rocktune-made-once-")
        config.add_cleanup(partial(shutil.rmtree, os.environ[FOLDER]))


def pytest_collection_finish() -> None:
    """What thousands of tests were collected from stays: no collection of garbage looks at it.

    With it what jobs load when they come to it, or the first test that does would pay for all.
    """
    load_libraries()
    _log_plainly()
    gc.collect()
    gc.freeze()


def _log_plainly() -> None:
    """A logged exception is plain text: to draw the stack of a request would take seconds."""
    *others, _ = structlog.get_config()["processors"]
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*others, plain])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--whole", action="store_true",
        help="only tests of combinations, and of these all: the tests else try each value once",
    )  # fmt: skip


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether every combination is tried: `make prove-combinations`."""
    return bool(request.config.getoption("--whole"))


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_open() -> Iterator[None]:
    """What the tests of a file leave open fails there, not in a test that garbage is found in."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """A command that configures the logs of its process, as `serve` does, does so for its test."""
    configured = structlog.get_config()
    loggers = [logging.getLogger(name) for name in ("", *CONFIGURED_LIBRARIES)]
    before = [(each, each.handlers[:], each.level, each.propagate) for each in loggers]
    yield
    structlog.configure(**configured)
    for logger, handlers, level, propagate in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What killed processes leave in the system's temporary folder is removed in the end."""
    tmp_path_factory.getbasetemp()  # pytest's own stays where it is
    made = tempfile.mkdtemp(prefix="rocktune-tests-")
    # After multiprocessing, at its own end, has removed what it has there.
    Finalize(None, shutil.rmtree, args=(made, True), exitpriority=-200)
    with pytest.MonkeyPatch.context() as patch:
        Path(made).chmod(0o1777)  # servers run as another user
        patch.setenv("TMPDIR", made)
        patch.setattr(tempfile, "tempdir", made)
        yield


@pytest.fixture(scope="session", autouse=True)
def alone() -> Iterator[None]:
    """Trials do not read what each process of the machine does; tests of that reading do."""
    with no_neighbours():
        yield


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """Commands that run in this process handle signals; the next test must not inherit that."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def installed() -> InstalledDbBench:
    return probe(find_db_bench("db_bench"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        db_bench="db_bench",
        bench_dir=tmp_path / "bench",
        lock=tmp_path / "host.lock",
        free_bytes=0,
    )
