"""Options worked out from the size of a database, by KIOXIA's tuning guide."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from api.auth.security import requires
from api.http.problems import EVERYWHERE
from api.schemas.guide_schemas import GuideAnswer
from db.access.tokens import Role
from sampler.kioxia_guide.document import guide_document
from sampler.kioxia_guide.guide import OPEN_FILES, compute_guide, read_planned

router = APIRouter(
    prefix="/v1",
    tags=["catalogue"],
    responses=EVERYWHERE,
    dependencies=[requires(Role.READ)],
)
_Number = Annotated[str, Query(max_length=40, examples=["8e9"])]


@router.get("/guide", operation_id="work_out_guide")
def work_out_guide(
    keys: Annotated[_Number, Query(description="Pairs that the database will hold, as 8e9.")],
    key_size: Annotated[_Number, Query(description="Bytes of a key, as 20.")],
    value_size: Annotated[_Number, Query(description="Bytes of a value, as 800 or 4KiB.")],
    cpu_threads: Annotated[_Number, Query(description="Hardware threads, as 48.")],
    memory: Annotated[_Number, Query(description="Memory of the machine, as 128GB.")],
    open_files: Annotated[
        _Number, Query(description="Files that may be open: half for keys, half for values.")
    ] = str(OPEN_FILES),
) -> GuideAnswer:
    """What KIOXIA's tuning guide recommends: computed, not measured."""
    planned = read_planned(
        keys=keys,
        key_size=key_size,
        value_size=value_size,
        cpu_threads=cpu_threads,
        memory=memory,
        open_files=open_files,
    )
    return GuideAnswer(**guide_document(compute_guide(planned)))
