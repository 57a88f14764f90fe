"""The processors: does something else than the configuration set their speed?"""

from __future__ import annotations

from jobs.doctor.finding import Finding, Level
from sampler.machine.cpu_state import CpuState

# The client, a flush and a compaction run at once as soon as a load does anything.
LEAST_CORES = 2
# Who sets the clock where no governor is shown: by whether a hypervisor is beneath.
_DECIDES = {
    True: "the hypervisor's host decides",
    False: "the firmware decides",
    None: "the firmware decides, or a hypervisor's host",
}


def judge_cpu(cpu: CpuState, *, most_jobs: int) -> list[Finding]:
    """Judges the processors.

    Args:
        cpu: The reading.
        most_jobs: The most background jobs that the space may draw.
    """
    findings = [_cores(cpu, most_jobs), _governor(cpu)]
    if cpu.turbo is not None:
        findings.append(_turbo(cpu.turbo))
    if cpu.virtual is None:
        found = "unknown: neither the processor nor the firmware tells whether one is beneath"
        advice = "ask whoever runs this machine: another guest would share caches, memory and disk"
        findings.append(Finding("hypervisor", Level.NOTE, found, advice))
    if cpu.virtual:
        found = "virtual: neighbours share caches, memory and disk, and are seen in no figure here"
        advice = "repeat what matters at another time, or on hardware of your own"
        findings.append(Finding("hypervisor", Level.NOTE, found, advice))
    if cpu.quota is not None and cpu.quota < cpu.cores:
        found = f"a control group grants {cpu.quota:g} CPUs of {cpu.cores}: beyond it all stand"
        advice = "raise the limit (cpu.max, docker --cpus), or pin with --cpuset-cpus instead"
        findings.append(Finding("CPU limit", Level.WARNING, found, advice))
    return findings


def _cores(cpu: CpuState, most_jobs: int) -> Finding:
    if cpu.cores < LEAST_CORES:
        advice = "use at least 2: clients, flushes and compactions take turns on one"
        return Finding("cores", Level.WARNING, f"{cpu.cores}", advice)
    found = f"{cpu.cores}, the space draws up to {most_jobs} background jobs"
    if most_jobs > cpu.cores:
        advice = "do not carry max_background_jobs over to a machine with more cores"
        return Finding("cores", Level.NOTE, found, advice)
    return Finding("cores", Level.OK, found)


def _governor(cpu: CpuState) -> Finding:
    if not cpu.governors:
        return Finding("governor", Level.OK, f"not shown here: {_DECIDES[cpu.virtual]}")
    found = ", ".join(cpu.governors)
    if cpu.governors == ("performance",):
        return Finding("governor", Level.OK, found)
    advice = "`cpupower frequency-set -g performance` as root: the clock then follows no load"
    return Finding("governor", Level.WARNING, found, advice)


def _turbo(on: bool) -> Finding:
    if not on:
        return Finding("turbo", Level.OK, "off")
    advice = "turn it off for the steadiest clocks: it follows heat and the number of busy cores"
    return Finding("turbo", Level.NOTE, "on", advice)
