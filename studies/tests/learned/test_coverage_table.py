"""The table of `make prove-coverage`: what it counts, and what it calls wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from studies import coverage_table
from tests.support.optimizer.known_truth import BLOCKS, METRICS, line_of

pytestmark = pytest.mark.usefixtures("unranked")

EFFECTS, *_ = BLOCKS
Line = dict[str, Any]


def test_a_job_is_the_same_whenever_it_is_simulated():
    assert line_of(EFFECTS, 7) == line_of(EFFECTS, 7)


class TestTable:
    def line(self, block: str, number: int, **more: Any) -> Line:
        changes = {metric: [0.0, -1.0, 1.0] for metric in METRICS}
        usual = {"block": block, "job": number, "pairs": 3, "gain": False, "changes": changes}
        return usual | more

    def lines(self, *, missed: int = 5, gains: int = 2) -> list[Line]:
        """A hundred jobs of each block, so many of which miss the truth or report a gain."""
        off = {metric: [5.0, -1.0, 1.0] for metric in METRICS}
        return [
            self.line(block.name, n, gain=n < gains, **({"changes": off} if n < missed else {}))
            for block in BLOCKS
            for n in range(100)
        ]

    def test_says_nothing_where_all_is_as_it_should_be(self):
        assert not any("hold" in said for said in coverage_table.wrong(self.lines()))

    def test_names_what_holds_too_seldom_or_too_often(self):
        for missed in (10, 1):
            said = coverage_table.wrong(self.lines(missed=missed))
            assert sum(f"{100 - missed}.0% of the intervals hold" in line for line in said) == 4

    def test_names_null_jobs_that_report_a_gain_too_often(self):
        said = coverage_table.wrong(self.lines(gains=8))
        named = [line for line in said if "report a gain" in line]
        assert [line.split(":")[0] for line in named] == ["null", "null, heavy tails"]
        assert "8.0% (3.5 to 15.2)" in named[0]

    def test_names_what_was_not_simulated(self):
        said = coverage_table.wrong([line for line in self.lines() if line["block"] != "null"])
        assert "null: nothing was simulated" in said

    def test_counts_what_the_lines_hold(self):
        page = coverage_table.table([*self.lines(), self.line("null", 100, changes={})])
        (row,) = [line for line in page.splitlines() if line.startswith("| null |")]
        assert row.startswith("| null | 101 | 1 | 2.0% (0.2 to 7.0) | 95.0% of 400 | 95.0% (88.7")

    def test_a_line_that_a_kill_cut_off_is_simulated_again(self, tmp_path: Path):
        path = tmp_path / "lines.jsonl"
        whole = json.dumps(self.line("null", 0))
        path.write_text(f'{whole}\n{{"block": "nu')
        assert coverage_table.read(path) == [json.loads(whole)]
        assert path.read_text() == whole + "\n"

    def test_what_is_there_is_not_simulated_again(self, tmp_path: Path):
        path = tmp_path / "lines.jsonl"
        known = "".join(json.dumps(self.line(block.name, 0)) + "\n" for block in BLOCKS)
        path.write_text(known)
        assert coverage_table.simulate(path, 1, processes=1) == 0
        path.write_text(known.splitlines(keepends=True)[1])
        assert coverage_table.simulate(path, 1, processes=1) == 3
        made = coverage_table.read(path)
        assert [line["block"] for line in made] == [
            "null",
            *(b.name for b in BLOCKS if b.name != "null"),
        ]
        assert made[1] == line_of(EFFECTS, 0)
