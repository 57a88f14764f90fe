"""Making a cluster's certificates: a private authority, and one certificate for each role."""

import ipaddress
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from jobs.cluster.certificates import AUTHORITY, AUTHORITY_KEY, CertificateRole, names_in
from sampler.common.errors import InputError

_AUTHORITY_DAYS = 3650
_CLOCKS_DIFFER = timedelta(hours=1)
_HOST_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_*]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
# Schedulers and hosts are called and call; a controller only calls, and cannot pose as either.
_CALLS, _IS_CALLED = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
_USES = {
    CertificateRole.SCHEDULER: [_CALLS, _IS_CALLED],
    CertificateRole.HOST: [_CALLS, _IS_CALLED],
    CertificateRole.CONTROLLER: [_CALLS],
}


def alternative_names(names: Sequence[str]) -> list[x509.GeneralName]:
    """Host names and addresses as certificates hold them, each once; else an InputError."""
    found: list[x509.GeneralName] = []
    for name in dict.fromkeys(names):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            if not _HOST_NAME.fullmatch(name):
                raise InputError("--name", f"{name!r} is no host name or address") from None
            found.append(x509.DNSName(name))
    return found


def authority_of(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    """The certificate of an authority with this key, for ten years."""
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
    alternatives = alternative_names(names)
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
        files[role.file] = key_pem(key) + certificate_pem(signed)
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


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """A certificate as text."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A private key as text, not encrypted: who can read the file has it."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


DAYS = 825


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
    authority = authority_of(key, now)
    files = {AUTHORITY: certificate_pem(authority), AUTHORITY_KEY: key_pem(key)}
    files |= _certificates(authority, key, names, days, now)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _written(files, folder.parent, f".{folder.name}.") as partial:
            partial.rename(folder)  # fails where the folder holds something
    except OSError as error:
        why = f"cannot make '{folder}': {error.strerror}; name a new folder"
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
        raise InputError("DIR", f"its authority ended on {ended}; make a new set in a new folder")
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
        key = serialization.load_pem_private_key((folder / AUTHORITY_KEY).read_bytes(), None)
    except FileNotFoundError as error:
        where = "renew where the set was made"
        raise InputError("DIR", f"there is no '{error.filename}': {where}") from None
    except OSError as error:
        raise InputError("DIR", f"cannot read '{error.filename}': {error.strerror}") from None
    except (ValueError, TypeError):
        raise InputError("DIR", f"the authority in '{folder}' cannot be read") from None
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
