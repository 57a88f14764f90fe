"""Public artefacts of people who run RocksDB are read right, or refused right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import loads, logs, options
from tests.support.cases.case import Case

CASES = [
    pytest.param(
        case,
        marks=[pytest.mark.db_bench] if case.db_bench else [],
        id=f"{case.artefact} {case.command[0]}",
    )
    for case in (*options.CASES, *loads.CASES, *logs.CASES)
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_artefact(case: Case, tmp_path: Path) -> None:
    ran = case.run(tmp_path)
    assert ran.status == case.status, ran.stdout + ran.stderr
    got = case.read(ran)
    for name, value in case.expected.items():
        if isinstance(value, float):
            value = pytest.approx(value, rel=case.within, abs=0.0)
        assert got[name] == value, (name, got)
