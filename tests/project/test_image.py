"""What the Dockerfile promises, as far as it can be read."""

import re
import shlex
import tomllib
from pathlib import Path

import yaml

from tests.support import ROOT


def steps() -> list[tuple[str, str]]:
    """Each instruction of the Dockerfile and what follows it."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.partition(" ") for line in text.splitlines() if line and line[0] not in " #"]
    return [(word.upper(), rest.strip()) for word, _, rest in lines]


def test_what_runs_in_the_image_is_not_root():
    words = [word for word, _ in steps()]
    last = len(words) - 1 - words[::-1].index("USER")
    assert last > max(number for number, word in enumerate(words) if word in ("FROM", "RUN"))
    user = steps()[last][1]
    assert user not in ("root", "0")
    made = next(rest for word, rest in steps()[::-1] if word == "RUN" and "useradd" in rest)
    assert re.search(rf"useradd --uid [1-9]\d* .*{user}\b", made)


def test_all_that_the_image_needs_is_sent_to_its_build():
    sent = (ROOT / ".dockerignore").read_text().splitlines()
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = packages["tool"]["setuptools"]["packages"]["find"]["include"]
    rooms = {each.removesuffix("*").rstrip(".") for each in found}
    assert "!requirements" in sent and "!pyproject.toml" in sent
    assert {f"!{room}" for room in rooms} <= set(sent)
    for copied in [rest for word, rest in steps() if word == "COPY" and "--from" not in rest]:
        source = shlex.split(copied)[0]
        assert source == "." or f"!{source.partition('/')[0]}" in sent


def test_containers_of_one_volume_share_the_lock():
    values = dict(
        re.findall(r"(\w+)=(\S+)", next(rest for word, rest in steps() if word == "ENV"))
    )
    volume = next(rest for word, rest in steps() if word == "VOLUME")
    assert Path(values["ROCKTUNE_LOCK"]).is_relative_to(volume)
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    measuring = [services["worker"], services["tune"]]
    assert [each["volumes"] for each in measuring] == [[f"found:{volume}"]] * 2
