"""A cluster's certificates: made, made anew, checked whether they hold, and told to Dask.

A folder holds ``authority.pem``, the certificate of a private authority, and for each role one
file with a key and a certificate of that authority. One file, so that it is replaced whole.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum, unique
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sampler.common.errors import InputError

if TYPE_CHECKING:
    from distributed import Security

AUTHORITY, AUTHORITY_KEY = "authority.pem", "authority.key"
ENDS_SOON = timedelta(days=30)
_FIELD = "certificates"
_ANEW = "renew it with `rocktune cluster certificates DIR --renew`"
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [^\n]+", re.DOTALL)


@unique
class CertificateRole(StrEnum):
    """Who a certificate is for; the value is the name of its file."""

    SCHEDULER = "scheduler"
    HOST = "host"
    CONTROLLER = "controller"

    @property
    def file(self) -> str:
        """The name of its key and certificate."""
        return f"{self.value}.pem"


_AS_DASK_SAYS = dict(zip(CertificateRole, ("scheduler", "worker", "client"), strict=True))


@dataclass(frozen=True)
class Validity:
    """How long a certificate holds."""

    file: str  # its name in the folder
    ends: datetime  # when it ends
    # the host names and addresses in it, for those who read it: Dask does not check them
    names: tuple[str, ...]

    def warning(self, now: datetime) -> str | None:
        """What is to be said of one that has ended or will within 30 days."""
        if self.ends <= now:
            return f"{self.file} expired on {self.ends:%Y-%m-%d}; {_ANEW}"
        if self.ends - now < ENDS_SOON:
            return f"{self.file} expires in {(self.ends - now).days} days; {_ANEW}"
        return None


def validities(folder: Path) -> tuple[Validity, ...]:
    """A folder's certificates, the authority's first; an InputError if that or a file has none."""
    found = [AUTHORITY, *(role.file for role in CertificateRole if (folder / role.file).exists())]
    certificates = [(name, _read_certificates(folder / name)[0]) for name in found]
    return tuple(Validity(name, it.not_valid_after_utc, names_in(it)) for name, it in certificates)


def names_in(certificate: x509.Certificate) -> tuple[str, ...]:
    """The host names and addresses that a certificate names."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(name.value) for name in names.value)


def security_of(
    folder: Path | None, role: CertificateRole | None = None, *, now: datetime | None = None
) -> Security | None:
    """What Dask needs to speak TLS alone, at least 1.2, with a certificate on both sides.

    What is wrong is found here, because Dask tells it as a lost connection or not at all. Without
    a role those whose certificates are there are taken, at least one.

    Raises:
        InputError: A file is missing, unreadable, ended, not yet valid, readable by everyone, or
            its certificate is neither of its key nor of the authority.
    """
    if folder is None:
        return None
    now = now or datetime.now(UTC)
    authorities = _read_certificates(folder / AUTHORITY)
    roles = [role] if role else [each for each in CertificateRole if (folder / each.file).exists()]
    if not roles:
        wanted = ", ".join(each.file for each in CertificateRole)
        raise InputError(_FIELD, f"'{folder}' contains none of {wanted}; copy one there")
    chosen: dict[str, str | None] = {}
    for each in roles:
        _check(folder / each.file, authorities, now)
        chosen[f"tls_{_AS_DASK_SAYS[each]}_cert"] = str(folder / each.file)
        chosen[f"tls_{_AS_DASK_SAYS[each]}_key"] = None  # it is in the same file
    from distributed import Security

    return Security(
        require_encryption=True,
        tls_ca_file=str(folder / AUTHORITY),
        tls_min_version=ssl.TLSVersion.TLSv1_2,
        **chosen,
    )


def _check(path: Path, authorities: Sequence[x509.Certificate], now: datetime) -> None:
    certificate, pem = _read_certificates(path)[0], path.read_bytes()
    if path.stat().st_mode & 0o007:
        raise InputError(_FIELD, f"every user can read the key in '{path}'; run chmod 600 on it")
    key = _PRIVATE_KEY.search(pem)
    if key is None:
        raise InputError(_FIELD, f"'{path}' does not contain a private key; {_ANEW}")
    try:
        own = load_pem_private_key(key[0] + b"\n", password=None).public_key()
    except (ValueError, TypeError):
        raise InputError(_FIELD, f"the private key in '{path}' cannot be read; {_ANEW}") from None
    if own != certificate.public_key():
        raise InputError(_FIELD, f"key and certificate in '{path}' do not match; {_ANEW}")
    issuer = next((each for each in authorities if _issued(certificate, each)), None)
    if issuer is None:
        there = path.with_name(AUTHORITY)
        raise InputError(_FIELD, f"'{path}' is not signed by '{there}'; copy both from a set")
    for name, each in ((path, certificate), (path.with_name(AUTHORITY), issuer)):
        if now >= each.not_valid_after_utc:
            raise InputError(_FIELD, f"'{name}' expired on {each.not_valid_after_utc:%F}; {_ANEW}")
        if now < each.not_valid_before_utc:
            begins = each.not_valid_before_utc
            raise InputError(_FIELD, f"'{name}' starts at {begins:%F %H:%M} UTC; set the clock")


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _read_certificates(path: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except FileNotFoundError:
        mend = "copy it there, or create a set with `rocktune cluster certificates DIR`"
        raise InputError(_FIELD, f"there is no '{path}'; {mend}") from None
    except OSError as error:
        raise InputError(_FIELD, f"cannot read '{path}': {error.strerror}") from None
    except ValueError:
        raise InputError(_FIELD, f"'{path}' is not a certificate in PEM format") from None


_AUTHORITY_DAYS = 3650
DAYS = 825
_CLOCKS_DIFFER = timedelta(hours=1)
_HOST_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_*]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
# Schedulers and hosts are called and call; a controller only calls, and cannot pose as either.
_CALLS, _IS_CALLED = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
_USES = {
    CertificateRole.SCHEDULER: [_CALLS, _IS_CALLED],
    CertificateRole.HOST: [_CALLS, _IS_CALLED],
    CertificateRole.CONTROLLER: [_CALLS],
}


def _alternative_names(names: Sequence[str]) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = []
    for name in dict.fromkeys(names):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            if not _HOST_NAME.fullmatch(name):
                raise InputError("name", f"{name!r} is not a host name or address") from None
            found.append(x509.DNSName(name))
    return found


def _authority_of(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    # A name of its own: of two authorities with one name, OpenSSL says only "signature failure".
    name = _name(f"Rocktune cluster authority {secrets.token_hex(4)}")
    uses = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    return (
        _begun(name, name, key, now, now + timedelta(days=_AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(uses, critical=True)
        .sign(key, hashes.SHA256())
    )


def _certificates(
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    names: Sequence[str],
    days: int,
    now: datetime,
) -> dict[str, bytes]:
    """By role a new key and its certificate by an authority, in one PEM document.

    They end after so many days, or with the authority if that is sooner.
    """
    ends = min(now + timedelta(days=days), authority.not_valid_after_utc)
    uses = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    alternatives = _alternative_names(names)
    files = {}
    for role in CertificateRole:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _begun(_name(f"rocktune {role.value}"), authority.subject, key, now, ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(uses, critical=True)
            .add_extension(x509.ExtendedKeyUsage(_USES[role]), critical=False)
            .add_extension(issuer, critical=False)
        )
        if names:
            named = x509.SubjectAlternativeName(alternatives)
            builder = builder.add_extension(named, critical=False)
        signed = builder.sign(authority_key, hashes.SHA256())
        files[role.file] = _key_pem(key) + _pem(signed)
    return files


def _begun(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    ends: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:  # not encrypted: who reads the file has it
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def make_set(
    folder: Path, names: Sequence[str] = (), *, days: int = DAYS, now: datetime | None = None
) -> None:
    """Makes an authority and a certificate for each role in a new folder, all or nothing.

    The folder is for its owner alone; an empty one is taken. The certificates name these hosts and
    addresses, and hold for so many days from ``now`` on; the authority holds ten years.

    Raises:
        InputError: The folder holds something, cannot be written, or a name is none.
    """
    now = now or datetime.now(UTC)
    folder = folder.resolve()
    key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority_of(key, now)
    files = {AUTHORITY: _pem(authority), AUTHORITY_KEY: _key_pem(key)}
    files |= _certificates(authority, key, names, days, now)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _written(files, folder.parent, f".{folder.name}.") as partial:
            partial.rename(folder)  # fails where the folder holds something
    except OSError as error:
        why = f"cannot create '{folder}': {error.strerror}; name a new folder"
        raise InputError("DIR", why) from None


def renew_certificates(
    folder: Path,
    names: Sequence[str] | None = None,
    *,
    days: int = DAYS,
    now: datetime | None = None,
) -> None:
    """Makes a folder's certificates anew by its authority; an InputError if that has ended.

    Old and new ones hold side by side until the old ones end. Each file is replaced whole. See
    ``make_set`` for the rest; without names those that the scheduler's has now are taken.
    """
    now = now or datetime.now(UTC)
    authority, key = _read_authority(folder)
    if now >= authority.not_valid_after_utc:
        ended = f"{authority.not_valid_after_utc:%F}"
        raise InputError("DIR", f"its authority expired on {ended}; make a set in a new folder")
    names = _names_now(folder) if names is None else names
    files = _certificates(authority, key, names, days, now)
    try:
        with _written(files, folder, ".renewed.") as partial:
            for name in files:
                (partial / name).replace(folder / name)
    except OSError as error:
        raise InputError("DIR", f"cannot write to '{folder}': {error.strerror}") from None


def _read_authority(folder: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        authority = x509.load_pem_x509_certificate((folder / AUTHORITY).read_bytes())
        key = load_pem_private_key((folder / AUTHORITY_KEY).read_bytes(), None)
    except FileNotFoundError as error:
        where = "renew in the folder that holds the authority's key"
        raise InputError("DIR", f"there is no '{error.filename}'; {where}") from None
    except OSError as error:
        raise InputError("DIR", f"cannot read '{error.filename}': {error.strerror}") from None
    except (ValueError, TypeError):
        raise InputError("DIR", f"cannot read the authority in '{folder}'") from None
    own = authority.public_key()
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != own:
        raise InputError("DIR", f"'{AUTHORITY_KEY}' is not the key of '{AUTHORITY}'")
    return authority, key


def _names_now(folder: Path) -> tuple[str, ...]:
    with suppress(OSError, ValueError):
        pem = (folder / CertificateRole.SCHEDULER.file).read_bytes()
        return names_in(x509.load_pem_x509_certificate(pem))
    return ()


@contextmanager
def _written(files: Mapping[str, bytes], parent: Path, prefix: str) -> Iterator[Path]:
    """The files in a folder for a while, for its owner alone; on the disk."""
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=parent, ignore_cleanup_errors=True
    ) as folder:
        for name, content in files.items():
            mode = 0o644 if name == AUTHORITY else 0o600
            file = os.open(Path(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(file, "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(file)
        yield Path(folder)
