"""The form of a job: its fields, what may be chosen in them, and what a filled-in form asks for.

Its words are those of the interface's own description, and so are its errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from api.schemas.job_schemas import JobChange
from api.services.dependencies import Service
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import load_objective
from optimizer.strategies.registry import STRATEGIES
from sampler.common.documents import read_document
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text

_SHORT = 90
_WHOLE = re.compile(r"[+-]?\d{1,30}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
Choice = tuple[str, str]


@dataclass(frozen=True)
class FormField:
    """One field.

    Attributes:
        name: As the interface has it, or the form alone.
        label: As the form shows it.
        kind: What is written in it.
        choices: (value, words) of a choice.
        instead: The interface's field that it fills in another way, where it is filled in.
        help: What it means.
    """

    name: str
    label: str
    kind: Literal["choice", "whole", "number", "text", "lines", "words", "area", "check", "toml"]
    choices: Sequence[Choice] = ()
    instead: str = ""

    @property
    def help(self) -> str:
        """What it means, in the words of the interface's description."""
        if self.instead:
            return (
                f"Instead of the {self.instead} that is chosen above; as its file would hold it."
            )
        return JobChange.model_fields[self.name].description or ""


def first_fields(service: Service) -> list[FormField]:
    """What most jobs are asked by."""
    spaces, objectives = _shipped()
    workloads = [_choice(name, each.get("help")) for name, each in service.workloads.items()]
    return [
        FormField("workload", "Workload", "choice", workloads),
        FormField("space", "Parameter space", "choice", spaces),
        FormField("objective", "Objective", "choice", objectives),
        FormField("trials", "Trials", "whole"),
        FormField("minutes", "Minutes", "number"),
        FormField("limits", "Limits, one a line", "lines"),
        FormField("memory", "Memory", "text"),
        FormField("detect", "Change to be shown", "text"),
    ]


def further_fields() -> list[FormField]:
    """What is rarely asked for."""
    return [
        FormField("strategy", "Strategy", "choice", [(name, name) for name in STRATEGIES]),
        FormField("baseline", "Baseline", "choice",
                  [("library", "the library's defaults"), ("db_bench", "db_bench's defaults")]),
        FormField("baseline_options", "Baseline: the text of an OPTIONS file", "area"),
        FormField("drop_unknown", "Leave out options of it that RocksDB does not know", "check"),
        FormField("own_space", "Parameter space of your own: its TOML", "toml", instead="space"),
        FormField("own_objective", "Objective of your own: its TOML", "toml",
                  instead="objective"),
        FormField("start_from", "Starting points, with commas between", "words"),
        FormField("warm_start", "Learn from earlier jobs", "text"),
        FormField("over", "Search these parameters alone, with commas between", "words"),
        FormField("samples", "Samples", "whole"),
        FormField("top", "Top", "whole"),
        FormField("generations", "Generations", "whole"),
        FormField("fitness", "Enough fitness", "number"),
        FormField("cutoff", "Cut-off", "number"),
        FormField("stop_early", "Stop early, when nothing better is to be expected", "check"),
        FormField("scale", "Scale", "whole"),
        FormField("confirm_scale", "Scale of the confirmation", "whole"),
        FormField("seed", "Seed", "whole"),
        FormField("db_bench", "RocksDB build", "text"),
        FormField("host_kind", "Kind of hosts", "text"),
        FormField("priority", "Priority", "whole"),
    ]  # fmt: skip


def asked_by(form: Mapping[str, str], fields: Sequence[FormField]) -> dict[str, Any]:
    """What a filled-in form asks for, as the interface's JSON would say it.

    What is left empty is not asked for. What is no number stays text, and is refused as such.

    Raises:
        InputError: A text is not TOML; it names the form's field.
    """
    found: dict[str, Any] = {}
    for field in fields:
        text = form.get(field.name, "")
        if field.kind not in ("area", "toml"):
            text = text.strip()
        if not text.strip():
            continue
        if field.kind == "toml":
            found[field.instead] = read_document(text, field=field.name)
        else:
            found[field.name] = _READ.get(field.kind, str)(text)
    if _WHOLE.fullmatch(str(found.get("warm_start", ""))):
        found["warm_start"] = int(found["warm_start"])
    return found


def _whole(text: str) -> int | str:
    return int(text) if _WHOLE.fullmatch(text) else text


def _number(text: str) -> float | str:
    return float(text) if _NUMBER.fullmatch(text) else text


def _parts(mark: str) -> Callable[[str], list[str]]:
    return lambda text: [part.strip() for part in text.split(mark) if part.strip()]


_READ: Mapping[str, Callable[[str], Any]] = {
    "whole": _whole,
    "number": _number,
    "lines": _parts("\n"),
    "words": _parts(","),
    "check": bool,
}


def _choice(name: str, words: object) -> Choice:
    said = str(words or "")
    short = said if len(said) <= _SHORT else f"{said[: _SHORT - 3]}..."
    return name, f"{name}: {short}" if short else name


@lru_cache(maxsize=1)
def _shipped() -> tuple[Sequence[Choice], Sequence[Choice]]:
    """The shipped spaces and objectives, which are files."""
    spaces = [read_document(space_text(name), field=name) for name in SPACES]
    objectives = [load_objective(name) for name in OBJECTIVES]
    return (
        [_choice(each["name"], each.get("help")) for each in spaces],
        [_choice(each.name, each.help) for each in objectives],
    )
