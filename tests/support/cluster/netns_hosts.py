"""Hosts in a network of their own: a network namespace for each, and a bridge that joins them.

A link can be cut as a cable is pulled: nothing is refused, nothing answers. Needs root and
iproute2's `ip`. Names hold this process's number, so two runs do not meet, and what a killed run
left is known by it.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAMESPACES = Path("/run/netns")
_MARK = "rtn"  # the kernel allows 15 characters for a link's name


@dataclass(frozen=True)
class HostNetwork:
    """A bridge with an address of its own, and one namespace for each host.

    Attributes:
        names: The hosts.
        address: The bridge's: where the root namespace listens for them.
    """

    names: tuple[str, ...]
    address: str
    tag: str

    def inside(self, name: str) -> list[str]:
        """What a command line begins with that runs on a host; the process stays the same."""
        return ["nsenter", f"--net={_NAMESPACES / self._place(name, 'n')}", "--"]

    def cut(self, name: str) -> None:
        """Pulls a host's cable."""
        _ip("link", "set", self._place(name, "v"), "down")

    def join(self, name: str) -> None:
        """Puts it back."""
        _ip("link", "set", self._place(name, "v"), "up")

    def make(self) -> None:
        bridge, width = f"{self.tag}b", "/28"
        _ip("link", "add", bridge, "type", "bridge")
        _ip("address", "add", self.address + width, "dev", bridge)
        _ip("link", "set", bridge, "up")
        base, _, last = self.address.rpartition(".")
        for place, name in enumerate(self.names, 1):
            space, outer = self._place(name, "n"), self._place(name, "v")
            _ip("netns", "add", space)
            _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", outer, "master", bridge, "up")
            own = f"{base}.{int(last) + place}{width}"
            _ip("-n", space, "address", "add", own, "dev", "eth0")
            for link in ("lo", "eth0"):
                _ip("-n", space, "link", "set", link, "up")

    def _place(self, name: str, kind: str) -> str:
        return f"{self.tag}{kind}{self.names.index(name)}"


@contextmanager
def host_network(*names: str) -> Iterator[HostNetwork]:
    """A network for up to 13 hosts, removed at the end whatever happened.

    Raises:
        RuntimeError: It cannot be made here; the message says why.
    """
    if reason := _lacking():
        raise RuntimeError(reason)
    remove_left()
    network = HostNetwork(names, _own_address(), f"{_MARK}{os.getpid()}")
    try:
        network.make()
        yield network
    finally:
        _remove(network.tag)


def why_impossible() -> str | None:
    """Why no network can be made here, found by making one; None when it can."""
    if reason := _lacking():
        return reason
    try:
        with host_network("tried"):
            return None
    except RuntimeError as error:
        return f"no network of hosts can be made here: {error}"


def _lacking() -> str | None:
    for program, package in (("ip", "iproute2"), ("nsenter", "util-linux")):
        if not shutil.which(program):
            return f"{program} is missing: install Debian's {package}"
    if os.geteuid() != 0:
        return "network namespaces need root: run it as root"
    return None


def _own_address() -> str:
    """198.18.0.0/15 is kept for benchmarks (RFC 2544): nobody's. Each process has 16 of it."""
    first = os.getpid() % 8192 * 16
    return f"198.{18 + first // 65536}.{first // 256 % 256}.{first % 256 + 1}"


def remove_left() -> None:
    """Removes the networks of processes that are dead, and ends what still runs in them."""
    for tag in {tag for tag in map(_tag, _there()) if tag}:
        if not Path(f"/proc/{tag.removeprefix(_MARK)}").exists():
            _remove(tag)


def _remove(tag: str) -> None:
    """Namespaces first: with each its half of the cable goes, and so the other."""
    for name in _there():
        if _tag(name) == tag and (_NAMESPACES / name).exists():
            inside = _ip("netns", "pids", name).split()
            for pid in inside:
                subprocess.run(["kill", "-KILL", pid], check=False, capture_output=True)
            _ip("netns", "delete", name)
    if (Path("/sys/class/net") / f"{tag}b").exists():
        _ip("link", "delete", f"{tag}b")


def _there() -> list[str]:
    links: list[dict[str, Any]] = json.loads(_ip("-j", "link", "show") or "[]")
    spaces = _NAMESPACES.iterdir() if _NAMESPACES.exists() else ()
    return [*(space.name for space in spaces), *(link["ifname"] for link in links)]


def _tag(name: str) -> str | None:
    """The mark and the number of the process that made it; None: it is not ours."""
    number = name.removeprefix(_MARK)
    digits = number[: len(number) - len(number.lstrip("0123456789"))]
    return f"{_MARK}{digits}" if number != name and digits else None


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
