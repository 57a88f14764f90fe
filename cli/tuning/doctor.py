"""`rocktune doctor`: is this machine fit to measure on?"""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from typer import Option

from cli.options.exits import Exit, interruptible
from cli.options.job_options import Baseline, Workload
from cli.render.screen import bare_table, json_alone, print_json, say, screen, told_on_change
from jobs.doctor.examination import Diagnosis, Fitness, examine
from jobs.doctor.findings import ExaminationObserver, Finding, Severity, percentage
from jobs.doctor.noise import USUAL_TRIALS, WANTED_CHANGES, Noise
from jobs.specification.named_files import specify
from optimizer.budget.power import MOST_PAIRS, POWER
from optimizer.trials.trial import Trial
from sampler.bench.settings import load_settings
from sampler.common.text import printable

EXAMPLES = """
Examples:
  rocktune doctor                    all checks, and ten runs of the baseline
  rocktune doctor --quick            without the runs: takes seconds
  rocktune doctor --quick --json     one JSON document, for scripts
  rocktune doctor --workload load --trials 400    the smallest change that this job can prove
"""


def doctor_command(
    workload: Workload = "load-quick",
    space: Annotated[str, Option(help="Parameter space name or TOML file.")] = "default",
    baseline: Baseline = None,
    runs: Annotated[int, Option(help="Number of runs of the baseline.", min=2, max=1000)] = 10,
    trials: Annotated[
        int | None, Option(help="Trials of the planned job. Default: shows 90, 400 and 1000.")
    ] = None,
    quick: Annotated[
        bool, Option("--quick", help="Skip the baseline runs, and wait for no other benchmark.")
    ] = False,
    as_json: Annotated[bool, json_alone("one JSON document")] = False,
) -> int:
    """Checks whether this machine is fit to measure on, and says what to fix.

    Looks at db_bench, processors, other load, memory and disk. Then runs the baseline
    ten times and shows the smallest change that can be proven here. See
    docs/how-to/check-the-machine.md.

    Exit status: 0 fit (notes and warnings allowed), 3 not fit (a problem was found),
    2 bad input, 1 the tool failed, 130 interrupted.
    """
    specification = specify(workload=workload, space=space, baseline=baseline, trials=trials)
    console, aside = screen(stderr=as_json), screen(stderr=True)
    with interruptible("interrupted"), _observed(console, aside, runs) as observer:
        diagnosis = examine(
            specification,
            load_settings(),
            runs=0 if quick else runs,
            budgets=USUAL_TRIALS if trials is None else (trials,),
            observer=observer,
        )
    _sum_up(console, diagnosis)
    if as_json:
        print_json(diagnosis.document())
    return Exit.ANSWER_IS_NO if diagnosis.fitness is Fitness.NOT_FIT else Exit.DONE


_STYLES = {
    Severity.OK: "green",
    Severity.NOTE: "cyan",
    Severity.WARNING: "yellow",
    Severity.PROBLEM: "red",
}
_INDENT = 9
_CHECK_WIDTH = 14
_WIDTH = 110


@contextmanager
def _observed(console: Console, aside: Console, runs: int) -> Iterator[ExaminationObserver]:
    """Prints findings as they come, and beside them how far the runs are.

    They are a live bar on a terminal; elsewhere there is a line for each.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        console=aside,
        transient=True,
        # Findings may go elsewhere than the bar: they are printed while it is not there.
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not aside.is_terminal,
    )
    task, tell = bar.add_task("looking", total=runs), told_on_change(aside)

    def found(finding: Finding) -> None:
        bar.stop()
        say(console, *_lines(finding, min(console.width, _WIDTH)), style=_STYLES[finding.level])

    def waiting(holder: str) -> None:
        bar.start()
        bar.update(task, description=f"waiting: {holder} is using this host")
        if not aside.is_terminal:
            tell(holder)

    def began(_number: int) -> None:
        bar.start()
        bar.update(task, description="running the baseline")

    def ended(trial: Trial) -> None:
        bar.update(task, completed=trial.number)
        if not aside.is_terminal:
            said = (trial.failure or f"{trial.bench_seconds:.1f} s").splitlines()[-1]
            say(aside, f"run {trial.number} of {runs}: {trial.state}, {said}")

    try:
        yield ExaminationObserver(found=found, waiting=waiting, began=began, ended=ended)
    finally:
        bar.stop()


def _lines(finding: Finding, width: int) -> list[str]:
    """A finding as lines of at most so many columns: level, check, what was found, what to do."""
    parts = [(str(finding.level), finding.check, finding.found)]
    if finding.advice:
        parts.append(("", "what to do:", finding.advice))
    shown = []
    for level, check, text in parts:
        begin = f"{level:{_INDENT}}{check:{_CHECK_WIDTH}} "
        indent = " " * len(begin)
        shown += textwrap.wrap(
            printable(text), width, initial_indent=begin, subsequent_indent=indent
        )
    return shown


def _sum_up(console: Console, diagnosis: Diagnosis) -> None:
    """The noise, what can be proven, and one last line."""
    if diagnosis.noise and diagnosis.noise.pairs_needed:
        _show_noise(console, diagnosis.noise)
    numbers = {level: diagnosis.count(level) for level in reversed(Severity)}
    counts = [
        f"{number} {level}{'' if number == 1 or level is Severity.OK else 's'}"
        for level, number in numbers.items()
    ]
    console.print()
    say(console, f"{diagnosis.fitness}: {', '.join(counts)}", style="bold")


def _show_noise(console: Console, noise: Noise) -> None:
    console.print(f"\nMinimum detectable change here ({POWER:.0%} power):")
    console.print(_provable_table(noise))
    for scatter in noise.metrics.values():
        spread, low, high = scatter.noise.spread, scatter.spread_low, scatter.spread_high
        if spread and low and high:
            factors = f"between {low / spread:.2g} and {high / spread:.2g} times the one shown"
            told = f"From {noise.runs} runs, the true spread is {factors} (95%)"
            say(console, f"{told}; the changes scale with it.")
            return  # the same for every metric


def _provable_table(noise: Noise) -> Table:
    """A row a metric: its spread, the smallest change by budget, the pairs for wanted changes."""
    budgets = [f"{each.trials} trials\n{each.pairs} pairs" for each in noise.provable]
    wanted = [f"pairs for\n{percentage(change)}" for change in WANTED_CHANGES]
    table = bare_table(("",), ("spread", *budgets, *wanted))
    for name, needed in noise.pairs_needed.items():
        spread = noise.metrics[name].noise.spread
        assert spread is not None
        table.add_row(
            printable(name),
            percentage(spread),
            *(percentage(provable.change[name]) for provable in noise.provable),
            *(_pairs(needed[change]) for change in WANTED_CHANGES),
        )
    return table


def _pairs(number: int) -> str:
    return f"over {MOST_PAIRS:,}" if number >= MOST_PAIRS else f"{number:,}"
