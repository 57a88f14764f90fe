"""What `rocktune doctor` shows: findings as they are made, then the noise and the sum."""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from cli.render.screen import bare_table, say
from jobs.doctor.examination import Diagnosis
from jobs.doctor.findings import ExaminationObserver, Finding, Severity, percentage
from jobs.doctor.noise import WANTED_CHANGES, Noise
from optimizer.budget.power import MOST_PAIRS, POWER
from optimizer.trials.trial import Trial
from sampler.common.untrusted_text import printable

_STYLES = {
    Severity.OK: "green",
    Severity.NOTE: "cyan",
    Severity.WARNING: "yellow",
    Severity.PROBLEM: "red",
}
_INDENT = 9
_CHECK_WIDTH = 14
_WIDTH = 110


class DiagnosisScreen:
    """Shows findings and runs as they come.

    The runs are a live bar on a terminal; elsewhere there is a line for each.
    """

    def __init__(self, console: Console, aside: Console, *, runs: int) -> None:
        """``console`` receives the findings, ``aside`` the progress of the baseline's ``runs``."""
        self._console, self._aside, self._runs = console, aside, runs
        self._bar = Progress(
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
        self._task = self._bar.add_task("looking", total=runs)
        self._holder = ""

    @property
    def observer(self) -> ExaminationObserver:
        """Itself, as the examination knows it."""
        return ExaminationObserver(
            found=self.found, waiting=self.waiting, began=self.began, ended=self.ended
        )

    def __enter__(self) -> DiagnosisScreen:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def found(self, finding: Finding) -> None:
        """A finding was made."""
        self._bar.stop()
        lines = lines_of(finding, min(self._console.width, _WIDTH))
        say(self._console, *lines, style=_STYLES[finding.level])

    def waiting(self, holder: str) -> None:
        """The host is busy."""
        self._bar.start()
        self._bar.update(self._task, description=f"waiting: {holder} uses this host")
        if not self._aside.is_terminal and holder != self._holder:
            self._holder = holder
            self._aside.print(f"waiting: {holder} uses this host")

    def began(self, _number: int) -> None:
        """The baseline is run once more."""
        self._bar.start()
        self._bar.update(self._task, description="running the baseline")

    def ended(self, trial: Trial) -> None:
        """It was."""
        self._bar.update(self._task, completed=trial.number)
        if not self._aside.is_terminal:
            said = (trial.failure or f"{trial.bench_seconds:.1f} s").splitlines()[-1]
            say(self._aside, f"run {trial.number} of {self._runs}: {trial.state}, {said}")

    def sum_up(self, diagnosis: Diagnosis) -> None:
        """The noise, what can be proven, and one last line."""
        if diagnosis.noise:
            self._noise(diagnosis.noise)
        counts = [_counted(diagnosis.count(level), level) for level in reversed(Severity)]
        self._console.print()
        say(self._console, f"{diagnosis.fitness}: {', '.join(counts)}", style="bold")

    def _noise(self, noise: Noise) -> None:
        table = provable_table(noise)
        if not table.rows:
            return
        self._console.print(
            f"\nThe smallest change that can be proven here, with probability {POWER:g}:"
        )
        self._console.print(table)
        for scatter in noise.metrics.values():
            spread, low, high = scatter.noise.spread, scatter.spread_low, scatter.spread_high
            if spread and low and high:
                within = f"{low / spread:.2g} and {high / spread:.2g}"
                told = f"{noise.runs} runs know a spread to within {within} times itself (95%)"
                say(self._console, f"{told}, and changes with it.")
                return  # the same for every metric


def lines_of(finding: Finding, width: int) -> list[str]:
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


def provable_table(noise: Noise) -> Table:
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


def _counted(number: int, level: Severity) -> str:
    return f"{number} {level}{'' if number == 1 or level is Severity.OK else 's'}"


def _pairs(number: int) -> str:
    return f"over {MOST_PAIRS:,}" if number >= MOST_PAIRS else f"{number:,}"
