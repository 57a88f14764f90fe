"""Making a cluster's certificates: a private authority, and one certificate for each role."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from jobs.cluster.certificates import AUTHORITY, AUTHORITY_KEY, Role, names_in
from jobs.cluster.issuing import (
    alternative_names,
    authority_of,
    certificate_for,
    certificate_pem,
    key_pem,
)
from sampler.common.errors import InputError

DAYS = 825


def make_set(
    folder: Path, names: Sequence[str] = (), *, days: int = DAYS, now: datetime | None = None
) -> None:
    """Makes an authority and a certificate for each role in a new folder, all or nothing.

    Args:
        folder: Made, for its owner alone; an empty one is taken.
        names: Host names and addresses to write into them.
        days: How long the certificates hold; the authority holds ten years.
        now: When they begin; None for the clock's.

    Raises:
        InputError: The folder holds something, cannot be written, or a name is none.
    """
    now, alternatives = now or datetime.now(UTC), alternative_names(names)
    folder = folder.resolve()
    key = ec.generate_private_key(ec.SECP256R1())
    authority = authority_of(key, now)
    files = {AUTHORITY: certificate_pem(authority), AUTHORITY_KEY: key_pem(key)}
    for role in Role:
        files[role.file] = certificate_for(role, authority, key, alternatives, days=days, now=now)
    partial = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        _write(partial, files)
        partial.rename(folder)  # fails where the folder holds something
    except OSError as error:
        why = f"cannot make '{folder}': {error.strerror}; name a new folder"
        raise InputError("DIR", why) from None
    finally:
        if partial:
            shutil.rmtree(partial, ignore_errors=True)


def renew(
    folder: Path,
    names: Sequence[str] | None = None,
    *,
    days: int = DAYS,
    now: datetime | None = None,
) -> None:
    """Makes the certificates of a folder anew by the authority that it holds.

    Old and new ones hold side by side until the old ones end. Each file is replaced whole.

    Args:
        folder: Where the authority with its key is.
        names: Host names and addresses; None for those that the scheduler's has now.
        days: How long they hold, at most as long as the authority.
        now: When they begin; None for the clock's.

    Raises:
        InputError: The authority or its key is missing or has ended, or nothing can be written.
    """
    now = now or datetime.now(UTC)
    authority, key = _read_authority(folder)
    if now >= authority.not_valid_after_utc:
        ended = f"{authority.not_valid_after_utc:%F}"
        raise InputError("DIR", f"its authority ended on {ended}; make a new set in a new folder")
    if names is None:
        names = _names_now(folder)
    alternatives = alternative_names(names)
    files = {
        role.file: certificate_for(role, authority, key, alternatives, days=days, now=now)
        for role in Role
    }
    partial = None
    try:
        partial = Path(tempfile.mkdtemp(prefix=".renewed.", dir=folder))
        _write(partial, files)
        for name in files:
            (partial / name).replace(folder / name)
    except OSError as error:
        raise InputError("DIR", f"cannot write to '{folder}': {error.strerror}") from None
    finally:
        if partial:
            shutil.rmtree(partial, ignore_errors=True)


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
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != (
        authority.public_key()
    ):
        raise InputError("DIR", f"'{AUTHORITY_KEY}' is not the key of '{AUTHORITY}'")
    return authority, key


def _names_now(folder: Path) -> tuple[str, ...]:
    with suppress(OSError, ValueError):
        pem = (folder / Role.SCHEDULER.file).read_bytes()
        return names_in(x509.load_pem_x509_certificate(pem))
    return ()


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        mode = 0o644 if name == AUTHORITY else 0o600
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(file, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(file)
