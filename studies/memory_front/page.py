"""docs/results/memory.md: sentences around the tables, with every figure out of the trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sampler.common.byte_size import format_bytes
from sampler.parameters.catalogue import catalogue
from studies.memory_front import tables
from studies.memory_front.asked import QUICK
from studies.memory_front.draws import fitness_of_draws, recorded_draws
from studies.memory_front.front import explored
from studies.reproduction.page import machine_words
from studies.reproduction.study import Study
from studies.reproduction.tables import options

_MULTIPLES = (1, 2, 4, 8)


def write_page(
    out: Path, command: str, studies: Mapping[str, Study], reproduction: Study | None
) -> str:
    """Writes the page and, beside the archives, its plots.

    Args:
        out: The page's path.
        command: What made it.
        studies: All jobs by name; at least one.
        reproduction: The job of 2,000 random draws at the default's memory; None without.

    Returns:
        The page.
    """
    quick = {name: study for name, study in studies.items() if name.startswith(QUICK)}
    larger = {name: study for name, study in studies.items() if name not in quick}
    parts = [_HEAD, f"Command: `{command}`.", *map(_job, studies.values())]
    for load, group in (("load", larger), ("quick", quick)):
        if group:
            parts += _group(out, load, group)
    if quick:
        parts += _at_the_default(quick, reproduction)
    parts += _recorded()
    text = "\n\n".join(parts) + "\n"
    out.write_text(text, encoding="utf-8")
    return text


_HEAD = """# What more memory buys

Random draws without a budget buy most of what they gain with write buffers (last table). So a job
keeps the memory of its baseline (memtables and block cache) unless `--memory` says otherwise.
Here the same search runs under 1, 2, 4 and 8 times the default's memory, always against the
default at its own memory: what is gained at 1x costs none of it, what more is gained is bought.

`load-quick` is too small for more than 2x: a load must write 16 times the write buffers, or it
measures memory. The four budgets are compared under a load of 300,000 pairs, the rest of it as
`load-quick`. *Proof* is of fresh runs, winner and default in turn; *best single run* is the
luckiest of many, and mostly reads too high.

The budget bounds what the options may hold in memtables and block cache. It does not bound what
compactions hold while they run (`compaction_readahead_size` times the files that are read,
`subcompactions`): that is in the row `peak_rss`, of the scaled-down load. Where it matters,
`--limit "peak_rss <= 1.1 baseline"` bounds it too."""


def _job(study: Study) -> str:
    asked = study.archive.specification
    made, whole = len(study.trials), asked.trials or 0
    state = "" if study.complete else f" **Not finished: {made} of {whole} runs.**"
    return (
        f"- `{asked.workload['name']}`, {tables.multiple_of(study):g}x, strategy "
        f"`{asked.strategy}`, seed {asked.seed}.{state} {machine_words(study)}"
    )


def _group(out: Path, load: str, group: Mapping[str, Study]) -> list[str]:
    first = next(iter(group.values()))
    level, found = tables.own_memory(first), explored(group)
    workload = first.archive.specification.workload
    parts = [
        f"## {workload['num']:,} pairs\n\nThe default uses {format_bytes(int(level))}. Fitness is "
        "the paper's: 0 is the default, each of the four metrics counts 10 for a percent.",
        tables.proof_table(group),
        tables.change_table(group),
    ]
    if len(group) > 1:
        folder = out.parent / "memory"
        plots = {"fitness": tables.fitness_plot(group, found, level)}
        if any(study.result["verdict"] for study in group.values()):
            plots["changes"] = tables.change_plot(group)
        for name, plot in plots.items():
            path = folder / f"{load}-{name}.svg"
            path.write_text(plot, encoding="utf-8")
            parts.append(f"![{name} against memory]({path.relative_to(out.parent)})")
    parts.append(
        "All jobs of this load together, the best single run within each budget:\n\n"
        + tables.front_table(found, level, _MULTIPLES)
    )
    for name, study in group.items():
        if study.result["verdict"]:
            parts.append(f"What the winner of `{name}` sets:\n\n{options(study)}")
    return parts


def _at_the_default(quick: Mapping[str, Study], reproduction: Study | None) -> list[str]:
    """The guided search beside random draws, of the same space, load and memory."""
    at_one = next((study for study in quick.values() if tables.multiple_of(study) == 1), None)
    if at_one is None or reproduction is None:
        return []
    guided = [each.fitness for each in explored({"": at_one})]
    draws = fitness_of_draws(reproduction)
    return [
        "## At the default's memory, against random draws\n\nThe draws are those of "
        f"[reproduction.md](reproduction.md), {len(draws):,} of the same space and load at the "
        "same memory; *mean* is over all ways to take so many of them. Single runs on both sides: "
        "the best are also the luckiest.",
        tables.budget_table(guided, draws),
        "Of the draws and a genetic search after them, "
        f"{reproduction.archive.specification.trials:,} runs in all, the proof is "
        f"{_proof(reproduction)}; of the guided search, {at_one.archive.specification.trials} "
        f"runs in all, {_proof(at_one)}.",
    ]


def _proof(study: Study) -> str:
    verdict = study.result["verdict"]
    if not verdict:
        return "not made yet"
    middle = (verdict["low"] + verdict["high"]) / 2
    return f"{middle:,.0f} [{verdict['low']:,.0f}, {verdict['high']:,.0f}]"


def _recorded() -> list[str]:
    defaults = catalogue()
    sizes = (defaults[name].default for name in ("write_buffer_size", "max_write_buffer_number"))
    size, number = (int(value) for value in sizes)
    draws = recorded_draws()
    return [
        f"## Draws without a budget\n\n{len(draws)} recorded random draws of 30 options without "
        "a limit on memory, 100,000 pairs, counted without waiting for compactions, single runs: "
        "how a search without a budget gains.",
        tables.recorded_table(draws, size * number),
    ]


def names_in(folder: Path) -> Sequence[str]:
    """The jobs whose trials are kept, the larger load first, by rising memory."""
    names = [path.name.removesuffix(".jsonl.gz") for path in folder.glob("*.jsonl.gz")]
    return sorted(names, key=lambda name: (name.startswith(QUICK), len(name), name))
