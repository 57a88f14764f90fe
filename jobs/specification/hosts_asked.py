"""The build and the kind of hosts that are asked for: what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sampler.bench.builds import is_build_name
from sampler.common.errors import InputError


def require_build(db_bench: str | None, workload: Mapping[str, Any]) -> None:
    """Refuses what can be no build, and a build where nothing is measured by one.

    Raises:
        InputError: It is so.
    """
    if db_bench is None:
        return
    if "/" not in db_bench and not is_build_name(db_bench):
        raise InputError("--db-bench", f"{db_bench!r} is neither a build's name nor a path")
    if {"command", "external"} & workload.keys():
        raise InputError("--db-bench", "this workload is not measured by db_bench; leave it out")


def require_kind(host_kind: str | None) -> None:
    """Refuses what can be no kind of hosts.

    Raises:
        InputError: It is so.
    """
    if host_kind is not None and not is_build_name(host_kind):
        problem = f"{host_kind!r} is no kind; write letters, digits, dots and dashes, 64 at most"
        raise InputError("--host-kind", problem)
