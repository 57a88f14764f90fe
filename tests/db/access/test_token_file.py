import os
import stat
from pathlib import Path

import pytest

from db.access.tokens import (
    keep_token,
    make_private_folder,
    new_token,
    parts_of,
    place_of_token,
    read_token,
    replace_token,
)
from sampler.common.errors import InputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "token"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ROCKTUNE_TOKEN_FILE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert place_of_token() == tmp_path / "rocktune" / "token"
    monkeypatch.setenv("ROCKTUNE_TOKEN_FILE", "~/elsewhere")
    assert place_of_token() == Path.home() / "elsewhere"
    assert place_of_token(tmp_path / "given") == tmp_path / "given"


def test_a_new_token_is_one():
    one, two = new_token(), new_token()
    assert one != two
    assert parts_of(one) == (one[3:15], one[16:])


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_kept_token_is_for_its_user_alone_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
):
    path = tmp_path / "made" / "token"
    opened = os.open
    modes = []

    def watched(name: Path, flags: int, mode: int = 0o777, **more: int) -> int:
        descriptor = opened(name, flags, mode, **more)
        if flags & os.O_CREAT:
            modes.append((flags & os.O_EXCL, os.fstat(descriptor).st_mode & 0o777))
        return descriptor

    before = os.umask(umask)
    try:
        make_private_folder(path)
        monkeypatch.setattr(os, "open", watched)
        token = new_token()
        assert keep_token(path, token)
    finally:
        os.umask(before)
    assert modes == [(os.O_EXCL, 0o600)]
    assert (mode(path.parent), mode(path)) == (0o700, 0o600)
    assert read_token(path) == token
    assert list(path.parent.iterdir()) == [path], "no draft is left"


def test_where_another_was_first_its_token_stays(path: Path):
    one, two = new_token(), new_token()
    assert keep_token(path, one)
    assert not keep_token(path, two)
    assert read_token(path) == one
    replace_token(path, two)
    assert (read_token(path), mode(path)) == (two, 0o600)
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_is_there_stays_as_it_is(path: Path):
    path.parent.chmod(0o755)
    make_private_folder(path)
    assert mode(path.parent) == 0o755


def test_what_is_not_there_is_none(path: Path):
    assert read_token(path) is None


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o601, 0o777])
def test_what_others_may_read_or_write_is_refused_with_the_mend(path: Path, bits: int):
    keep_token(path, new_token())
    path.chmod(bits)
    with pytest.raises(
        InputError, match=rf"token_file: other users can access .*\(mode {bits:04o}\).*chmod 600"
    ):
        read_token(path)


@pytest.mark.parametrize("text", ["", "x", "rt_", "rt_0_a", "-----BEGIN KEY-----", "\0" * 500])
def test_what_holds_something_else_is_refused_and_stays(path: Path, text: str):
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(InputError, match="does not hold a Rocktune token"):
        read_token(path)
    assert path.read_text() == text


def test_what_is_no_file_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for wrong in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(InputError, match=r"is not a regular file|cannot read"):
            read_token(wrong)


def test_where_nothing_can_be_written_is_told(path: Path):
    path.write_text("")
    for fails in (
        lambda: make_private_folder(path / "x" / "token"),
        lambda: keep_token(path / "token", new_token()),
        lambda: replace_token(path / "token", new_token()),
    ):
        with pytest.raises(InputError, match=r"token_file: .*name another"):
            fails()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
class TestAFileOfAnotherUser:
    """Seen by a process that is nobody in particular."""

    def read_as_nobody(self, path: Path) -> str:
        child = os.fork()
        if child == 0:
            try:
                os.setegid(65534)
                os.seteuid(65534)
                read_token(path)
                os._exit(0)
            except InputError as error:
                os._exit(1 if "another user" in str(error) else 2)
            finally:
                os._exit(3)
        return ("read", "another", "others", "failed")[
            os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        ]

    @pytest.mark.parametrize(
        ("owner", "bits", "seen"),
        [(1, 0o644, "another"), (0, 0o440, "read"), (0, 0o644, "others"), (65534, 0o600, "read"),
         (65534, 0o640, "others")],
    )  # fmt: skip
    def test_is_read_where_it_is_roots_and_for_a_group_alone(
        self, path: Path, owner: int, bits: int, seen: str
    ):
        keep_token(path, new_token())
        os.chown(path, owner, 65534)
        path.chmod(bits)
        for folder in (path.parent, *path.parent.parents):
            if not folder.stat().st_mode & 0o001 and folder.is_relative_to("/tmp"):
                folder.chmod(0o755)
        assert self.read_as_nobody(path) == seen
