"""Programs that a job names, named so that they are found from any folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sampler.workload.workload import Workload


def findable_program(db_bench: str | None) -> str | None:
    """A path from the root, so that it leads to the same program from anywhere; names stay."""
    if db_bench is None or "/" not in db_bench:
        return db_bench
    return str(Path(db_bench).expanduser().absolute())


def findable(workload: Workload, beside: Path) -> Workload:
    """A workload whose own program is named so that it is found from anywhere.

    A relative path is meant from where the user stands, or else from beside the workload's file.
    """
    command = workload.command
    if command is None or "/" not in command.argv[0]:
        return workload
    here, near = Path(command.argv[0]), beside / command.argv[0]
    program = here if here.exists() or not near.exists() else near
    argv = (str(program.absolute()), *command.argv[1:])
    return replace(workload, command=replace(command, argv=argv))
