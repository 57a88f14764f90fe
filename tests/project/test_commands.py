import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import ROOT

MAKEFILES = {name: (ROOT / name).read_text() for name in ("Makefile", "studies/Makefile")}
DESCRIBED = re.compile(r"^([a-z%-]+):.*## ", re.MULTILINE)
SCRIPTS = sorted(path for room in ("scripts", "studies") for path in (ROOT / room).rglob("*.sh"))


def run(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment}
    )


def goals(file: str, variable: str = ".PHONY:") -> set[str]:
    text = MAKEFILES[file].replace("\\\n", " ")
    (line,) = re.findall(rf"^{re.escape(variable)} (.+)$", text, re.MULTILINE)
    return {word for word in line.split() if word[0] != "$"}


@pytest.mark.parametrize(
    ("goal", "file"), [("help", "Makefile"), ("prove-help", "studies/Makefile")]
)
def test_help_names_every_goal(goal: str, file: str) -> None:
    listed = run("make", "--no-print-directory", goal, MAKEFLAGS="")
    assert listed.returncode == 0, listed.stderr
    named = [line.split()[1] for line in listed.stdout.splitlines()]
    assert named == DESCRIBED.findall(MAKEFILES[file])
    assert set(named) - {"prove-%"} == goals(file)


def test_help_is_the_default_and_short() -> None:
    listed = run("make", "--no-print-directory", MAKEFLAGS="").stdout
    assert listed == run("make", "--no-print-directory", "help", MAKEFLAGS="").stdout
    assert len(listed.splitlines()) <= 15


@pytest.mark.parametrize("goal", sorted(goals("studies/Makefile")))
def test_what_a_study_runs_is_there(goal: str) -> None:
    assert goal.startswith("prove-") or goal in goals("Makefile", "STUDIES :=")
    told = run("make", "--no-print-directory", "--dry-run", goal, MAKEFLAGS="")
    assert told.returncode == 0, told.stderr
    for module in re.findall(r" -m ((?:studies|benchmarks)[\w.]*)", told.stdout):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    for script in re.findall(
        r"^\t?((?:scripts|studies|drivers)/\S+\.sh)", told.stdout, re.MULTILINE
    ):
        assert os.access(ROOT / script, os.X_OK), script


def test_a_page_names_a_study_that_is_there_or_the_commit_that_has_it() -> None:
    """A page may say it once and then name the study without its commit."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        if page.name == "CHANGELOG.md":
            continue
        text = re.sub(r"\s+", " ", page.read_text())
        gone = set(re.findall(r"`make (prove-[a-z-]+)", text)) - goals("studies/Makefile")
        assert not gone or "at commit " in text, (page, gone)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_short_says_what_it_does_and_parses(script: Path) -> None:
    lines = script.read_text().splitlines()
    assert len(lines) <= 32
    assert lines[0] == "#!/bin/sh"
    assert lines[1].startswith("# ")
    assert os.access(script, os.X_OK)
    assert run("sh", "-n", str(script)).returncode == 0


def a_machine(folder: Path, **programs: str) -> str:
    """A PATH with a few ordinary programs and the given ones."""
    for name in ("sh", "id", "mktemp", "rm", "env", "grep", "head"):
        if name not in programs:
            (folder / name).symlink_to(shutil.which(name))
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        ({}, "there is no apt-get here"),
        ({"apt-get": "exit 0", "id": "echo 1000"}, "neither root nor sudo"),
        ({"apt-get": "exit 0", "id": "echo 1000", "sudo": "exit 1"}, "neither root nor sudo"),
        ({"apt-get": "echo 'E: no such package'; exit 100", "id": "echo 0"}, "E: no such package"),
    ],
)
def test_what_cannot_be_installed_is_told_in_one_line(
    tmp_path: Path, programs: dict[str, str], why: str
) -> None:
    done = run("scripts/install.sh", "rocksdb-tools", PATH=a_machine(tmp_path, **programs))
    assert done.returncode == 1
    assert done.stderr.removeprefix("installing the package rocksdb-tools\n") == (
        f"rocktune needs the package rocksdb-tools ({why}): "
        "run 'apt-get install rocksdb-tools' as root\n"
    )


@pytest.mark.parametrize(
    ("apt", "calls"),
    [("", ["install"]), ("grep -q update {calls}", ["install", "update", "install"])],
)
def test_lists_of_packages_are_read_anew_only_after_a_failure(
    tmp_path: Path, apt: str, calls: list[str]
) -> None:
    log = tmp_path / "calls"
    path = a_machine(
        tmp_path, **{"apt-get": f'echo "$@" >>{log}\n' + apt.format(calls=log), "id": "echo 0"}
    )
    assert run("scripts/install.sh", "thing", PATH=path).returncode == 0
    assert re.findall(r"install|update", log.read_text().replace("--no-install", "")) == calls


@pytest.mark.parametrize("service", ["exit 0", "echo 'no such service'; exit 1"])
def test_a_service_that_is_not_wanted_is_stopped_for_good(tmp_path: Path, service: str) -> None:
    log = tmp_path / "calls"
    said = {"apt-get": "exit 0", "id": "echo 0"}
    for name in ("service", "update-rc.d"):
        said[name] = f'echo {name} "$@" >>{log}\n{service}'
    path = a_machine(tmp_path, **said)
    for more in ([], ["stopped"]):
        assert not log.exists()
        done = run("scripts/install.sh", "thing", *more, PATH=path)
        assert (done.returncode, done.stderr) == (0, "installing the package thing\n")
    assert log.read_text().splitlines() == ["service thing stop", "update-rc.d thing disable"]


def test_a_python_that_is_too_old_is_refused_in_one_line(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = run("scripts/python.sh", PYTHON=str(old))
    assert done.returncode == 1
    assert done.stderr.startswith("rocktune needs Python 3.11 or later")
    assert done.stderr.count("\n") == 1


def test_where_there_is_no_python_debians_is_installed(tmp_path: Path) -> None:
    """The fake apt puts one in place, as Debian's does."""
    python = tmp_path / "python3"
    installs = f'case "$*" in *install*python3*) echo "exit 0" >{python}; chmod +x {python};; esac'
    (tmp_path / "chmod").symlink_to(shutil.which("chmod"))
    path = a_machine(tmp_path, **{"apt-get": installs, "id": "echo 0"})
    python_sh = ROOT / "scripts/python.sh"
    done = subprocess.run(
        [str(python_sh)], cwd=ROOT, capture_output=True, text=True, env={"PATH": path}
    )
    assert (done.returncode, done.stdout) == (0, "python3\n"), done.stderr
    assert "installing the package python3" in done.stderr


def test_a_known_version_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    there = tmp_path / "11.8.1" / "db_bench"
    there.parent.mkdir()
    for name in ("db_bench", "ldb", "sst_dump"):
        (there.parent / name).write_text("#!/bin/sh\n")
    told = run(
        "make", "db_bench", "VERSION=11.8.1", ROCKTUNE_BUILD_DIR=str(tmp_path), MAKEFLAGS=""
    )
    assert (told.returncode, f"is there: {there}" in told.stderr) == (0, True)


def test_of_an_older_fetch_only_what_is_missing_comes_along(tmp_path: Path) -> None:
    """A job may be measuring with the program that is there."""
    there, made = tmp_path / "there", tmp_path / "made"
    for folder, said in ((there, "old"), (made, "new")):
        folder.mkdir()
        (folder / "db_bench").write_text(said)
    (made / "ldb").write_text("new")
    (made / "root").mkdir()
    fetching().put_in_place(made, there)
    assert {path.name for path in there.iterdir()} == {"db_bench", "ldb", "root"}
    assert (there / "db_bench").read_text() == "old"


def test_a_version_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    told = run("make", "db_bench", "VERSION=1.2", ROCKTUNE_BUILD_DIR=str(tmp_path), MAKEFLAGS="")
    assert told.returncode == 2
    assert "VERSION is none of 8.10.0, 9.10.0, 9.11.2, 10.4.2, 11.8.1" in told.stderr
    assert list(tmp_path.iterdir()) == []


def fetching() -> ModuleType:
    path = ROOT / "scripts" / "fetch_db_bench.py"
    spec = importlib.util.spec_from_file_location("fetch_db_bench", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STANZAS = """\
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""
LINES = """\
deb http://mirror.example/debian bookworm main
deb http://mirror.example/debian-security bookworm-security main
"""


def test_the_machines_own_sources_are_read_with_another_suite() -> None:
    fetch = fetching()
    assert fetch.suite_of(STANZAS, "bookworm", "trixie") == STANZAS.replace("bookworm", "trixie")
    # The suite in the making has neither updates nor security.
    assert (
        fetch.suite_of(LINES, "bookworm", "sid") == "deb http://mirror.example/debian sid main\n"
    )
    (stanza,) = fetch.suite_of(STANZAS, "bookworm", "sid").strip().split("\n\n")
    assert "Suites: sid\n" in stanza


@pytest.mark.parametrize("own", ["", "noble", "book"])
def test_sources_of_another_release_are_refused(own: str) -> None:
    fetch = fetching()
    with pytest.raises(fetch.Refused, match="does not name this release"):
        fetch.suite_of(STANZAS, own, "trixie")
