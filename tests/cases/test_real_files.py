"""Public artefacts of people who run RocksDB are read right, or refused right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.cases import loads, logs, options, other_forms, profiles
from tests.support.cases.case import Case, Ran
from tests.support.cli.terminal import Desk

CASES = [
    pytest.param(
        case,
        marks=[pytest.mark.db_bench] if case.db_bench else [],
        id=f"{case.artefact} {case.command[0]}",
    )
    for part in (options, loads, logs, profiles, other_forms)
    for case in part.CASES
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_artefact(
    case: Case,
    desk: Desk,
    here: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in {"COLUMNS": "200", "NO_COLOR": "1", **case.environment}.items():
        monkeypatch.setenv(name, value)
    status = here(*case.arguments(desk.folder), *case.sooner)
    ran = Ran(status, *capsys.readouterr())
    assert (ran.status == case.status) != ("exit status" in case.missing), ran.stdout + ran.stderr
    if ran.status != case.status:
        return
    got = case.read(ran)
    for name, value in case.expected.items():
        if isinstance(value, float):
            value = pytest.approx(value, rel=case.within, abs=0.0)
        assert (got[name] == value) != (name in case.missing), (name, got)
