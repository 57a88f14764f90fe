"""The scales that are compared: the same load, its pairs and its byte-sized options divided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jobs.specification.specification import Specification
from jobs.specification.validation import specification_of
from optimizer.objective.objective_file import load_objective, objective_document
from sampler.common.documents import parse_toml
from sampler.space.space_file import space_text
from sampler.workload.workload_file import load_workload, workload_document

# zlib takes half as long again as zstd and lz4hc as long for less (medians of the space's random
# draws in docs/results/reproduction.md); bzip2 and xpress are not in the space.
CODECS = ("none", "snappy", "lz4", "zstd")
_SLACK_SECONDS = 60.0


@dataclass(frozen=True)
class Scale:
    """One size of the load.

    Attributes:
        divisor: Of every byte-sized option; 1 is full size.
        num: Pairs of 16 B and 1 KiB that are written.
        limit_seconds: A run that takes longer is cut off: its time is a lower bound.
        rounds: How often each draw is measured; from 2 on the noise of a ranking is seen.
    """

    divisor: int
    num: int
    limit_seconds: float
    rounds: int

    @property
    def name(self) -> str:
        """As the page writes it: 1/64."""
        return "1" if self.divisor == 1 else f"1/{self.divisor}"


SCALES = (
    Scale(64, 100_000, 60.0, 2),
    Scale(8, 800_000, 180.0, 2),
    Scale(1, 6_400_000, 900.0, 1),
)


def specification_at(scale: Scale) -> Specification:
    """The quick load at a scale, in the default space without slow codecs.

    No more memory than the default's is allowed, as in any job on that space.
    """
    load = replace(
        load_workload("load-quick"),
        name=f"load-{scale.num}",
        num=scale.num,
        scale=scale.divisor,
        timeout_seconds=scale.limit_seconds + _SLACK_SECONDS,
    )
    return specification_of(
        workload=workload_document(load),
        space=space_without_slow_codecs(),
        objective=objective_document(load_objective("paper")),
        shipped_space=True,
        trials=100,
    )


def space_without_slow_codecs() -> dict[str, Any]:
    """The space ``default`` as a document, its codecs narrowed."""
    document = dict(parse_toml(space_text("default"), field="default"))
    document["parameter"] = [
        {**row, "choices": list(CODECS)} if row["name"] == "compression_type" else row
        for row in document["parameter"]
    ]
    return document
