"""A cluster's certificates: which there are, whether they hold, and what Dask is told of them.

A folder holds ``authority.pem``, the certificate of a private authority, and for each role one
file with a key and a certificate of that authority. One file, so that it is replaced whole.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum, unique
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from sampler.common.errors import InputError

if TYPE_CHECKING:
    from distributed import Security

AUTHORITY, AUTHORITY_KEY = "authority.pem", "authority.key"
ENDS_SOON = timedelta(days=30)
_FIELD = "--certificates"
_ANEW = "make it anew with `rocktune cluster certificates DIR --renew`"
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
            return f"{self.file} ended on {self.ends:%Y-%m-%d}; {_ANEW}"
        if self.ends - now < ENDS_SOON:
            return f"{self.file} ends in {(self.ends - now).days} days; {_ANEW}"
        return None


def validities(folder: Path) -> tuple[Validity, ...]:
    """A folder's certificates, the authority's first; an InputError if that or a file has none."""
    found = [AUTHORITY, *(role.file for role in CertificateRole if (folder / role.file).exists())]
    certificates = [(name, _certificates(folder / name)[0]) for name in found]
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
    authorities = _certificates(folder / AUTHORITY)
    roles = [role] if role else [each for each in CertificateRole if (folder / each.file).exists()]
    if not roles:
        wanted = ", ".join(each.file for each in CertificateRole)
        raise InputError(_FIELD, f"'{folder}' holds none of {wanted}: copy one there")
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
    certificate, pem = _certificates(path)[0], path.read_bytes()
    if path.stat().st_mode & 0o007:
        raise InputError(_FIELD, f"everyone here can read the key in '{path}': chmod 600 it")
    key = _PRIVATE_KEY.search(pem)
    if key is None:
        raise InputError(_FIELD, f"'{path}' holds no private key; {_ANEW}")
    try:
        own = load_pem_private_key(key[0] + b"\n", password=None).public_key()
    except (ValueError, TypeError):
        raise InputError(_FIELD, f"the private key in '{path}' cannot be read; {_ANEW}") from None
    if own != certificate.public_key():
        raise InputError(_FIELD, f"key and certificate in '{path}' do not match; {_ANEW}")
    issuer = next((each for each in authorities if _issued(certificate, each)), None)
    if issuer is None:
        there = path.with_name(AUTHORITY)
        raise InputError(_FIELD, f"'{path}' is not by the authority of '{there}': copy one set")
    for name, each in ((path, certificate), (path.with_name(AUTHORITY), issuer)):
        if now >= each.not_valid_after_utc:
            raise InputError(_FIELD, f"'{name}' ended on {each.not_valid_after_utc:%F}; {_ANEW}")
        if now < each.not_valid_before_utc:
            begins = each.not_valid_before_utc
            raise InputError(_FIELD, f"'{name}' begins at {begins:%F %H:%M} UTC: set the clock")


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _certificates(path: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except FileNotFoundError:
        mend = "copy it there, or make a set with `rocktune cluster certificates DIR`"
        raise InputError(_FIELD, f"there is no '{path}': {mend}") from None
    except OSError as error:
        raise InputError(_FIELD, f"cannot read '{path}': {error.strerror}") from None
    except ValueError:
        raise InputError(_FIELD, f"'{path}' holds no certificate in PEM form") from None
