"""What can be asked for: workloads and spaces."""

from __future__ import annotations

from fastapi import APIRouter

from api.schemas import CatalogueEntry
from sampler.documents import read_document
from sampler.space_file import SHIPPED as SPACES
from sampler.space_file import space_text
from sampler.workload_file import SHIPPED as WORKLOADS
from sampler.workload_file import load_workload, workload_document

router = APIRouter(prefix="/v1", tags=["catalogue"])


@router.get("/workloads", operation_id="list_workloads")
def list_workloads() -> list[CatalogueEntry]:
    """The workloads that a job may name."""
    documents = [workload_document(load_workload(name)) for name in WORKLOADS]
    return [CatalogueEntry(name=d["name"], help=d["help"], document=d) for d in documents]


@router.get("/spaces", operation_id="list_spaces")
def list_spaces() -> list[CatalogueEntry]:
    """The parameter spaces that a job may name."""
    documents = [read_document(space_text(name), field=name) for name in SPACES]
    return [CatalogueEntry(name=d["name"], help=d["help"], document=d) for d in documents]
