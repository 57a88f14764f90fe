"""A small version of `make prove-recovery`: an application counts what its profile tells."""

import pytest

from sampler.bench.settings import Settings
from studies.recovery.applications import (
    Application,
    Family,
    make_application,
    one_size,
    recovered_application,
    uneven,
)
from studies.recovery.making import STATISTICS
from studies.recovery.page import Figure, figures_of

KIB = 2**10


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Figure]]:
    """By family and name, of three families in one database."""
    pytest.importorskip("rocksdict")
    families = {
        "default": Family(40_000, 5000, uneven, buffer=256 * KIB, gets=100),
        "ranges": Family(60_000, 4000, one_size(120), ranges=200, width=40, buffer=256 * KIB),
        "blobs": Family(2000, 100, one_size(8192), blobs_from=4096, buffer=64 * KIB, seeks=50),
    }
    application, work = Application("small", families, rounds=10), tmp_path_factory.mktemp("work")
    kept = make_application(application, work)
    assert {path.name for path in kept.iterdir()} >= {"LOG", STATISTICS, "truth.json"}
    assert make_application(application, work) == kept  # it is not made again
    (row,) = recovered_application(application, kept, Settings())
    return {family: {each.name: each for each in told} for family, told in figures_of(row)}


pytestmark = pytest.mark.slow


def test_the_mix_of_the_database_has_its_reads(figures: dict[str, dict[str, Figure]]) -> None:
    mix = figures["default"]["mix"]
    assert {name for name, share in mix.true.items() if share} == {"put", "delete", "get", "seek"}
    assert mix.verdict == "within"


@pytest.mark.parametrize("family", ["default", "ranges", "blobs"])
def test_sizes_of_keys_and_values(figures: dict[str, dict[str, Figure]], family: str) -> None:
    told = figures[family]
    assert (told["key_size"].verdict, told["value_size"].verdict) == ("within", "within")


@pytest.mark.parametrize("family", ["default", "ranges"])
def test_compressibility(figures: dict[str, dict[str, Figure]], family: str) -> None:
    assert figures[family]["compression_ratio"].error == pytest.approx(0, abs=0.1)


def test_write_amplification_is_that_of_rocksdbs_counters(
    figures: dict[str, dict[str, Figure]],
) -> None:
    assert figures["default"]["waf"].error == pytest.approx(0, abs=0.05)


def test_overwrites_that_range_deletes_hide_are_no_figure(
    figures: dict[str, dict[str, Figure]],
) -> None:
    assert figures["ranges"]["overwrite_share"].verdict != "off"
    assert figures["default"]["overwrite_share"].error == pytest.approx(0, abs=0.05)
