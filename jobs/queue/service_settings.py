"""How the service behaves, from the environment (``ROCKTUNE_...``), and in which form it logs."""

import logging
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Any, TextIO

import structlog
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from sampler.bench.settings import from_environment


class ServiceSettings(BaseSettings):
    """How the service behaves."""

    model_config = SettingsConfigDict(env_prefix="ROCKTUNE_")

    # workload files that jobs over HTTP may name, beside the shipped ones
    workloads_dir: Path | None = None
    most_queued: int = Field(default=1000, ge=1)  # with so many jobs queued no more are taken
    # event streams that may be open at a time; one token may have a quarter of them
    most_streams: int = Field(default=400, ge=1)
    # ended jobs are deleted after so many days; None: never
    keep_days: float | None = Field(default=None, gt=0)
    rate_limit: str = "200/second"  # requests of one client, as `200/second` or `6000/minute`
    most_body_bytes: int = Field(default=4 * 2**20, ge=2**10)  # a larger request is refused
    # a browser that logged in is logged out after so many hours
    session_hours: float = Field(default=12.0, gt=0, le=24 * 365)
    # Whether a proxy that ends TLS is before the server, or nothing but this machine reaches it:
    # then it does not warn where it listens beyond loopback.
    behind_tls: bool = False
    # Addresses or networks of proxies, with commas, whose `X-Forwarded-For` and
    # `X-Forwarded-Proto` are believed.
    trusted_proxies: str = ""
    # Hosts with commas that webhooks may lead to though their addresses are not public.
    webhook_allow: str = ""
    webhook_retry_hours: float = Field(default=24.0, ge=0, le=24 * 30)  # then it is given up
    # The path below which a proxy serves all of it, such as `/rocktune`; the proxy may take it off
    # or leave it.
    root_path: str = Field(default="", pattern=r"^(/[A-Za-z0-9._~-]+)*$")
    # Where a browser finds the dashboard, for the links of messages; empty: they have none.
    public_url: str = Field(default="", pattern=r"^(https?://[^\s/]\S*)?$")
    # `debug`, `info`, `warning` or `error`
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, text: str) -> str:
        for each in filter(None, text.split(",")):
            try:
                ip_network(each.strip())
            except ValueError:
                raise ValueError(
                    f"{each.strip()!r} is not an address or network; write 127.0.0.1 or 10.0.0.0/8"
                ) from None
        return text


def load_service_settings() -> ServiceSettings:
    """The settings of this environment; an InputError of a variable that holds no such thing."""
    return from_environment(ServiceSettings)


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
CONFIGURED_LIBRARIES = ("uvicorn", "uvicorn.error", "alembic")


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is now, not to what it was when logs were configured."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        pass


def configure_logs(level: str = "info") -> None:
    """Sends all that is logged, ours and the libraries', to standard error in one form."""
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    last: Any = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer(default=str)
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            last,
        ],
    )
    handler = _StandardError()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in CONFIGURED_LIBRARIES:
        library = logging.getLogger(name)
        library.handlers[:] = [handler]
        library.propagate = False
        library.setLevel(max(logging.WARNING, root.level))
