"""docs/results/reproduction.md: sentences around the tables; every figure is of the trials."""

from __future__ import annotations

from collections import Counter

from sampler.common.byte_size import format_bytes
from studies.arguments import days_words
from studies.reproduction import tables
from studies.reproduction.published import FITNESS, GENERATION
from studies.reproduction.study import Study

_COMMAND = "`make reproduction`"


def page(paper: Study, default: Study | None, *, remarks: str) -> str:
    """The whole page.

    Args:
        paper: The paper's own pipeline.
        default: The same budget in Rocktune's own default way; None while it is not there.
        remarks: Where and why it differs, as prose without figures.
    """
    parts = [_head(paper), _paper(paper), remarks.strip()]
    parts.append(_default(default) if default else _NOT_YET)
    return "\n\n".join(parts) + "\n"


_NOT_YET = """## The same budget under Rocktune's rules

Not measured yet."""


def _head(study: Study) -> str:
    return f"""# The reference paper, repeated

H. Jin, W. G. Choi, J. Choi, H. Sung, S. Park, "Improvement of RocksDB Performance via Large-Scale
Parameter Analysis and Optimization", Journal of Information Processing Systems 18(3), 2022: 2,000
random configurations of 30 parameters, a random forest, an analysis of variance, then a genetic
algorithm over four of them. {_COMMAND} repeats it with real runs and writes this page: its figures
are computed from [reproduction/paper.jsonl.gz](../reproduction/paper.jsonl.gz), a trial a line.

{machine_words(study)}"""


def machine_words(study: Study) -> str:
    """When a job was measured, on what, and for how long."""
    about = study.archive.environment or {}
    rocksdb = about.get("rocksdb", "?")
    trials = study.trials
    days = {t.started_at.date().isoformat() for t in trials if t.started_at}
    return (
        f"Measured {days_words(days)} on {about.get('cores')} "
        f"cores ({about.get('cpu')}, {format_bytes(about.get('memory_bytes', 0))}, "
        f"{about.get('file_system')}, kernel {about.get('kernel')}, {about.get('system')}), "
        f"RocksDB {rocksdb}: {len(trials):,} runs of `db_bench`, "
        f"{sum(t.bench_seconds for t in trials) / 3600:.2f} hours."
    )


def _unfinished(study: Study) -> str:
    if study.complete:
        return ""
    made, all_of_it = len(study.trials), study.archive.specification.trials
    return (
        f"\n**Not finished: {made:,} of {all_of_it:,} runs are made.** What follows is "
        "what these say so far.\n"
    )


def _states(states: Counter[str]) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in states.most_common())


def _settings(study: Study) -> str:
    asked = study.archive.specification
    workload = asked.workload
    drawn = f"{len(study.draws):,} random draws ({_states(study.states)})"
    return (
        f"{drawn}; {workload['num']:,} pairs of {workload['key_size']} B and "
        f"{workload['value_size']:,} B at scale 1/{workload['scale']}, "
        f"`settle = {workload['settle']}`; runs that took more than "
        f"{asked.search['cutoff']:g} times the baseline's time were cut off (`censored`: their "
        "TIME is a lower bound, and they have no WAF and no SA)."
    )


def _paper(study: Study) -> str:
    parts = [
        f"## The paper's pipeline\n{_unfinished(study)}\n{_settings(study)}",
        "### How well the forests predict (R2)\n\n" + tables.forests(study, published=True),
        "### What matters\n\nRanks by mean decrease in impurity, averaged over the metrics.\n\n"
        + tables.ranking(study, published=True),
        "### Analysis of variance\n\nSpread is the largest group mean over the smallest. RATE is "
        "learned as a logarithm, whose means have no such ratio.\n\n" + tables.analyses(study),
        "The two most and the two least important parameters here:\n\n" + tables.extremes(study),
    ]
    if study.generations:
        parts.append(
            f"### The genetic algorithm\n\nThe paper reached a fitness of about {FITNESS:,} in "
            f"generation {GENERATION}.\n\n![fitness by generation](../reproduction/paper.svg)\n\n"
            + tables.generations(study)
        )
    if study.result["verdict"]:
        parts.append(_verdict(study, published=True))
    return "\n\n".join(parts)


def _verdict(study: Study, *, published: bool) -> str:
    verdict = study.result["verdict"]
    return (
        f"### The best against the default\n\nTrial {verdict['trial']}, {verdict['pairs']} fresh "
        f"pairs, baseline and best in turn: {verdict['why']}.\n\n"
        f"{tables.changes(study, published=published)}\n\n{tables.options(study)}"
    )


def _default(study: Study) -> str:
    parts = [
        "## The same budget under Rocktune's rules\n\n"
        "`--space default`: only what an OPTIONS file can carry, no more memory than the "
        "baseline, every load settled before it counts.\nTrials: "
        "[reproduction/default.jsonl.gz](../reproduction/default.jsonl.gz).\n"
        f"{_unfinished(study)}\n{machine_words(study)}\n\n{_settings(study)}",
        tables.forests(study, published=False),
        tables.ranking(study, published=False),
    ]
    if study.generations:
        parts.append(
            "![fitness by generation](../reproduction/default.svg)\n\n" + tables.generations(study)
        )
    if study.result["verdict"]:
        parts.append(_verdict(study, published=False))
    return "\n\n".join(parts)
