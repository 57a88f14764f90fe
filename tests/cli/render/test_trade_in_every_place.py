"""The first line of a verdict and what was paid: the same on terminal, report and in the file."""

from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from rich.console import Console

from cli.render.outcome_screen import batch_table, print_outcome, print_section
from jobs.report.artifacts import report_html
from jobs.report.changed import options_section
from jobs.report.options_file import describe
from jobs.report.section import Cell
from jobs.report.verdict import price_lines
from jobs.results.outcome import JobOutcome
from optimizer.results.document import Result
from sampler.workload.metric_table import READS
from tests.support.jobs.pretended_job import finished_job, lsm
from tests.support.optimizer.pretend_bench import PretendBench, flat, problem_of


@cache
def job(*, better: bool = True) -> JobOutcome:
    """A job whose winner scans slower and takes more memory, by the trigger alone."""

    def measured(configuration: dict) -> dict[str, float]:
        trigger = configuration["level0_file_num_compaction_trigger"]
        reads = dict.fromkeys(READS, 5e4) | {"scan_short": 8e3 * 4 / trigger}
        found = lsm(configuration) if better else flat(configuration)
        return {**found, **reads, "peak_rss": 2**20 * (20.0 + trigger), "memory": 2.0**27}

    noise = dict.fromkeys(("waf", "sa", "time", "rate", "scan_short", "peak_rss"), 0.02)
    return finished_job(30, strategy="random", bench=PretendBench(measured, noise=noise))


@pytest.fixture(scope="module")
def finished() -> JobOutcome:
    return job()


def printed(finished: JobOutcome, *, verbose: bool = False) -> str:
    console = Console(record=True, width=400)
    print_outcome(console, finished.result, job=7, verbose=verbose)
    return console.export_text()


def test_terminal_report_and_file_say_the_same(finished: JobOutcome):
    verdict, result = finished.result["verdict"], Result.read(finished.result)
    assert result.best and verdict["trade"].startswith("Better than the baseline: ")
    assert "short scans -" in verdict["trade"].partition("costs: ")[2]
    lines = price_lines(result)
    assert lines[0].startswith("Costs over 20%: ") and "short scans" in lines[0]
    assert lines[1].startswith(
        "Memory configured at full scale: 128 MiB -> 128 MiB (+0.0%); peak memory"
    )
    screen, page = printed(finished, verbose=True), unescape(report_html(finished))
    file = describe(problem_of(), result, tried=True)
    proof = f"Proof: trial {result.best.trial}, {verdict['why']}."
    assert file[:2] == [f"{verdict['trade']}.", proof]
    for line in lines:
        assert line in screen and line in page and line not in printed(finished)
    assert lines[0] not in file and set(lines[1:]) <= set(file)
    assert f"{verdict['trade']}." in page and proof in page
    assert any(line.startswith("Changes with 95%") and READS[0] in line for line in file)
    for name in (*READS, "not tuned"):
        assert name in screen and name in page
    # The verdict first, a line for each part, then the statistic.
    *told, last = screen.splitlines()[: verdict["trade"].count("; ") + 2]
    assert "; ".join(line[:-1] for line in told).lower() == verdict["trade"].lower()
    assert last == proof


def test_each_metric_is_marked_as_better_or_worse(finished: JobOutcome):
    lines = [line.rstrip() for line in printed(finished).splitlines()]
    assert any(line.startswith("WAF ") and line.endswith("better") for line in lines)
    assert any(line.startswith("scan_short ") and line.endswith("worse") for line in lines)


def test_a_changed_option_has_a_row_with_all_columns_at_80():
    before = {
        "level0_file_num_compaction_trigger": 4,
        "compaction_pri": "kMinOverlappingRatio",
        "soft_pending_compaction_bytes_limit": 68719476736,
        "max_bytes_for_level_multiplier": 10,
    }
    after = {
        "level0_file_num_compaction_trigger": 16,
        "compaction_pri": "kOldestLargestSeqFirst",
        "soft_pending_compaction_bytes_limit": 68720525312,
        "max_bytes_for_level_multiplier": 10.0,
    }
    console = Console(record=True, width=80)
    gains = {"compaction_pri": Cell("+193 [-51, +427]", "not significant by itself")}
    print_section(console, options_section(before, after, gains))
    said = console.export_text()
    assert "predicted fitness" in said and "+193 [-51, +427]" in said
    assert "6872052531" in said and "max_bytes_for_level_multiplier" not in said
    assert all(name in said for name in list(before)[:3])


def test_a_special_value_is_told_with_its_meaning():
    before = {"compaction_readahead_size": 2 * 2**20, "bytes_per_sync": 0}
    after = {"compaction_readahead_size": 0, "bytes_per_sync": 2**20}
    console = Console(record=True, width=200)
    print_section(console, options_section(before, after))
    meaning = (
        "compactions do not read ahead since 8.8; before 8.8 2 MiB with direct reads, else the "
        "kernel decides"
    )
    assert console.export_text().splitlines()[-1] == f"compaction_readahead_size = 0: {meaning}."


def test_a_row_of_a_batch_has_one_fitness():
    """The medians gave 1085, the test 872: the interval is of the second."""
    verdict = {"fitness": 1085.0, "low": 561.0, "high": 1183.0, "p": 0.001}
    item = {
        "item": "load", "state": "done", "error": None, "folder": "load", "trials": 96,
        "fitness": verdict, "confirmed": True, "why": "fitness 872 [561, 1,183]", "change": {},
    }  # fmt: skip
    console = Console(record=True, width=200)
    console.print(batch_table({"items": [item]}))
    said = console.export_text().splitlines()[-1]
    assert said.split() == ["load", "96", "872", "561", "to", "1183", "yes", "load"]


@pytest.mark.slow
def test_the_last_lines_are_the_next_steps(finished: JobOutcome):
    of_earlier_version = printed(finished).partition("\nWhat to do next\n")[2].lstrip()
    assert of_earlier_version.startswith("Set in your program what no OPTIONS file holds.")
    told = {"application": ["filter_policy", "block cache"]}
    finished = replace(finished, result={**finished.result, "export": told})
    said = printed(finished).partition("\nWhat to do next\n")[2]
    assert said.lstrip().startswith(
        "Set in your program what no OPTIONS file holds: filter_policy, block cache (first lines"
    )
    assert "`rocktune options 7 --format setoptions`" in said and " ID" not in said
    assert "`rocktune show 7 --verbose`" in said
    assert "--verbose" not in printed(finished, verbose=True)
    elsewhere = Console(record=True, width=400)
    print_outcome(elsewhere, finished.result, job=7, out=Path("my IDs"), place="--db")
    said = elsewhere.export_text()
    assert "my IDs/OPTIONS.ini" in said and "Give these commands the same --db." in said
    refused = {**finished.result, "export": {"refused": "RocksDB rejects the file"}}
    assert "There is no OPTIONS file: RocksDB rejects the file." in printed(
        replace(finished, result=refused)
    )
    unproven = printed(job(better=False)).partition("\nWhat to do next\n")[2]
    assert "`rocktune doctor`" in unproven and "`rocktune pick 7`" in unproven


def test_nothing_proven_tells_the_trade_too():
    finished = job(better=False)
    verdict = finished.result["verdict"]
    assert finished.result["best"] is None
    assert verdict["trade"].startswith("Nothing was proven better than the baseline; ")
    assert printed(finished).startswith("Nothing was proven better than the baseline.\n")
    assert f"{verdict['trade']}." in unescape(report_html(finished))


def test_a_result_of_an_earlier_version_is_shown_without(finished: JobOutcome):
    old = {k: v for k, v in finished.result["verdict"].items() if k not in ("trade", "price")}
    earlier = replace(finished, result={**finished.result, "verdict": old})
    assert printed(earlier).startswith("Better than the baseline.\nProof: ")
    assert old["why"] in unescape(report_html(earlier))


def test_terminal_and_report_say_how_to_apply_it(finished: JobOutcome):
    changes = {row["name"]: row["apply"] for row in finished.result["best"]["changes"]}
    screen, page = printed(finished), unescape(report_html(finished))
    restart = [name for name, apply in changes.items() if apply["call"] is None]
    assert ("need a restart or more" in screen) == bool(restart)
    assert not restart or f"need a restart or more: {', '.join(restart)}." in screen
    assert any(apply["call"] for apply in changes.values())
    assert "`rocktune options 7 --format setoptions` prints the calls" in screen
    assert ">How to apply it</h2>" in page
    assert 'db->SetOptions({{"' in page and "Restart with OPTIONS.ini to change: " in page


def test_a_result_of_an_earlier_version_is_told_without_how(finished: JobOutcome):
    old = [{k: v for k, v in row.items() if k != "apply"}
           for row in finished.result["best"]["changes"]]  # fmt: skip
    best = {**finished.result["best"], "changes": old}
    earlier = replace(finished, result={**finished.result, "best": best})
    assert "--format setoptions" not in printed(earlier)
    assert ">How to apply it</h2>" in unescape(report_html(earlier))
