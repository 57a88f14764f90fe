"""The console, tables and progress of every command: text on them is nothing but text.

``TuningProgress`` is told of each trial of a job that runs here; ``JobView`` shows what a service
says of one. Both look the same: a live bar on a terminal, elsewhere a line now and then.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Annotated, Any, Self

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from typer import Option

from sampler.bench.outcome import TrialState
from sampler.common.text import printable

if TYPE_CHECKING:
    from api.schemas.job_schemas import JobProgress
    from jobs.experiments.experiment import Experiment, MeasuredRun, RunsObserver
    from optimizer.run.planning import RunProgress
    from optimizer.trials.trial import Phase, Trial


_WIDTH = 10_000  # a pipe has none of its own: what reads it cuts no line


class TextConsole(Console):
    """A console on which text is nothing but text, whoever wrote it.

    Markup and emoji are off. All that is printed, in tables and bars too, comes by ``render``:
    what a terminal would obey is taken out there, and what Rich itself says to it is added later.

    Without a terminal a table is as wide as its cells, unless ``COLUMNS`` says how wide it may be.
    """

    def __init__(self, *, stderr: bool = False, highlight: bool = True) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=highlight)
        if not self.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
            self.width = _WIDTH

    def on_broken_pipe(self) -> None:
        """Ends the command, for whoever read its output has gone (``rocktune tune 2>&1 | head``).

        Standard error tells how far work is: without it the work ends as by Ctrl-C, and can be
        gone on with. Standard output has what was asked for: then nothing is left to do.

        Raises:
            KeyboardInterrupt: Nobody reads standard error any more.
            SystemExit: Nobody reads standard output any more.
        """
        if not self.stderr:
            super().on_broken_pipe()
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        raise KeyboardInterrupt

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of what is printed, each without what a terminal would obey."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            if control or text.isprintable():
                yield segment
            else:
                yield Segment("\n".join(map(printable, text.split("\n"))), style)


def screen(*, stderr: bool = False) -> Console:
    """A console for lines and tables, without colours for figures."""
    return TextConsole(stderr=stderr, highlight=False)


def json_alone(what: str) -> Any:
    """The option ``--json`` of a command that then writes a document and nothing else."""
    return Option("--json", help=f"Print only {what} to standard output.")


Verbose = Annotated[
    bool, Option("--verbose", help="Also print measurement, explanation and parameter ranking.")
]


def print_json(document: Any) -> None:
    """One JSON document as a line of standard output; a ValueError of what is not finite."""
    sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")


def say(console: Console, *lines: str | Text, style: str | None = None) -> None:
    """Prints each line in one line, whatever it holds and however narrow the terminal is."""
    for line in lines:
        shown = printable(line) if isinstance(line, str) else line
        console.print(shown, style=style, markup=False, highlight=False, soft_wrap=True)


def bare_table(*titles: Sequence[str], no_wrap: bool = False) -> Table:
    """A table without lines; more columns may be added to it.

    ``titles`` are those of columns of words, then of figures, then of words again, and so on. With
    ``no_wrap`` figures are cut rather than wrapped where a terminal is narrow, and words folded.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for group, figures in zip(titles, cycle((False, True)), strict=False):
        for title in group:
            if figures:
                table.add_column(title, justify="right", no_wrap=no_wrap)
            else:
                table.add_column(title, overflow="fold" if no_wrap else "ellipsis")
    return table


def if_known(value: float | None, form: str, unknown: str = "") -> str:
    """A figure as ``str.format`` writes it."""
    return unknown if value is None else form.format(value)


def told_on_change(
    console: Console, line: str = "waiting: {} is using this host"
) -> Callable[[str], None]:
    """Says who is waited for, whenever it is somebody else."""
    told = [""]

    def tell(who: str) -> None:
        if who != told[0]:
            told[0] = who
            say(console, line.format(who))

    return tell


def told_by_tenths(console: Console) -> Callable[[str], None]:
    """Says lines; of those that begin with a percentage the first of each tenth."""
    reached = [-1]

    def tell(line: str) -> None:
        percent = line.partition("%")[0]
        if not percent.isdecimal():
            say(console, line)
        elif int(percent) // 10 > reached[0]:
            reached[0] = int(percent) // 10
            say(console, line)

    return tell


@dataclass(frozen=True)
class HowFar:
    """How far a job is; ``failed`` counts cut-off trials too."""

    done: int
    failed: int
    cut_off: int
    total: int | None  # None: not known yet
    best: str
    left: str  # the time left, as a clock shows it; empty where it is not known
    what: str = "trials"  # that it makes

    @property
    def ended(self) -> str:
        """How many have ended, of how many."""
        count = self.done + self.failed
        return str(count) if self.total is None else f"{count}/{self.total}"

    @property
    def failures(self) -> str:
        """How many ended without a whole measurement."""
        said = f"{self.failed - self.cut_off} failed"
        return f"{said}, {self.cut_off} cut off" if self.cut_off else said

    @property
    def line(self) -> str:
        """One line: trials, failures, the best, the time left."""
        left = f"{self.left} left" if self.left else ""
        parts = (f"{self.ended} {self.what}", self.failures, self.best, left)
        return ", ".join(filter(None, parts))


class _Bar:
    """A bar with the best so far and the time left; without a terminal a line for each tenth."""

    def __init__(self, console: Console, total: int | None = None) -> None:
        self._console, self._live = console, console.is_terminal
        self._bar = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=24),
            *(
                TextColumn(f"{{task.fields[{name}]}}", markup=False)
                for name in ("ended", "failed", "best", "left")
            ),
            console=console,
            disable=not self._live,
        )
        ended = "" if total is None else f"0/{total}"
        self._task = self._bar.add_task(
            "starting", total=total, ended=ended, failed="", best="", left=""
        )
        self._told = -1

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def note(self, text: str) -> None:
        """A line of its own."""
        say(self._console, text)

    def _advance(self, far: HowFar, **more: Any) -> None:
        number, total = far.done + far.failed, far.total
        failed = far.failures if far.failed else ""
        self._bar.update(
            self._task, completed=number, total=total, ended=far.ended, failed=failed,
            best=far.best, left=f"{far.left} left" if far.left else "", **more,
        )  # fmt: skip
        tenth = 10 * number // max(total or 1, 1)
        if not self._live and total and tenth > self._told:
            self._told = tenth
            self.note(far.line)


class TuningProgress(_Bar):
    """Shows a job that runs here: phase, trials done and failed, the best, the time left."""

    def __init__(self, console: Console, total: int | None) -> None:
        """``total``: trials in all, None while they are not known."""
        super().__init__(console, total or 1)
        self._say_on_change = told_on_change(console)

    def phase(self, phase: Phase, why: str) -> None:
        """The job entered a phase."""
        self._bar.update(self._task, description=phase.value)
        say(self._console, Text.assemble((phase.value, "bold"), f": {why}"))

    def trial_started(self, trial: Trial) -> None:
        """A trial begins: shown by the bar alone."""

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        """A trial ended."""
        if trial.state not in (TrialState.DONE, TrialState.CENSORED):
            last = (trial.failure or "").splitlines()[-1:]
            self.note(f"trial {trial.number} {trial.state.value}: {''.join(last)}")
        best = best_words(*(standing.best or (None, None)))
        cut_off = standing.counts.get(TrialState.CENSORED, 0)
        done, failed, left = standing.done, standing.failed, _clock(standing.seconds_left)
        self._advance(HowFar(done, failed, cut_off, standing.total, best, left))

    def host_excluded(self, host: str, why: str) -> None:
        """A host measures no more for this job."""
        self.note(f"host {host} is excluded: {why}")

    def host_readmitted(self, host: str, why: str) -> None:
        """An excluded host measures again."""
        self.note(f"host {host} is {why}")

    def tick(self) -> None:
        """A moment passed: the bar redraws itself."""

    def waiting(self, holder: str) -> None:
        """The host is busy."""
        self._bar.update(self._task, left=f"waiting: {holder} is using this host")
        if not self._live:
            self._say_on_change(holder)


class JobView(_Bar):
    """Shows a job as a service tells it: phase and why, how far it is, the best, the time left."""

    _said = ""

    def show(self, job: JobProgress) -> None:
        """The job as it is now."""
        said = situation(job)
        if said != self._said:
            self._said = said
            self.note(said)
        phase = job.phase if job.state.value == "running" else None
        self._advance(how_far(job), description=phase or job.state.value)


def runs_observer(console: Console, run_of: str) -> RunsObserver:
    """Tells how many runs are left, each that ended, and who else uses the host.

    ``run_of`` says how a run's ``case`` and ``side`` are told.
    """
    from jobs.experiments.experiment import RunsObserver

    def begins(runs: Experiment, left: int) -> None:
        of_all = "" if left == runs.total else f" left of {runs.total}"
        say(console, f"{left} runs{of_all}")

    def ended(run: MeasuredRun) -> None:
        said = run.state if run.failure is None else f"{run.state}: {run.failure}"
        what = run_of.format(case=run.case, side=run.side)
        say(console, f"round {run.round}, {what}: {said}, {run.seconds:.1f} s")

    return RunsObserver(begins=begins, waiting=told_on_change(console), ended=ended)


def best_words(trial: int | None, fitness: float | None) -> str:
    """The best so far; of None there is none."""
    return "no best yet" if fitness is None else f"best {fitness:+z.0f} (trial {trial})"


def best_so_far(job: JobProgress) -> str:
    """The same of a job."""
    return best_words(*((job.best.trial, job.best.fitness) if job.best else (None, None)))


def time_left(job: JobProgress) -> str:
    """The time left, as a clock shows it; empty where it is not known, or nothing goes on."""
    if job.state.value != "running" or job.seconds_left is None:
        return ""
    return _clock(job.seconds_left)


def how_far(job: JobProgress) -> HowFar:
    """How far a job is, as a service tells it; an experiment has no best."""
    experiment = job.title is not None
    best, what = ("", "runs") if experiment else (best_so_far(job), "trials")
    return HowFar(job.done, job.failed, job.cut_off, job.total, best, time_left(job), what)


def situation(job: JobProgress) -> str:
    """One line: what it does, and why."""
    if job.state.value != "running":
        why = job.error or job.why
        return why if why == job.state.value else f"{job.state.value}: {why}"
    return f"{job.phase or job.state.value}: {job.why}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
