import json
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from cli.operations.nights import nights_command
from cli.options.exits import Exit
from db.nightly.nights import nights_of_batch as stored_nights
from jobs.regression.detection import detect_regressions
from jobs.regression.triage import triage_of
from sampler.common.errors import InputError
from tests.support.api.watched_nights import kept_nights
from tests.support.jobs.batch_nights import FIRST, nights_of, result
from tests.support.jobs.recorded_nights import NEW, Planted, recorded_nights

pytestmark = pytest.mark.one_database

BASE = {"waf": 2.3, "sa": 0.62, "time": 1.1, "rate": 110_000.0}
STEADY = [1.1 + 0.002 * (night % 3) for night in range(14)]


def nights(times: list[float]) -> list[dict[str, Any]]:
    return [result(BASE | {"time": each}) for each in times]


def run(engine: Engine, name: str = "nightly", **given: object) -> int:
    url = engine.url.render_as_string(hide_password=False)
    settings = {"last": 14, "false_alarms": 1.0, "out": None, "as_json": False} | given
    return nights_command(name=name, db=url, **settings)  # type: ignore[arg-type]


def test_steady_then_slower(
    database: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept_nights(database, nights(STEADY), name="steady")
    assert run(database, "steady") == Exit.DONE
    shown = capsys.readouterr().out
    assert "TIME of the default" in shown and "14 nights, 4 series" in shown

    slower = next(n for n in range(15, 25) if watched(STEADY + [1.4] * (n - 14)))
    kept_nights(database, nights(STEADY + [1.4] * (slower - 14)))
    page = tmp_path / "nights.html"
    assert run(database, out=page) == Exit.ANSWER_IS_NO
    shown = capsys.readouterr().out
    assert "load/default: since 2026-11-15" in shown and "1.4!" in shown
    assert "Written to" in shown and 'class="plot"' in page.read_text()
    assert run(database, as_json=True, last=3) == Exit.ANSWER_IS_NO
    document = json.loads(capsys.readouterr().out)
    assert document == detect_regressions(stored_nights(database, "nightly")).document()
    assert document["worsened"] and document["findings"][0]["since"] == (
        FIRST.replace(day=15).isoformat()
    )


def watched(times: list[float]) -> bool:
    return detect_regressions(nights_of(nights(times))).worsened


def test_refusals(database: Engine) -> None:
    with pytest.raises(InputError, match="no batch named 'other' has ended"):
        run(database, "other")
    with pytest.raises(
        InputError, match=r"--false-alarms: 0\.0 is not in the range above 0 to 100"
    ):
        run(database, false_alarms=0.0)


def test_the_triage_of_a_night_in_words_and_for_a_program(
    database: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = Planted(
        metrics={"waf": 1.4},
        counters={"compact.write.bytes": 1.9},
        options={"max_background_jobs": 1},
        environment={"build": NEW, "db_bench": "/opt/new/db_bench"},
    )
    kept_nights(database, *recorded_nights(planted))
    assert run(database, triage=True) == Exit.DONE, "the newest night itself shows none"
    shown = capsys.readouterr().out
    assert "nightly: since 2026-11-17 (batch 17); the night before is 2026-11-16" in shown
    assert re.search(r"load/default: WAF of the default \+(3[789]|4\d)\S* \(.*\), worse", shown)
    assert "before: job 16, RocksDB 7.8.3 (SHA-256 abababababab), on bench" in shown
    assert "default of max_background_jobs changed from 2 to 1" in shown
    written = (
        r"compact.write.bytes: \d+\.?\d* MiB before, \d+\.?\d* MiB after "
        r"\(\+[89]\d\.\d%\), without overlap"
    )
    assert re.search(written, shown)
    assert "upgrade-check /opt/rocksdb/db_bench /opt/new/db_bench --workload load-quick" in shown
    assert "does not show that one caused the other" in shown
    assert run(database, triage=True, night=17, as_json=True) == Exit.DONE
    document = json.loads(capsys.readouterr().out)
    report = detect_regressions(stored_nights(database, "nightly"))
    assert document == triage_of(database, report, "nightly", 17)
    with pytest.raises(InputError, match="night: no change at batch 3"):
        run(database, triage=True, night=3)
    with pytest.raises(InputError, match="--night: works only with --triage"):
        run(database, night=17)


def test_a_triage_without_a_change_says_so(
    database: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    kept_nights(database, nights(STEADY), name="steady")
    assert run(database, "steady", triage=True) == Exit.DONE
    assert capsys.readouterr().out == "steady: no change of level found\n"
