"""Where things are on this machine, from the environment (``ROCKTUNE_...``)."""

from pathlib import Path
from typing import TypeVar

from platformdirs import user_cache_path
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from sampler.bench.host_lock import default_lock_path
from sampler.common.errors import InputError, value_problem

S = TypeVar("S", bound=BaseSettings)


class Settings(BaseSettings):
    """Where things are."""

    model_config = SettingsConfigDict(env_prefix="ROCKTUNE_")

    db_bench: str = "db_bench"  # the program, a path or a name on PATH
    # Further RocksDB builds that jobs may name, as ``9.7=/opt/9.7/db_bench,NAME=PATH``. One line,
    # not a file: a host has few, and a unit file or a container sets variables.
    builds: str = ""
    # What `make db_bench VERSION=...` has brought: a folder each, named by its version.
    build_dir: Path = Field(default_factory=lambda: user_cache_path("rocktune") / "builds")
    # Databases under test are made here and removed after each trial.
    bench_dir: Path = Field(default_factory=lambda: user_cache_path("rocktune") / "bench")
    # The lock that keeps trials on this host apart.
    lock: Path = Field(default_factory=default_lock_path)
    free_bytes: int = 256 * 2**20  # a trial is ended when its disk has less than this left
    # What copies of prepared databases may hold in the bench folder; 0: none.
    prepared_bytes: int = Field(default=2 * 2**30, ge=0)
    # Whether a small process beside each run measures how fast the machine is meanwhile.
    speed_probe: bool = True
    # Whether models for viewers are fitted only while this machine has nothing else to do.
    step_back: bool = True


def load_settings() -> Settings:
    """The settings of this environment.

    Raises:
        InputError: A variable does not hold what it should.
    """
    return from_environment(Settings)


def from_environment(kind: type[S]) -> S:
    """Settings of a kind, read from variables that begin with ``ROCKTUNE_``.

    Raises:
        InputError: A variable does not hold what it should.
    """
    try:
        return kind()
    except ValidationError as error:
        first = error.errors()[0]
        name = f"ROCKTUNE_{first['loc'][0]}".upper()
        raise InputError(name, value_problem(first)) from None
