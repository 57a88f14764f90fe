"""Who else is at work: processes, other benchmarks, other guests of the hypervisor."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.doctor.finding import Finding, Level, graded, not_shown, percent
from sampler.machine.host_load import CpuUse, Pressure

# Shares of all processors. The quick load uses 1.6 CPU seconds in 1.3 s: of 2 cores it leaves
# 0.75, on the average and not in its bursts. What others take beyond a few percent is missing at
# times; a quarter of the machine, half a core of two, is missing often.
OTHERS_NOTE, OTHERS_WARNING, OTHERS_PROBLEM = 0.02, 0.05, 0.25
# Whoever steals is not to be seen from here and cannot be ended: it counts sooner.
STOLEN_NOTE, STOLEN_WARNING, STOLEN_PROBLEM = 0.005, 0.01, 0.10
# Share of the last ten seconds in which somebody waited for a disk: the same few percent at first,
# more at the end, for a trial writes mostly to the page cache.
IO_NOTE, IO_WARNING, IO_PROBLEM = 0.05, 0.15, 0.60


def judge_load(use: CpuUse, pressure: Pressure, *, seconds: float) -> list[Finding]:
    """Judges what others did while Rocktune looked on.

    Args:
        use: What was used.
        pressure: The kernel's own view.
        seconds: How long it looked on.
    """
    return [_others(use, pressure, seconds), _stolen(use.stolen), _disk_pressure(pressure)]


def _others(use: CpuUse, pressure: Pressure, seconds: float) -> Finding:
    if use.others is None:
        return not_shown("other load", "/proc/stat")
    names = ", ".join(f"{name} ({pid}) {percent(share)}" for name, pid, share in use.busiest)
    load = "not shown" if pressure.load is None else f"{pressure.load:g}"
    waited = pressure.stalled.get("cpu")
    found = (
        f"others used {percent(use.others)} of all CPUs over {seconds:g} s, load average {load}"
        + (f", somebody waited {percent(waited)} of the last 10 s" if waited is not None else "")
    )
    level = graded(use.others, note=OTHERS_NOTE, warning=OTHERS_WARNING, problem=OTHERS_PROBLEM)
    if level is Level.OK:
        return Finding("other load", level, found)
    advice = "end it, or measure when it is over"
    if pressure.by_session:
        advice += (
            "; nice does not hold it back while kernel.sched_autogroup_enabled is 1, which shares "
            "processors between sessions first"
        )
    return Finding("other load", level, f"{found}: {names or 'unseen'}", advice)


def _stolen(stolen: float | None) -> Finding:
    if stolen is None:
        return not_shown("stolen time", "/proc/stat")
    level = graded(stolen, note=STOLEN_NOTE, warning=STOLEN_WARNING, problem=STOLEN_PROBLEM)
    found = f"{percent(stolen)} of the time of all CPUs"
    advice = "move to a host or a kind of instance whose CPUs are yours alone"
    return Finding("stolen time", level, found, "" if level is Level.OK else advice)


def _disk_pressure(pressure: Pressure) -> Finding:
    if "io" not in pressure.stalled:
        return not_shown("disk load", "/proc/pressure/io")
    waited = pressure.stalled["io"]
    level = graded(waited, note=IO_NOTE, warning=IO_WARNING, problem=IO_PROBLEM)
    found = f"somebody waited for a disk {percent(waited)} of the last 10 s"
    advice = "look who (iotop, pidstat -d 1), and measure when it is over"
    return Finding("disk load", level, found, "" if level is Level.OK else advice)


def judge_benchmarks(others: Sequence[int] | None, holder: str | None) -> list[Finding]:
    """Judges other benchmarks at work here.

    Args:
        others: Numbers of the processes named db_bench; None where no process is shown.
        holder: Who holds the host's lock; None where nobody does.
    """
    if holder:
        found = f"{holder} holds this host for a trial"
        advice = "wait for its job: Rocktune takes turns with it, one trial at a time"
        return [Finding("benchmarks", Level.WARNING, found, advice)]
    if others:
        found = f"db_bench runs already, outside of Rocktune's lock: {', '.join(map(str, others))}"
        advice = "end it: two benchmarks on one machine measure each other"
        return [Finding("benchmarks", Level.PROBLEM, found, advice)]
    if others is None:
        return [not_shown("benchmarks", "/proc")]
    return [Finding("benchmarks", Level.OK, "no other at work")]
