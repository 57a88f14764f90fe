"""Sections as Markdown: tables in columns, and nothing of others that acts."""

from jobs.report.section import Cell, Code, Items, Section, Table, Text, columns, markdown_text
from jobs.report.sections import sections
from jobs.results.outcome import JobOutcome
from optimizer.results.document import Result


def test_every_kind_of_block_and_the_text_of_others() -> None:
    blocks = [
        Text("Better: a<b.", "strong"),
        Text("Type `rocktune pick 5 --limit \"waf <= 1 baseline\"` [or](not)."),
        Items(["one", "t*w*o"]),
        Table(columns(("metric",), ("change",)), [("x|y", Cell("-3%", "-4% to -2%", "better"))],
              "Medians."),
        Code("OPTIONS.ini", "[DBOptions]"),
    ]  # fmt: skip
    empty = Section("empty", "Nothing", [])
    assert markdown_text("job 1", [Section("a", "Result", blocks), empty]) == "\n\n".join(
        [
            "# job 1",
            "## Result",
            "**Better: a\\<b.**",
            'Type `rocktune pick 5 --limit "waf <= 1 baseline"` \\[or](not).',
            "- one\n- t\\*w\\*o",
            "| metric | change |\n| --- | ---: |\n| x\\|y | -3%, -4% to -2%, better |\n\nMedians.",
            "```\n[DBOptions]\n```",
        ]
    )


def test_a_result_has_its_verdict_and_its_proof(finished: JobOutcome) -> None:
    text = markdown_text("job 7", sections(Result.read(finished.result), job=7).values())
    assert "\n## Result\n\n**Better than the baseline: " in text
    assert "| metric | baseline | best | change 95% interval |" in text
    assert "`rocktune options 7" in text
