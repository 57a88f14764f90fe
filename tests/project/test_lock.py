import re
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support import ROOT

LOCKS = ROOT / "requirements"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME = PYPROJECT["project"]["dependencies"]
GROUPS = PYPROJECT["dependency-groups"]
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
ASKED = {
    "runtime.txt": RUNTIME,
    "dev.txt": RUNTIME + GROUPS["dev"],
    "compare.txt": RUNTIME + EXTRAS["compare"],
    "tuner.txt": RUNTIME + EXTRAS["tuner"],
    "fuzz.txt": GROUPS["fuzz"],
    "audit.txt": GROUPS["audit"],
    "setup.txt": GROUPS["setup"] + PYPROJECT["build-system"]["requires"],
}

EXTRA_LOCKS = ["compare.txt", "tuner.txt"]


def blocks(file: str) -> list[str]:
    """One text for each locked version, its hashes with it."""
    lines = (LOCKS / file).read_text().replace("\\\n", " ").splitlines()
    return [line for line in lines if not line.lstrip().startswith("#")]


def locked(file: str) -> dict[str, set[Version]]:
    versions: dict[str, set[Version]] = {}
    for block in blocks(file):
        name, version = re.match(r"([\w.-]+)==(\S+)", block).groups()
        versions.setdefault(canonicalize_name(name), set()).add(Version(version))
    return versions


@pytest.mark.parametrize("file", ASKED)
def test_every_locked_version_has_hashes_and_none_an_address(file: str) -> None:
    for block in blocks(file):
        assert re.search(r" --hash=sha256:[0-9a-f]{64}\b", block), block
    text = (LOCKS / file).read_text()
    assert "://" not in text
    assert "index" not in re.sub(r"^#.*|^ +# .*", "", text, flags=re.MULTILINE)


def test_every_lock_is_audited() -> None:
    told = subprocess.run(
        ["make", "--dry-run", "audit"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert set(re.findall(r"--requirement requirements/(\S+)", told)) == set(ASKED)
    assert set(ASKED) == {path.name for path in LOCKS.iterdir()}


@pytest.mark.parametrize(("file", "asked"), ASKED.items())
def test_the_lock_holds_what_pyproject_asks_for(file: str, asked: list[str]) -> None:
    versions = locked(file)
    wanted: dict[str, list[Requirement]] = {}
    for text in asked:
        requirement = Requirement(text)
        wanted.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    for name, requirements in wanted.items():
        held = versions.get(name, set())
        assert held, f"{name} is not in {file}: run `make lock`"
        # One for each Python, say: each is held, and nothing is held that none of them allows.
        for requirement in requirements:
            assert any(v in requirement.specifier for v in held), f"{requirement}: run `make lock`"
        for version in held:
            allowed = any(version in requirement.specifier for requirement in requirements)
            assert allowed, f"{name} {version}: run `make lock`"


@pytest.mark.parametrize("file", ["dev.txt", *EXTRA_LOCKS])
def test_the_larger_locks_hold_the_same_versions_and_more(file: str) -> None:
    larger = locked(file)
    assert all(larger[name] == held for name, held in locked("runtime.txt").items())


@pytest.mark.parametrize("file", EXTRA_LOCKS)
def test_the_lock_of_an_extra_fits_beside_the_one_for_development(file: str) -> None:
    development, extra = locked("dev.txt"), locked(file)
    assert all(extra[name] == development[name] for name in extra.keys() & development)


def test_no_lock_holds_what_weighs_gigabytes() -> None:
    assert all("torch" not in locked(file) for file in ASKED)


def test_what_builds_rocktune_is_what_the_group_setup_names() -> None:
    assert set(PYPROJECT["build-system"]["requires"]) <= set(GROUPS["setup"])
