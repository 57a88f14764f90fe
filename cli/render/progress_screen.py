"""How far a job is, on standard error: a live bar on a terminal, elsewhere a line now and then.

``TuningProgress`` is told of each trial of a job that runs here; ``JobView`` shows what a service
says of one. Both look the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from cli.render.screen import say, told_on_change
from sampler.runner.outcome import TrialState

if TYPE_CHECKING:
    from api.schemas.job_schemas import JobProgress
    from jobs.experiments.experiment import Experiment, MeasuredRun, RunsObserver
    from optimizer.run.planning import RunProgress
    from optimizer.trials.trial import Phase, Trial


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

    def _advance(self, number: int, total: int | None, line: str, **fields: Any) -> None:
        self._bar.update(self._task, completed=number, total=total, **fields)
        tenth = 10 * number // max(total or 1, 1)
        if not self._live and total and tenth > self._told:
            self._told = tenth
            self.note(line)


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
        number, failed = standing.done + standing.failed, standing.failed
        ended = f"{number}/{standing.total}"
        failures = not_whole(failed, standing.counts.get(TrialState.CENSORED, 0))
        best = best_words(*(standing.best or (None, None)))
        left = f"{_clock(standing.seconds_left)} left"
        line = f"{ended} trials, {failures}, {best}, {left}"
        shown = {"ended": ended, "failed": failures if failed else "", "best": best, "left": left}
        self._advance(number, standing.total, line, **shown)

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
        left = time_left(job)
        self._advance(
            job.done + job.failed,
            job.total,
            progress_line(job),
            description=(job.phase if job.state.value == "running" else None) or job.state.value,
            ended=ended_of(job),
            failed=not_whole(job.failed, job.cut_off) if job.failed else "",
            best=best_so_far(job) if job.title is None else "",
            left=f"{left} left" if left else "",
        )


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


def ended_of(job: JobProgress) -> str:
    """How many trials have ended, of how many."""
    count = job.done + job.failed
    return str(count) if job.total is None else f"{count}/{job.total}"


def runs_word(job: JobProgress) -> str:
    """What a job makes."""
    return "trials" if job.title is None else "runs"


def not_whole(failed: int, cut_off: int) -> str:
    """How many trials ended without a whole measurement; ``failed`` counts cut-off ones too."""
    said = f"{failed - cut_off} failed"
    return f"{said}, {cut_off} cut off" if cut_off else said


def progress_line(job: JobProgress) -> str:
    """One line: trials, failures, the best, the time left."""
    best = best_so_far(job) if job.title is None else ""
    left = f"{time_left(job)} left" if time_left(job) else ""
    parts = (f"{ended_of(job)} {runs_word(job)}", not_whole(job.failed, job.cut_off), best, left)
    return ", ".join(filter(None, parts))


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
