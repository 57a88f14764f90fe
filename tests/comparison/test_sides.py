"""What a user may write for A and B."""

import json
from pathlib import Path

import pytest
from second_builds import build

from jobs.comparison.around import DOUBLE, HALF, MIDDLE, sides_around
from jobs.comparison.side import Side, read_side
from sampler.errors import InputError
from sampler.settings import Settings
from sampler.space import default_values

OPTIONS = '[DBOptions]\n  bytes_per_sync=1048576\n[CFOptions "default"]\n  num_levels=6\n'


def side(text: str, settings: Settings) -> Side:
    def job(number: int, field: str) -> Side:
        return Side(asked=f"{field}/{number}", what="a job's", values={})

    return read_side(text, settings, job, field="A")


@pytest.mark.parametrize("name", ["default", "library"])
def test_the_librarys_defaults(settings: Settings, name: str):
    found = side(name, settings)
    assert (found.build, found.base, found.options, dict(found.values)) == (
        None, "library", None, {},
    )  # fmt: skip


def test_values_in_a_line_and_in_files(settings: Settings, tmp_path: Path):
    wanted = {"write_buffer_size": 32 * 2**20, "compression_type": "zstd"}
    toml, document = tmp_path / "c.toml", tmp_path / "c.json"
    toml.write_text('write_buffer_size = "32MiB"\ncompression_type = "zstd"\n')
    document.write_text(json.dumps(wanted))
    for text in ("write_buffer_size=32MiB, compression_type=zstd", str(toml), str(document)):
        assert side(text, settings).values == wanted


def test_files_are_told_apart_by_what_they_are(settings: Settings, tmp_path: Path):
    options = tmp_path / "OPTIONS"
    options.write_text(OPTIONS)
    options.chmod(0o755)  # as on a file system that knows no such bit
    assert side(str(options), settings).options == OPTIONS
    program = build(tmp_path, "other")
    found = side(str(program), settings)
    assert (found.build, found.options) == (str(program), None)


def test_builds_by_name_with_a_configuration_of_their_own(settings: Settings, tmp_path: Path):
    host = settings.model_copy(update={"builds": "10.2=/opt/10.2/db_bench"})
    assert side("10.2", host).build == "10.2"
    found = side("10.2:block_size=8KiB", host)
    assert (found.build, found.values) == ("10.2", {"block_size": 8192})
    assert side("java", host).build == "java"
    assert side("java:rocksjava", host).values == side("rocksjava", host).values
    (tmp_path / "OPTIONS").write_text(OPTIONS)
    assert side(f"java:{tmp_path}/OPTIONS", host).options == OPTIONS


def test_a_job_is_asked_for_by_its_number(settings: Settings):
    assert side("job:12", settings).asked == "A/12"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nix", "A: 'nix' is neither default, parameter=value"),
        ("job:x", "A: 'x' is no job's number"),
        ("nix=1", "A: there is no parameter 'nix'"),
        ("threads=4", "A: threads is a fact of the load"),
        ("block_size", "A: 'block_size' is neither"),
        ("block_size=4KiB,block_size=8KiB", "A: block_size is set twice"),
        ("block_size=4KiB,", "A: '' is not parameter=value"),
        ("block_size=much", "A (block_size): 'much' is not a size"),
        ("num_levels=-3", "A: num_levels is below 0"),
        ("empty.toml", "A: sets nothing"),
        ("broken.json", "A: is not JSON"),
        ("list.json", "A: is not an object"),
        ("notes", "A: line 1 is not key=value"),
        ("binary", "A: 'binary' is neither a program nor a text"),
    ],
)
def test_what_is_nothing_of_that_is_said(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
):
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "empty.toml": b"", "broken.json": b"{", "list.json": b"[]", "notes": b"my notes\n",
        "binary": b"\xff\xfe",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        side(text, settings)
    assert str(refused.value).startswith(said)


def around(name: str, **given: object) -> dict[str, Side]:
    values = {**default_values("library"), **given}
    middle = Side(asked="a", what="the library's defaults", values=given)  # type: ignore[arg-type]
    return sides_around(middle, values, name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("max_background_jobs", {}, (1, 2, 4)),
        ("max_background_jobs", {"max_background_jobs": 5}, (2, 5, 10)),
        ("write_buffer_size", {}, (32 * 2**20, 64 * 2**20, 128 * 2**20)),
        ("write_buffer_size", {"write_buffer_size": 3 * 2**20}, (2 * 2**20, 3 * 2**20, 6 * 2**20)),
        ("cache_size", {}, (4 * 2**20, 8 * 2**20, 16 * 2**20)),
    ],
)
def test_half_and_double_of_what_is_there(
    name: str, given: dict[str, object], found: tuple[int, int, int]
):
    sides = around(name, block_size=8192, **given)
    assert [*sides] == [MIDDLE, HALF, DOUBLE]
    assert tuple(sides[each].values[name] for each in (HALF, MIDDLE, DOUBLE)) == found
    assert all(each.values["block_size"] == 8192 for each in sides.values())


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("nix", {}, "there is no parameter 'nix'"),
        ("compression_type", {}, "compression_type cannot be halved"),
        ("threads", {}, "threads cannot be halved"),
        ("max_total_wal_size", {}, "max_total_wal_size is 0 in A"),
        ("max_background_jobs", {"max_background_jobs": 1}, "max_background_jobs is 1 in A, and"),
    ],
)
def test_what_cannot_be_halved_is_said(name: str, given: dict[str, object], said: str):
    with pytest.raises(InputError) as refused:
        around(name, **given)
    assert refused.value.field == "--around"
    assert said in refused.value.problem
