"""A job as it goes, on standard error."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from api.schemas.job_schemas import JobProgress
from cli.render.job_words import best, ended, not_whole, situation, standing, time_left


class JobView:
    """Shows phase and why, trials done and failed, the best so far and the time left.

    On a terminal a live bar; elsewhere a line for each phase and each tenth of the job. It looks
    as ``TuningProgress`` does, which is told of each trial where this one asks.
    """

    def __init__(self, console: Console) -> None:
        """``console``: one that takes text for text."""
        self._console = console
        self._live = console.is_terminal
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
        self._task = self._bar.add_task(
            "starting", total=None, ended="", failed="", best="", left=""
        )
        self._said = ""
        self._told = -1

    def __enter__(self) -> JobView:
        """Begins to show."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves the terminal as it was."""
        self._bar.stop()

    def show(self, job: JobProgress) -> None:
        """The job as it is now."""
        said = situation(job)
        if said != self._said:
            self._said = said
            self.note(said)
        left = time_left(job)
        self._bar.update(
            self._task,
            description=(job.phase if job.state.value == "running" else None) or job.state.value,
            completed=job.done + job.failed,
            total=job.total,
            ended=ended(job),
            failed=not_whole(job.failed, job.cut_off) if job.failed else "",
            best=best(job),
            left=f"{left} left" if left else "",
        )
        tenth = 10 * (job.done + job.failed) // max(job.total or 1, 1)
        if not self._live and job.total and tenth > self._told:
            self._told = tenth
            self.note(standing(job))

    def note(self, text: str) -> None:
        """A line of its own."""
        self._console.print(text, soft_wrap=True)
