import json
from pathlib import Path

import pytest

from jobs.autotune.policy import POLICIES
from studies.autotune.__main__ import main
from studies.autotune.page import write_page
from studies.autotune.plan import asked, missing, steps
from studies.autotune.tables import ratio_words
from studies.json_lines import read_lines


def row(policy: str, repeat: int, rate: float) -> dict:
    figures = {"insertion_rate": rate, "compaction_rate": 2 * rate, "recovery_seconds": None}
    return {
        "run": f"350-{repeat}-{policy}", "shape": "350", "repeat": repeat, "policy": policy,
        "ended": "2026-11-22T10:00:00+00:00", "rocksdb": "9.8.4", "figures": figures,
        "asked": {"policy": policy, "shape": {"name": "350", "seconds": 35.0, "low": 5e7,
                                              "high": 2e8, "tail": 1e7}},
        "levels": [{"number": 0, "files": 3, "mib": 12}], "off": [],
        "curve": [[0.0, 0, 0, 0.0], [1.0, 10**8, 10**8, 0.0], [2.0, 2 * 10**8, 10**8, 0.0]],
    }  # fmt: skip


PROBE = {
    "run": "probe", "share": 0.1, "capacity": 190e6, "measured": True,
    "host": {"cpu": "A CPU", "cores": 2, "virtual": True, "memory_bytes": 2**34,
             "file_system": "ext4", "system": "Debian"},
}  # fmt: skip


def test_every_round_has_every_policy_once_in_an_order_of_its_own() -> None:
    wanted = steps({"350": 6, "700": 2})
    assert len({step.name for step in wanted}) == len(wanted) == 8 * len(POLICIES)
    rounds = [tuple(s.policy for s in wanted[i : i + 5]) for i in range(0, len(wanted), 5)]
    assert all(sorted(policies) == sorted(POLICIES) for policies in rounds)
    assert len(set(rounds)) > 1
    assert wanted == steps({"350": 6, "700": 2})


def test_what_is_there_is_not_measured_again() -> None:
    wanted = steps({"350": 1})
    rows = [{"run": "probe"}, {"run": wanted[0].name}, {"run": wanted[3].name}]
    assert missing(wanted, rows) == [wanted[1], wanted[2], wanted[4]]


def test_rates_follow_the_disk_and_times_the_share() -> None:
    step = steps({"700": 1})[0]
    full, half = (asked(step, capacity=c, share=s) for c, s in ((190e6, 1.0), (95e6, 0.1)))
    assert (full.shape.low, full.shape.high, full.shape.tail) == pytest.approx((5e7, 2e8, 1e7))
    assert (full.shape.seconds, full.marks.step) == (700.0, pytest.approx(10.0))
    assert (half.shape.high, half.shape.seconds) == pytest.approx((1e8, 70.0))
    assert half.marks.step == pytest.approx(1.0)
    assert half.factor == pytest.approx(0.1)


def test_ratios_are_taken_within_rounds() -> None:
    # Rounds differ tenfold, the policies by 20% in each.
    rows = [row("on", i, 10.0**i) for i in (1, 2, 3)] + [
        row("tuned", i, 1.2 * 10.0**i) for i in (1, 2, 3)
    ]
    assert ratio_words(rows, "tuned", "on", "insertion_rate") == "+20.0% (+20.0 to +20.0)"
    assert ratio_words(rows[:4], "tuned", "on", "insertion_rate") == "+20.0% (one round)"
    assert ratio_words(rows, "tuned", "on", "recovery_seconds") == "n/a"


def test_the_page_tells_figures_machine_and_command(tmp_path: Path) -> None:
    raw = tmp_path / "docs" / "results" / "autotune.jsonl"
    raw.parent.mkdir(parents=True)
    rows = [PROBE, *(row(policy, i, 1e8 + i * 1e6) for policy in POLICIES for i in (0, 1))]
    page = write_page(raw, "make prove-autotune", rows)
    assert "| insertion rate, MB/s | 100 (100 to 101) |" in page
    assert "from 50 to 200 MB/s" in page
    assert "61.92" in page  # the document's, beside
    assert "![tuned: 100 MB/s written" in page
    assert (raw.with_suffix("") / "350-tuned.svg").is_file()
    assert page == (tmp_path / "docs" / "results" / "autotune.md").read_text()


def test_without_runs_the_page_says_so(tmp_path: Path) -> None:
    raw = tmp_path / "docs" / "results" / "autotune.jsonl"
    main(["--page", "--raw", str(raw)])
    page = (tmp_path / "docs" / "results" / "autotune.md").read_text()
    assert f'Nothing yet: `make prove-autotune ARGS="--raw {raw}"` measures' in page


def test_runs_are_kept_as_they_end_and_only_those_missing_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(tmp_path / "bench"))
    monkeypatch.setenv("ROCKTUNE_LOCK", str(tmp_path / "lock"))
    raw = tmp_path / "docs" / "results" / "autotune.jsonl"
    raw.parent.mkdir(parents=True)
    probe = PROBE | {"share": 0.002, "capacity": 4e6}
    made = steps({"350": 1})
    kept = [row(step.policy, 0, 1e6) for step in made[:4]]
    raw.write_text("".join(json.dumps(each) + "\n" for each in (probe, *kept)))
    monkeypatch.setattr("jobs.autotune.compare.measure_policy", _instant)
    main(["--repeats", "1", "--share", "0.002", "--raw", str(raw)])
    rows = read_lines(raw)
    assert [each["run"] for each in rows[1:]] == [step.name for step in made]
    assert rows[1:5] == kept
    with pytest.raises(SystemExit, match="share"):
        main(["--repeats", "1", "--share", "0.5", "--raw", str(raw)])


def _instant(asked, folder, *, told):  # type: ignore[no-untyped-def]
    """The real run, with a load that no busy machine slows and without reads."""
    from dataclasses import replace

    from tests.support.jobs.small_wave import ran

    del told
    return ran(folder, replace(asked, read_seconds=0.0, value_size=2000))
