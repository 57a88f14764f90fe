"""Whether a hypervisor is beneath: the processor, the firmware and the kernel are asked."""

from __future__ import annotations

from pathlib import Path

from sampler.machine.kernel_files import PROC, SYS, line_of, text_of

# How the firmware of guests names their maker or the machine (SMBIOS, type 1): those of
# systemd's detect-virt that name nothing else, and makers of clouds. All are beginnings.
_GUESTS = (
    "Alibaba Cloud ECS",
    "Apple Virtualization",
    "BHYVE",
    "Bochs",
    "Droplet",
    "Google Compute Engine",
    "Hyper-V",
    "KVM",
    "KubeVirt",
    "OpenStack",
    "Parallels",
    "QEMU",
    "VMW",
    "VMware",
    "Virtual Machine",  # Hyper-V's and Azure's; other machines of Microsoft have other names
    "VirtualBox",
    "Xen",
    "innotek GmbH",
    "vServer",
)
_AMAZON, _METAL = "Amazon EC2", ".metal"


def is_virtual(proc: Path = PROC, sys: Path = SYS) -> bool | None:
    """Whether something says that a hypervisor is beneath; None where nothing tells.

    An x86 processor has a flag for it (CPUID 1, ECX bit 31). Others have none: there a firmware
    that names no hypervisor may just be unknown here.
    """
    told = _firmware(sys)
    if told or _kernel(proc, sys):
        return True
    flags = _flags(proc)
    if flags is not None:
        return "hypervisor" in flags
    return told


def _kernel(proc: Path, sys: Path) -> bool:
    """Linux makes /sys/hypervisor on any machine, and fills it on a hypervisor."""
    try:
        filled = any((sys / "hypervisor").iterdir())
    except OSError:
        filled = False
    return filled or (proc / "device-tree/hypervisor").exists()


def _firmware(sys: Path) -> bool | None:
    names = (line_of(sys / "class/dmi/id" / name) for name in ("sys_vendor", "product_name"))
    maker, machine = (name or "" for name in names)
    if maker == _AMAZON and machine:
        return _METAL not in machine  # m7g.metal, c7i.metal-24xl: without one
    return True if maker.startswith(_GUESTS) or machine.startswith(_GUESTS) else None


def _flags(proc: Path) -> list[str] | None:
    """The flags of an x86 processor; None of any other."""
    for line in (text_of(proc / "cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return value.split()
    return None
