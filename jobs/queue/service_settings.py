"""How the service behaves, from the environment (``ROCKTUNE_...``)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from sampler.runner.settings import from_environment


class ServiceSettings(BaseSettings):
    """How the service behaves.

    Attributes:
        workloads_dir: Workload files that jobs over HTTP may name, beside the shipped ones.
        most_queued: With so many jobs queued no more are taken.
        keep_days: Ended jobs are deleted after so many days; None: never.
        rate_limit: Requests of one client, as ``200/second`` or ``6000/minute``.
        most_body_bytes: A larger request is refused.
        session_hours: A browser that logged in is logged out after so many hours.
        behind_tls: Whether a proxy that ends TLS is before the server, or nothing but this machine
            reaches it: then it does not warn where it listens beyond loopback.
        log_level: ``debug``, ``info``, ``warning`` or ``error``.
    """

    model_config = SettingsConfigDict(env_prefix="ROCKTUNE_")

    workloads_dir: Path | None = None
    most_queued: int = Field(default=1000, ge=1)
    keep_days: float | None = Field(default=None, gt=0)
    rate_limit: str = "200/second"
    most_body_bytes: int = Field(default=4 * 2**20, ge=2**10)
    session_hours: float = Field(default=12.0, gt=0, le=24 * 365)
    behind_tls: bool = False
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")


def load_service_settings() -> ServiceSettings:
    """The settings of this environment.

    Raises:
        InputError: A variable does not hold what it should.
    """
    return from_environment(ServiceSettings)
