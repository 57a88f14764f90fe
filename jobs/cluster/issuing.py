"""The certificates of a cluster as such: an authority's, and one of it for a role."""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from jobs.cluster.certificates import Role
from sampler.common.errors import InputError

_AUTHORITY_DAYS = 3650
_CLOCKS_DIFFER = timedelta(hours=1)
_HOST_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_*]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
# Schedulers and hosts are called and call; a controller only calls, and cannot pose as either.
_CALLS, _IS_CALLED = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
_USES = {
    Role.SCHEDULER: [_CALLS, _IS_CALLED],
    Role.HOST: [_CALLS, _IS_CALLED],
    Role.CONTROLLER: [_CALLS],
}


def alternative_names(names: Sequence[str]) -> list[x509.GeneralName]:
    """Host names and addresses as certificates hold them, each once.

    Raises:
        InputError: One is neither.
    """
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


def certificate_for(
    role: Role,
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    names: Sequence[x509.GeneralName],
    *,
    days: int,
    now: datetime,
) -> bytes:
    """A new key and its certificate by an authority, in one PEM document.

    It ends after so many days, or with the authority if that is sooner.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    ends = min(now + timedelta(days=days), authority.not_valid_after_utc)
    uses = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    builder = (
        _begun(_name(f"rocktune {role.value}"), authority.subject, key, now, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(uses, critical=True)
        .add_extension(x509.ExtendedKeyUsage(_USES[role]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return key_pem(key) + certificate_pem(builder.sign(authority_key, hashes.SHA256()))


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
