from pathlib import Path

import pytest

from benchmarks.overhead import instant, main, measure
from optimizer.budget.budget import LEAST_TRIALS, divide


@pytest.mark.slow
def test_forty_trials_on_each_database(empty_database_url: str, tmp_path: Path):
    figures = measure(empty_database_url, instant(40, tmp_path), tmp_path)
    # Its clocks are real: the fewer seem better than the baseline, the fewer are measured again.
    assert divide(40).explore < figures.trials <= 40
    # Which is more depends on what else the machine does meanwhile.
    assert figures.whole > 0 and figures.bare > 0
    assert figures.net == figures.whole - figures.bare
    assert list((tmp_path / "bench").iterdir()) == []
    assert len(figures.row("SQLite")) == 10


@pytest.mark.slow
def test_it_prints_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PGHOST", raising=False)
    main([LEAST_TRIALS])
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("database | trials | ms/trial | bare | net | first 10% | last 10%")
    assert line.startswith(f"SQLite | {LEAST_TRIALS} | ")
    assert len(line.split(" | ")) == len(head.split(" | ")) == 10
