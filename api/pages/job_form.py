"""The form of a job: its fields, what may be chosen in them, and what a filled-in form asks for.

Its words are those of the interface's own description, and so are its errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic.fields import FieldInfo

from api.services.dependencies import Service
from jobs.specification.request import JobRequest, kind_of, typed
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import load_objective
from optimizer.strategies.registry import STRATEGIES
from sampler.common.documents import parse_toml
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text

_SHORT = 90
Choice = tuple[str, str]
_FIRST = ("trials", "minutes", "limits", "memory", "detect")
_BASELINES = [("library", "the library's defaults"), ("db_bench", "db_bench's defaults")]


@dataclass(frozen=True)
class FormField:
    """One field."""

    name: str  # as the request has it, or the form alone
    # What is written in it.
    kind: Literal["choice", "whole", "number", "text", "lines", "list", "area", "check", "toml"]
    choices: Sequence[Choice] = ()  # (value, words) of a choice
    instead: str = ""  # the request's field that it fills in another way, where it is filled in

    @property
    def label(self) -> str:
        """As the form shows it."""
        if self.instead:
            return f"{_field(self.instead).title or self.instead.title()} of your own: its TOML"
        return _field(self.name).title or self.name.replace("_", " ").capitalize()

    @property
    def help(self) -> str:
        """What it means, in the words of the interface's description."""
        if self.instead:
            return (
                f"Instead of the {self.instead} that is chosen above; as its file would hold it."
            )
        return _field(self.name).description or ""


def _field(name: str) -> FieldInfo:
    return JobRequest.model_fields[name]


def first_fields(service: Service) -> list[FormField]:
    """What most jobs are asked by."""
    spaces, objectives = _shipped()
    workloads = [_choice(name, each.get("help")) for name, each in service.workloads.items()]
    return [
        FormField("workload", "choice", workloads),
        FormField("space", "choice", spaces),
        FormField("objective", "choice", objectives),
        *(FormField(name, "lines" if name == "limits" else kind_of(name)) for name in _FIRST),
    ]


def further_fields() -> list[FormField]:
    """What is rarely asked for: all that a request has beside."""
    known: dict[str, list[FormField]] = {
        "strategy": [FormField("strategy", "choice", [(name, name) for name in STRATEGIES])],
        "baseline": [FormField("baseline", "choice", _BASELINES)],
        "baseline_options": [FormField("baseline_options", "area")],
        "drop_unknown": [FormField("drop_unknown", "check"),
                         FormField("own_space", "toml", instead="space"),
                         FormField("own_objective", "toml", instead="objective")],
    }  # fmt: skip
    beside = {"workload", "space", "objective", *_FIRST}
    return [
        field
        for name in JobRequest.model_fields
        if name not in beside
        for field in known.get(name, [FormField(name, kind_of(name))])
    ]


def asked_by(form: Mapping[str, str], fields: Sequence[FormField]) -> dict[str, Any]:
    """What a filled-in form asks for, as the interface's JSON would say it.

    What is left empty is not asked for. What is no number stays text, and is refused as such. A
    text that is not TOML is an InputError of its field.
    """
    found: dict[str, Any] = {}
    for field in fields:
        text = form.get(field.name, "")
        if field.kind not in ("area", "toml"):
            text = text.strip()
        if not text.strip():
            continue
        if field.kind == "toml":
            found[field.instead] = parse_toml(text, field=field.name)
        else:
            found[field.name] = _read(field, text)
    return found


def _read(field: FormField, text: str) -> Any:
    if field.kind == "check":
        return True
    if field.kind in ("lines", "list"):
        mark = "\n" if field.kind == "lines" else ","
        return [part.strip() for part in text.split(mark) if part.strip()]
    return typed(field.name, text)


def _choice(name: str, words: object) -> Choice:
    said = str(words or "")
    short = said if len(said) <= _SHORT else f"{said[: _SHORT - 3]}..."
    return name, f"{name}: {short}" if short else name


@lru_cache(maxsize=1)
def _shipped() -> tuple[Sequence[Choice], Sequence[Choice]]:
    """The shipped spaces and objectives, which are files."""
    spaces = [parse_toml(space_text(name), field=name) for name in SPACES]
    objectives = [load_objective(name) for name in OBJECTIVES]
    return (
        [_choice(each["name"], each.get("help")) for each in spaces],
        [_choice(each.name, each.help) for each in objectives],
    )
