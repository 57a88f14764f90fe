import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.cli.launched import ROCKTUNE
from tests.support.cluster.command_lines import DEPLOY, not_taken

PAGE = (DEPLOY.parent / "docs/how-to/deploy.md").read_text()
INSTALLED = "/opt/rocktune/.venv/bin/rocktune"
UNITS = sorted(DEPLOY.glob("*.service"))
CLUSTER = {"rocktune-scheduler", "rocktune-host", "rocktune-controller"}
# Those whose control group db_bench runs in.
MEASURING = {"rocktune", "rocktune-worker", "rocktune-host", "rocktune-nightly"}
TIMERS = sorted(DEPLOY.glob("*.timer"))
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="no systemd-analyze here: apt-get install systemd",
)


def service(unit: Path) -> dict[str, list[str]]:
    """The settings of a unit's [Service], each with all its values."""
    found: dict[str, list[str]] = {}
    section = unit.read_text().partition("[Service]\n")[2].partition("\n[")[0]
    for line in section.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_there_is_a_unit_for_each_part_of_a_cluster() -> None:
    assert {unit.stem for unit in UNITS} >= CLUSTER


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_the_command_of_a_unit_is_one_that_we_have(unit: Path) -> None:
    (command,) = service(unit)["ExecStart"]
    program, *words = command.split()
    assert program == INSTALLED
    assert not_taken(words) == []


@needs_systemd
@pytest.mark.parametrize("unit", UNITS + TIMERS, ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path) -> None:
    for each in UNITS + TIMERS:
        (tmp_path / each.name).write_text(each.read_text().replace(INSTALLED, str(ROCKTUNE)))
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / unit.name)], capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_as_closed_as_the_page_says(unit: Path) -> None:
    (said,) = re.findall(rf"^\| `{unit.name}` \| .* \| ([\d.]+) \|$", PAGE, re.MULTILINE)
    looked_at = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", str(unit)],
        capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    (found,) = re.findall(r"exposure level for \S+: ([\d.]+)", looked_at.stdout)
    # Versions of systemd weigh the settings differently.
    assert float(found) == pytest.approx(float(said), abs=0.3)


@pytest.mark.parametrize("name", sorted(MEASURING))
def test_a_greedy_benchmark_is_a_failed_trial_and_not_the_end_of_the_unit(name: str) -> None:
    """systemd's default, ``OOMPolicy=stop``, ends the unit with any of its processes."""
    settings = service(DEPLOY / f"{name}.service")
    assert settings["OOMPolicy"] == ["continue"]
    assert settings["LimitNOFILE"] == ["1048576"]


def test_no_other_unit_runs_the_benchmark() -> None:
    others = {unit.stem for unit in UNITS} - MEASURING
    assert others == {"rocktune-scheduler", "rocktune-controller"}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_nobody_else_reads_what_a_unit_writes(unit: Path) -> None:
    settings = service(unit)
    assert settings["UMask"] == ["0077"]
    assert settings.get("StateDirectoryMode") == (
        ["0700"] if "StateDirectory" in settings else None
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_all_units_are_closed_in_the_same_way(unit: Path) -> None:
    first = (DEPLOY / "rocktune.service").read_text()
    closed = "UMask=" + first.partition("\nUMask=")[2].partition("\n[Install]")[0].rstrip("\n")
    assert closed.splitlines()[-1] == "CapabilityBoundingSet="
    assert closed in unit.read_text()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_who_measures_shares_the_lock_of_the_machine(unit: Path) -> None:
    """A dynamic user's /tmp is private whatever PrivateTmp says (systemd.exec(5))."""
    settings = service(unit)
    alone = settings.get("DynamicUser") == ["yes"]
    assert settings["PrivateTmp"] == (["yes"] if alone else ["no"])
    assert alone == (unit.stem in ("rocktune-scheduler", "rocktune-controller"))
    assert alone or "/tmp" in settings["ReadWritePaths"][0].split()


@pytest.mark.parametrize("name", sorted(CLUSTER))
def test_a_unit_of_a_cluster_comes_back_and_holds_its_own_key_alone(name: str) -> None:
    settings = service(DEPLOY / f"{name}.service")
    role = name.removeprefix("rocktune-")
    assert settings["Restart"] == ["always"]
    assert settings["LimitNOFILE"] == ["1048576"]
    assert settings["ProtectSystem"] == ["strict"]
    assert settings["NoNewPrivileges"] == ["yes"]
    loaded = [credential.partition(":")[0] for credential in settings["LoadCredential"]]
    assert loaded == ["authority.pem", f"{role}.pem"]
    assert settings["ExecStart"][0].endswith("--certificates ${CREDENTIALS_DIRECTORY}")


def test_a_host_writes_to_the_disk_that_is_tuned_for() -> None:
    unit = DEPLOY / "rocktune-host.service"
    settings = service(unit)
    (folder,) = (
        value.partition("=")[2]
        for value in settings["Environment"]
        if value.startswith("ROCKTUNE_BENCH_DIR=")
    )
    assert folder in settings["ReadWritePaths"][0].split()
    assert f"RequiresMountsFor={folder}\n" in unit.read_text()
