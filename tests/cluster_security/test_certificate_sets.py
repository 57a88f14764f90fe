import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobs.cluster.certificates import (
    CertificateRole,
    make_set,
    renew_certificates,
    security_of,
    validities,
)
from sampler.common.errors import InputError


@pytest.fixture
def copy(certificates: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(certificates, tmp_path / "copy"))


def test_keys_are_their_owners_alone(certificates: Path) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in certificates.iterdir()}
    assert modes.pop("authority.pem") & 0o600 == 0o600
    assert modes.keys() == {"authority.key", *(role.file for role in CertificateRole)}
    assert set(modes.values()) == {0o600}
    assert certificates.stat().st_mode & 0o777 == 0o700


def test_no_key_is_in_the_file_that_goes_everywhere(certificates: Path) -> None:
    assert b"PRIVATE" not in (certificates / "authority.pem").read_bytes()


def test_a_set_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("jobs.cluster.certificates.os.fsync", full)
    with pytest.raises(InputError, match=r"^DIR: .*No space left"):
        make_set(tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InputError, match=r"^DIR: .*name a new folder"):
        make_set(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["", "two words", "ümlaut", "-x", "a/b"])
def test_what_is_no_host_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"^name"):
        make_set(tmp_path / "set", [name])
    assert list(tmp_path.iterdir()) == []


def test_renewed_certificates_are_new_and_by_the_same_authority(copy: Path) -> None:
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    now = datetime.now(UTC).replace(microsecond=0)  # certificates know whole seconds
    renew_certificates(copy, days=100, now=now)
    after = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert after.keys() == before.keys()
    kept = {name for name in before if before[name] == after[name]}
    assert kept == {"authority.pem", "authority.key"}
    for validity in validities(copy)[1:]:
        assert validity.ends == now + timedelta(days=100)
        assert validity.names == ("bench.example",)
    assert security_of(copy, now=now)


def test_a_certificate_ends_no_later_than_its_authority(copy: Path) -> None:
    authority, *_ = validities(copy)
    renew_certificates(copy, days=825, now=authority.ends - timedelta(days=10))
    assert {validity.ends for validity in validities(copy)} == {authority.ends}
    with pytest.raises(InputError, match="its authority expired"):
        renew_certificates(copy, now=authority.ends)


def test_without_the_authoritys_own_key_nothing_is_renewed(copy: Path, tmp_path: Path) -> None:
    make_set(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "authority.key", copy)
    with pytest.raises(InputError, match="is not the key"):
        renew_certificates(copy)
    (copy / "authority.key").unlink()
    with pytest.raises(InputError, match="renew in the folder that holds the authority's key"):
        renew_certificates(copy)


@pytest.mark.parametrize(
    ("days", "said"), [(31, None), (29, "expires in 29 days"), (0, "expired on")]
)
def test_what_ends_soon_is_told(certificates: Path, days: int, said: str | None) -> None:
    host = validities(certificates)[2]
    warning = host.warning(host.ends - timedelta(days=days))
    assert (warning is None) if said is None else said in warning


def _without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _holding(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def _swapped_key(folder: Path) -> None:
    key = (folder / "controller.pem").read_text().partition("-----BEGIN CERT")[0]
    certificate = (folder / "host.pem").read_text().partition("-----BEGIN CERT")[2]
    (folder / "host.pem").write_text(f"{key}-----BEGIN CERT{certificate}")


def _keyless(folder: Path) -> None:
    certificate = (folder / "host.pem").read_text().partition("-----BEGIN CERT")[2]
    (folder / "host.pem").write_text(f"-----BEGIN CERT{certificate}")


def _another_authority(folder: Path) -> None:
    make_set(folder / "other")
    shutil.copy(folder / "other" / "authority.pem", folder)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_without("authority.pem"), "there is no '.*authority.pem'.*copy it there"),
        (_without("host.pem"), "there is no '.*host.pem'.*copy it there"),
        (_holding("authority.pem", "?"), "authority.pem' is not a certificate"),
        (_holding("host.pem", ""), "host.pem' is not a certificate"),
        (_swapped_key, "do not match"),
        (_keyless, "does not contain a private key"),
        (_another_authority, "is not signed by '.*'; copy both from a set"),
        (lambda folder: (folder / "host.pem").chmod(0o644), "every user.*chmod 600"),
    ],
)
def test_what_is_wrong_is_told_before_dask_meets_it(
    copy: Path, spoil: Callable[[Path], object], why: str
) -> None:
    assert security_of(copy, CertificateRole.HOST)
    spoil(copy)
    with pytest.raises(InputError, match=f"^certificates: .*{why}"):
        security_of(copy, CertificateRole.HOST)


def test_one_that_has_ended_or_not_begun_is_told(certificates: Path) -> None:
    host = validities(certificates)[2]
    assert security_of(certificates, CertificateRole.HOST, now=host.ends - timedelta(seconds=1))
    with pytest.raises(InputError, match=r"host.pem' expired on .*--renew"):
        security_of(certificates, CertificateRole.HOST, now=host.ends)
    with pytest.raises(InputError, match="set the clock"):
        security_of(certificates, CertificateRole.HOST, now=datetime.now(UTC) - timedelta(days=1))


def test_a_machine_needs_its_own_roles_files_alone(copy: Path) -> None:
    for name in ("authority.key", "scheduler.pem", "controller.pem"):
        (copy / name).unlink()
    security = security_of(copy)
    assert security.tls_worker_cert == str(copy / "host.pem")
    assert security.tls_client_cert is security.tls_scheduler_cert is None
    (copy / "host.pem").unlink()
    with pytest.raises(InputError, match=r"none of scheduler\.pem, host\.pem, controller"):
        security_of(copy)


def test_without_a_folder_there_is_no_security() -> None:
    assert security_of(None) is None
