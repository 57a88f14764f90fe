"""docs/results/verdicts.md: every figure out of the counts that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
_POOLS = {
    "quiet": "a quiet machine",
    "busy": "other programs beside it",
    "rounds": "a quiet machine, reads in three rounds",
}


def page(rows: Sequence[Row], command: str) -> str:
    """The page as Markdown."""
    return "\n".join(
        [
            "# What verdicts say falsely, and what they miss",
            "",
            f"`{command}`: minutes of simulation, no RocksDB. The noise is real: pairs of runs of "
            "the jobs in [real_null_corrected](real_null_corrected.md), which change only options "
            "that do nothing; *in three rounds*: of 12 such jobs of 2026-11-29, whose proofs read "
            "each tree three times and take the median. A simulated verdict draws whole pairs, so "
            "that the metrics stay correlated, and swaps the sides of each by a coin. Raw "
            "time-based metrics. Counts are in [verdicts.jsonl](verdicts.jsonl); seeds are fixed, "
            "and no time is measured.",
            "",
            "## Nothing differs",
            "",
            "Share of verdicts that say anything false. *By intervals*: each metric by its own "
            "95% interval, as until 2026-11-28. *Max-T*: Westfall and Young's test by all changes "
            "of sign, for comparison; it needs six pairs or more. *Moderated*: Smyth's t test "
            "(2004), whose variance is pooled with that of eight runs of the baseline. *Noisier*: "
            "the same, where the winner's variance is four times the baseline's; a paired t test "
            "does not feel that.",
            "",
            "| noise of | pairs | verdicts | called better | a gain | a cost | **anything** | "
            "by intervals | max-T | moderated | noisier |",
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
            *(_null(row) for row in _of(rows, "null")),
            "",
            "## A winner with a true cost",
            "",
            "The winner truly has WAF -35%, TIME -40% and RATE +40% (or the cost, where it is one "
            "of these) and worsens one metric. Share of verdicts that name this cost. *Scatter*: "
            "standard deviation of the logarithm of a pair's ratio. *False*: verdicts that name "
            "anything that does not differ. A cost that even the metric's own interval seldom "
            "shows is beyond these pairs: the verdict then lists the metric under *not "
            "significant*, with the loss that is possible and the smallest that it would have "
            "named. *Pairs*: how many name the cost with 80% probability by the power of the t "
            "test, and the share that did.",
            "",
            "| noise of | metric | scatter | cost | **named** | false | by intervals | max-T | "
            "pairs | then named |",
            "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
            *(_cost(row) for row in _of(rows, "cost")),
            "",
            "## Limits",
            "",
            "The margin follows from eight runs of the baseline before the proof. Share of "
            "verdicts that call the limit kept, by the truth. *By medians*: as until 2026-11-28. "
            "A limit that the median run does not keep is left out: `write_p99 <= 20us` on "
            "2026-11-29, when the median was 54 us.",
            "",
            "| noise of | pairs | limit | margin (median) | **unchanged** | **at the margin** | "
            "broken as stated | the same by medians |",
            "|---|--:|---|--:|--:|--:|--:|--:|",
            *(_limit(row) for row in _of(rows, "limit")),
            "",
        ]
    )


def _of(rows: Sequence[Row], what: str) -> Iterator[Row]:
    return (row for row in rows if row["part"]["what"] == what)


def _null(row: Row) -> str:
    part, found = row["part"], row["found"]
    shares = [found[n] for n in ("confirmed", "gain", "cost")]
    told = " | ".join(map(_share, shares))
    return (
        f"| {_POOLS[part['pool']]} | {part['pairs']} | {part['times']:,} | {told} | "
        f"**{_share(found['anything'])}** | {_share(found['by_intervals'])} | "
        f"{_share(found['by_largest_t'])} | {_share(found['by_moderated_t'])} | "
        f"{_share(found['by_moderated_t_noisier'])} |"
    )


def _cost(row: Row) -> str:
    part, found = row["part"], row["found"]
    return (
        f"| {_POOLS[part['pool']]} | `{part['metric']}` | {100 * found['scatter']:.1f}% | "
        f"{100 * part['cost']:.0f}% | **{_share(found['named'])}** | {_share(found['false'])} | "
        f"{_share(found['by_intervals'])} | {_share(found['by_largest_t'])} | "
        f"{found['needed']} | {_share(found['named_by_needed'])} |"
    )


def _limit(row: Row) -> str:
    part, found = row["part"], row["found"]
    truth = f"{100 * (part['breaking'] - 1):+.0f}%"
    return (
        f"| {_POOLS[part['pool']]} | {part['pairs']} | `{part['limit']}` | "
        f"{100 * found['margin']:.1f}% | **{_share(found['unchanged'])}** | "
        f"**{_share(found['at_margin'])}** | {truth}: {_share(found['breaking'])} | "
        f"{_share(found['breaking_by_medians'])} |"
    )


def _share(share: float) -> str:
    return f"{100 * share:.1f}%"
