"""What a comparison is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jobs.autotune.policy import FULL_STEP_SECONDS, POLICIES, Marks
from jobs.autotune.shape import Shape
from sampler.common.documents import finite_number
from sampler.common.errors import InputError

# As many keys for each planned write as the thesis has: 1,000,000 to 437,500.
_KEYS_PER_WRITE = 16 / 7
_FIELDS = {"low_mark": "low", "high_mark": "high", "full_mark": "full", "step_seconds": "step"}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One run: a load under a policy, then reads, then recovery.

    Attributes:
        policy: One of ``POLICIES``.
        value_size: In bytes.
        rate_limit: Bytes/s of all background writes; 0: none.
        read_seconds: Of reads with filters, and as many without; 0: none.
        direct_reads: Whether reads go past the page cache.
        recovery_seconds: How long recovery is waited for.
        seed: Of keys and values.
        tree: The factor of all sizes of the tree; None: the shape's.
    """

    policy: str
    shape: Shape
    marks: Marks
    value_size: int = 100_000
    rate_limit: float = 0.0
    read_seconds: float = 3.0
    direct_reads: bool = True
    recovery_seconds: float = 600.0
    seed: int = 1
    tree: float | None = None

    def __post_init__(self) -> None:
        """Refuses what cannot be run.

        Raises:
            InputError: A value is out of range.
        """
        if self.policy not in POLICIES:
            raise InputError("--policy", f"{self.policy!r} is none of {', '.join(POLICIES)}")
        for field, value, least, most in (
            ("--value-size", self.value_size, 1, 2**24),
            ("--read-seconds", self.read_seconds, 0, 86_400),
            ("--recovery-seconds", self.recovery_seconds, 1, 86_400),
            ("--rate-limit", self.rate_limit, 0, 1e12),
        ):
            if not least <= value <= most:
                raise InputError(field, f"{value:g} is not from {least:,} to {most:,}")
        if self.keys > 2**27:
            raise InputError("--value-size", "is so small that more keys come in than fit a run")

    @property
    def pair_bytes(self) -> int:
        """Of a key and its value."""
        return 16 + self.value_size

    @property
    def factor(self) -> float:
        """Of all sizes of the tree, against RocksDB's defaults."""
        return self.shape.factor if self.tree is None else self.tree

    @property
    def keys(self) -> int:
        """Size of the key space."""
        planned = self.shape.planned_bytes / self.pair_bytes
        return max(round(planned * _KEYS_PER_WRITE), 1)


def scaled_step(shape: Shape) -> float:
    """The thesis's ten seconds, as much shorter as the load."""
    return FULL_STEP_SECONDS * shape.factor


def read_configuration(path: Path) -> dict[str, Any]:
    """The parameters of a JSON file, as a ``[command]`` workload hands them over.

    Raises:
        InputError: It cannot be read, or is no object.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("--configuration", f"cannot read {str(path)!r}: {error}") from None
    if not isinstance(document, dict):
        raise InputError("--configuration", f"{str(path)!r} holds no JSON object")
    return document


def configured(asked: Asked, configuration: Mapping[str, Any]) -> Asked:
    """The run with a configuration of the space ``warlo``.

    ``step_seconds`` is at full scale: that of a load of 350 s. What is unknown is refused.

    Raises:
        InputError: A parameter is unknown, or its value means nothing.
    """
    marks: dict[str, float] = {}
    policy = asked.policy
    for name, value in configuration.items():
        if name == "policy" and isinstance(value, str):
            policy = value
        elif name in _FIELDS and (number := finite_number(value)) is not None:
            scale = asked.shape.factor if name == "step_seconds" else 1.0
            marks[_FIELDS[name]] = number * scale
        else:
            known = ", ".join(["policy", *_FIELDS])
            raise InputError(f"--configuration {name}", f"is none of {known}, or no such value")
    return replace(asked, policy=policy, marks=replace(asked.marks, **marks))
