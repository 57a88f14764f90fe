"""Whether a hypervisor is beneath, told from made-up /proc and /sys."""

from pathlib import Path

import pytest

from sampler.machine.machine import is_virtual
from tests.support.jobs.made_up import tree

X86, X86_GUEST = "flags\t\t: fpu vme\n", "flags\t\t: fpu hypervisor\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd\n"


@pytest.mark.parametrize(
    ("cpuinfo", "maker", "machine", "virtual"),
    [
        (X86, "Dell Inc.", "PowerEdge R750", False),
        (X86, "Microsoft Corporation", "Surface Pro 9", False),
        (X86, "Microsoft Corporation", "Virtual Machine", True),
        (X86_GUEST, "Dell Inc.", "PowerEdge R750", True),
        (X86, "QEMU", "Standard PC (Q35 + ICH9, 2009)", True),
        (X86, "Red Hat", "KVM", True),
        (X86, "Amazon EC2", "c7i.metal-24xl", False),
        (ARM, "Amazon EC2", "c7g.large", True),
        (ARM, "Amazon EC2", "c7g.metal", False),
        (ARM, "Google", "Google Compute Engine", True),
        (ARM, "Microsoft Corporation", "Virtual Machine", True),
        (ARM, "VMware, Inc.", "VMware20,1", True),
        # Whether it is nobody's guest, or a guest of somebody who is unknown here, is not told.
        (ARM, "Ampere(R)", "Mt. Jade", None),
        (ARM, "", "", None),
        ("", "", "", None),
    ],
)
def test_processor_and_firmware(
    tmp_path: Path, cpuinfo: str, maker: str, machine: str, virtual: bool | None
):
    tree(tmp_path / "proc", {"cpuinfo": cpuinfo})
    firmware = {"sys_vendor": f"{maker}\n", "product_name": f"{machine}\n"}
    tree(tmp_path / "sys" / "class" / "dmi" / "id", firmware)
    assert is_virtual(tmp_path / "proc", tmp_path / "sys") is virtual


@pytest.mark.parametrize(
    "file", ["sys/hypervisor/type", "sys/hypervisor/x", "proc/device-tree/hypervisor/x"]
)
def test_the_kernel_tells(tmp_path: Path, file: str):
    tree(tmp_path, {file: "xen\n"})
    assert is_virtual(tmp_path / "proc", tmp_path / "sys") is True


def test_an_empty_folder_for_hypervisors_is_on_any_machine(tmp_path: Path):
    tree(tmp_path / "proc", {"cpuinfo": X86})
    (tmp_path / "sys" / "hypervisor").mkdir(parents=True)
    assert is_virtual(tmp_path / "proc", tmp_path / "sys") is False
