"""The workloads that jobs over HTTP may name: the shipped ones and the operator's own.

Nothing that comes over HTTP ever becomes a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.specification.programs_from_anywhere import findable
from sampler.common.errors import InputError
from sampler.workload.workload_file import SHIPPED, load_workload, workload_document


def registered_workloads(folder: Path | None) -> dict[str, Mapping[str, Any]]:
    """The documents of all workloads that may be named, by name.

    Args:
        folder: The operator's own; None for none.

    Raises:
        InputError: A file of the folder is wrong, or takes a name that is taken.
    """
    documents: dict[str, Mapping[str, Any]] = {
        name: workload_document(load_workload(name)) for name in SHIPPED
    }
    if folder is None:
        return documents
    if not folder.is_dir():
        raise InputError("ROCKTUNE_WORKLOADS_DIR", f"{str(folder)!r} is not a folder")
    for path in sorted(folder.glob("*.toml")):
        try:
            document = workload_document(findable(load_workload(str(path)), folder))
        except InputError as error:
            raise InputError(f"ROCKTUNE_WORKLOADS_DIR ({path.name})", str(error)) from None
        name = document["name"]
        if name in documents:
            problem = f"the name {name!r} is taken; rename the workload in it"
            raise InputError(f"ROCKTUNE_WORKLOADS_DIR ({path.name})", problem)
        documents[name] = document
    return documents
