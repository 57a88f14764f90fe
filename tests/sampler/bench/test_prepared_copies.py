"""Copies of prepared databases: whole or not there, whatever kills the keeper, and bounded."""

import os
import shutil
import time
from pathlib import Path

import pytest

from sampler.bench.bench_folder import (
    FOLDER,
    UNUSED_SECONDS,
    PreparedCopies,
    PreparedNote,
    make_trial_folder,
    read_note,
    remove_leftovers,
    write_note,
)
from tests.support.sampler.killed_child import Steps, killed
from tests.support.sampler.watching import open_to_others

NOTE = PreparedNote(seconds=2.5, user_bytes=1_000, stored_bytes=2_000)
TABLES = {"000009.sst": b"t" * 600, "000010.blob": b"b" * 200}
REST = {
    "CURRENT": b"MANIFEST-5\n",
    "MANIFEST-5": b"m" * 50,
    "000011.log": b"",
    "OPTIONS-7": b"o",
}
ASIDE = {"LOG": b"l" * 999, "LOG.old.17": b"l" * 999, "LOCK": b""}
SIZE = sum(map(len, (*TABLES.values(), *REST.values())))


def prepared(bench_dir: Path) -> Path:
    """A trial's folder with a database that was just prepared."""
    folder = make_trial_folder(bench_dir)
    (folder / "db").mkdir()
    for name, content in {**TABLES, **REST, **ASIDE}.items():
        (folder / "db" / name).write_bytes(content)
    write_note(folder, NOTE)
    return folder


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "db").iterdir()}


@pytest.fixture
def copies(tmp_path: Path) -> PreparedCopies:
    return PreparedCopies(tmp_path, 10 * SIZE)


def test_a_copy_is_the_database_without_its_log_and_its_note(
    copies: PreparedCopies, tmp_path: Path
):
    assert copies.keep("k", prepared(tmp_path))
    taker = make_trial_folder(tmp_path)
    assert copies.take("k", taker)
    assert held(taker) == {**TABLES, **REST}
    assert read_note(taker) == NOTE


def test_copies_are_for_their_owner_alone(copies: PreparedCopies, tmp_path: Path):
    folder = prepared(tmp_path)
    for path in (folder / "db").iterdir():
        path.chmod(0o600)  # as a trial's process leaves them
    assert copies.keep("k", folder)
    assert open_to_others(tmp_path / FOLDER) == []
    (tmp_path / FOLDER).chmod(0o755)  # made by an older Rocktune
    copies.clean()
    assert open_to_others(tmp_path / FOLDER) == []


def test_copies_of_another_user_are_passed_over(
    copies: PreparedCopies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(path: Path) -> None:
        raise PermissionError(path)

    copies.keep("k", prepared(tmp_path))
    monkeypatch.setattr(Path, "iterdir", refuse)  # of no use where it is root who tests
    copies.clean()
    monkeypatch.undo()
    assert copies.take("k", make_trial_folder(tmp_path))


def test_what_rocksdb_writes_on_is_copied_and_tables_are_linked(
    copies: PreparedCopies, tmp_path: Path
):
    copies.keep("k", prepared(tmp_path))
    first, second = make_trial_folder(tmp_path), make_trial_folder(tmp_path)
    assert copies.take("k", first)
    assert (first / "db" / "000009.sst").stat().st_nlink == 3
    with (first / "db" / "MANIFEST-5").open("ab") as manifest:
        manifest.write(b"more")
    (first / "db" / "000009.sst").unlink()
    assert copies.take("k", second)
    assert held(second) == {**TABLES, **REST}


def test_without_hard_links_tables_are_copied(
    copies: PreparedCopies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    copies.keep("k", prepared(tmp_path))
    taker = make_trial_folder(tmp_path)
    assert copies.take("k", taker)
    assert (taker / "db" / "000009.sst").stat().st_nlink == 1
    assert held(taker) == {**TABLES, **REST}


def test_there_is_nothing_to_take_of_another_key(copies: PreparedCopies, tmp_path: Path):
    copies.keep("k", prepared(tmp_path))
    assert not copies.take("other", make_trial_folder(tmp_path))


@pytest.mark.parametrize(
    ("name", "content"),
    [("db/000009.sst", b"t" * 599), ("db/000009.sst", b"x" * 600), ("db/CURRENT", None),
     ("prepared.json", b"{")],
    ids=["shortened", "changed", "lost", "without its note"],
)  # fmt: skip
def test_a_copy_that_is_not_what_was_kept_is_dropped(name, content, copies, tmp_path):
    copies.keep("k", prepared(tmp_path))
    damaged = tmp_path / FOLDER / "k" / name
    damaged.unlink()
    if content is not None:
        damaged.write_bytes(content)
        os.utime(damaged, ns=(0, 0))
    taker = make_trial_folder(tmp_path)
    assert not copies.take("k", taker)
    assert list(taker.iterdir()) == []
    assert not (tmp_path / FOLDER / "k").exists()
    assert copies.keep("k", prepared(tmp_path))


def test_the_least_recently_used_make_room(tmp_path: Path):
    copies = PreparedCopies(tmp_path, 2 * SIZE)
    for age, key in ((300, "a"), (200, "b")):
        assert copies.keep(key, prepared(tmp_path))
        then = time.time() - age
        os.utime(tmp_path / FOLDER / key, (then, then))
    assert copies.take("a", make_trial_folder(tmp_path))  # now b is the oldest
    assert copies.keep("c", prepared(tmp_path))
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir()) == ["a", "c"]


@pytest.mark.parametrize("most", [0, SIZE - 1])
def test_what_is_larger_than_all_copies_may_be_is_not_kept(most: int, tmp_path: Path):
    copies = PreparedCopies(tmp_path, most)
    assert not copies.keep("k", prepared(tmp_path))
    assert not (tmp_path / FOLDER).exists()


def test_copies_leave_most_of_the_disk_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    copies = PreparedCopies(tmp_path, 10 * SIZE)
    for key in ("a", "b"):
        assert copies.keep(key, prepared(tmp_path))
    free = 4 * SIZE  # with both copies gone, six times one of them; a quarter of it holds one
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(0, 0, free))
    copies.clean()
    assert len(list((tmp_path / FOLDER).iterdir())) == 1
    assert not PreparedCopies(tmp_path, SIZE - 1).keep("c", prepared(tmp_path))


def test_switched_off_nothing_is_taken_and_what_was_kept_goes(
    copies: PreparedCopies, tmp_path: Path
):
    copies.keep("k", prepared(tmp_path))
    off = PreparedCopies(tmp_path, 0)
    assert not off.take("k", make_trial_folder(tmp_path))
    off.clean()
    assert not (tmp_path / FOLDER).exists()


def test_what_was_not_used_for_a_day_goes_when_it_is_cleaned(
    copies: PreparedCopies, tmp_path: Path
):
    for key in ("old", "new"):
        copies.keep(key, prepared(tmp_path))
    then = time.time() - UNUSED_SECONDS - 60
    os.utime(tmp_path / FOLDER / "old", (then, then))
    copies.clean()
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["new"]


def test_a_bench_folder_without_copies_has_none_to_clean(copies: PreparedCopies, tmp_path: Path):
    copies.clean()
    copies.clear()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_killed_at_any_step_a_copy_is_whole_or_not_there_and_nothing_else_is_left(tmp_path: Path):
    copies = PreparedCopies(tmp_path, int(1.5 * SIZE))  # the second makes the first go

    def keep_two() -> None:
        copies.keep("a", prepared(tmp_path))
        copies.keep("b", prepared(tmp_path))
        make_trial_folder(tmp_path)  # one step more

    seen, step = set(), 1
    while killed(Steps(step), keep_two):
        remove_leftovers(tmp_path)
        there = {path.name for path in tmp_path.glob(f"{FOLDER}/*")}
        seen.add(frozenset(there))
        for key in there:
            taker = make_trial_folder(tmp_path)
            assert copies.take(key, taker), step
            assert held(taker) == {**TABLES, **REST}
            assert read_note(taker) == NOTE
        copies.clear()
        remove_leftovers(tmp_path)
        for mine in tmp_path.glob("trial-*"):  # of this process, which lives
            for path in (*mine.glob("db/*"), *mine.glob("*.json")):
                path.unlink()
        step += 1
    assert step > 20
    assert seen == {frozenset(), frozenset({"a"}), frozenset({"b"})}
