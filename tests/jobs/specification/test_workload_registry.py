from pathlib import Path

import pytest

from jobs.specification.named_files import registered_workloads
from sampler.common.errors import InputError
from sampler.workload.workload_file import SHIPPED, load_workload, workload_from_document


def write(folder: Path, file: str, name: str, more: str = "num = 1000\n") -> Path:
    path = folder / file
    path.write_text(f'name = "{name}"\n{more}')
    return path


def test_the_shipped_ones_are_there_without_a_folder():
    found = registered_workloads(None)
    assert list(found) == list(SHIPPED)
    for name, document in found.items():
        assert workload_from_document(document) == load_workload(name)


def test_the_operators_own_are_known_by_the_name_in_the_file(tmp_path: Path):
    write(tmp_path, "z.toml", "mine")
    path = write(tmp_path, "b.toml", "own", '[command]\nargv = ["sh"]\n')
    (tmp_path / "notes.txt").write_text("not a workload")
    found = registered_workloads(tmp_path)
    assert list(found) == [*SHIPPED, "own", "mine"]  # by file
    assert workload_from_document(found["mine"]).num == 1000
    assert workload_from_document(found["own"]) == load_workload(str(path))


def test_an_empty_folder_adds_nothing(tmp_path: Path):
    assert list(registered_workloads(tmp_path)) == list(SHIPPED)


@pytest.mark.parametrize("taken", ["load", "mine"])
def test_a_name_that_is_taken_is_refused_with_its_file(tmp_path: Path, taken: str):
    write(tmp_path, "a.toml", "mine")
    write(tmp_path, "b.toml", taken)
    with pytest.raises(InputError) as refused:
        registered_workloads(tmp_path)
    assert refused.value.field == "ROCKTUNE_WORKLOADS_DIR (b.toml)"
    assert f"the name '{taken}' is taken" in refused.value.problem


def test_a_wrong_file_is_named_with_its_field(tmp_path: Path):
    write(tmp_path, "a.toml", "mine", "num = 0\n")
    with pytest.raises(InputError, match=r"^ROCKTUNE_WORKLOADS_DIR \(a\.toml\): workload\.num: "):
        registered_workloads(tmp_path)


def test_what_is_no_folder_is_refused(tmp_path: Path):
    for path in (tmp_path / "missing", write(tmp_path, "a.toml", "mine")):
        with pytest.raises(InputError, match=r"^ROCKTUNE_WORKLOADS_DIR: '.*' is not a folder"):
            registered_workloads(path)


def test_a_program_beside_its_file_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, elsewhere = tmp_path / "workloads", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "bench.sh").touch()
    write(folder, "own.toml", "own", '[command]\nargv = ["./bench.sh", "-x"]\n')
    monkeypatch.chdir(elsewhere)
    document = registered_workloads(folder)["own"]
    assert document["command"]["argv"] == [str(folder / "bench.sh"), "-x"]
