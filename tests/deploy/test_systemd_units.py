import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.cluster.command_lines import DEPLOY, not_taken
from tests.support.jobs.service_desk import ROCKTUNE

INSTALLED = "/opt/rocktune/.venv/bin/rocktune"
UNITS = sorted(DEPLOY.glob("*.service"))
CLUSTER = {"rocktune-scheduler", "rocktune-host", "rocktune-controller"}


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


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path) -> None:
    """With systemd's own check, where it is installed, and by its grammar where it is not."""
    if shutil.which("systemd-analyze") is None:
        configparser.RawConfigParser(strict=False).read_string(unit.read_text())
        return
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace(INSTALLED, str(ROCKTUNE)))
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")


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
