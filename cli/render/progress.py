"""Live progress of a tuning job on standard error."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from cli.render.job_words import not_whole
from optimizer.run.progress import RunProgress
from optimizer.trials.trial import Phase, Trial
from sampler.runner.outcome import TrialState


class TuningProgress:
    """Shows phase, trials done and failed, the best so far and the time left.

    On a terminal a live bar; elsewhere (a log, cron) a line for each phase and each tenth of the
    job, so that a log can be read later.
    """

    def __init__(self, console: Console, total: int | None) -> None:
        """``total``: trials in all, None while they are not known."""
        self._console, self._total = console, total
        self._live = console.is_terminal
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[failed]}"),
            TextColumn("{task.fields[best]}"),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=not self._live,
        )
        self._task: TaskID = self._bar.add_task(
            "starting", total=total or 1, failed="", best="", left=""
        )
        self._told = -1
        self._holder = ""

    def __enter__(self) -> TuningProgress:
        """Begins to show."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves the terminal as it was."""
        self._bar.stop()

    def phase(self, phase: Phase, why: str) -> None:
        """The job entered a phase."""
        self._bar.update(self._task, description=phase.value)
        said = Text.assemble((phase.value, "bold"), f": {why}")
        self._console.print(said, soft_wrap=True)

    def trial_started(self, trial: Trial) -> None:
        """A trial begins: shown by the bar alone."""

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        """A trial ended."""
        if trial.state not in (TrialState.DONE, TrialState.CENSORED):
            reason = (trial.failure or "").splitlines()
            said = reason[-1] if reason else ""
            self._console.print(
                f"trial {trial.number} {trial.state.value}: {said}", markup=False, highlight=False
            )
        ended = standing.done + standing.failed
        failures = not_whole(standing.failed, standing.counts.get(TrialState.CENSORED, 0))
        self._bar.update(
            self._task,
            completed=ended,
            total=standing.total,
            failed=failures if standing.failed else "",
            best=_best(standing),
            left=f"{_clock(standing.seconds_left)} left",
        )
        tenth = 10 * ended // max(standing.total, 1)
        if not self._live and tenth > self._told:
            self._told = tenth
            self._console.print(
                f"{ended}/{standing.total} trials, {failures}, {_best(standing)}, "
                f"{_clock(standing.seconds_left)} left",
                highlight=False,
            )

    def host_set_aside(self, host: str, why: str) -> None:
        """A host measures no more for this job."""
        self._console.print(f"host {host} is set aside: {why}", markup=False, highlight=False)

    def tick(self) -> None:
        """A moment passed: the bar redraws itself."""

    def away(self, what: str) -> None:
        """The database does not answer, or is back."""
        self._console.print(what, markup=False, highlight=False)

    def waiting(self, holder: str) -> None:
        """The host is busy."""
        self._bar.update(self._task, left=f"waiting: {holder} uses this host")
        if not self._live and holder != self._holder:
            self._holder = holder
            self._console.print(f"waiting: {holder} uses this host", markup=False, highlight=False)


def _best(standing: RunProgress) -> str:
    if standing.best is None:
        return "no best yet"
    number, fitness = standing.best
    return f"best {fitness:+z.0f} (trial {number})"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
