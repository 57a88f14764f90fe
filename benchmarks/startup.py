"""How long `rocktune --help` takes beside its libraries, and what a server costs to start.

Run with ``python -m benchmarks.startup [--rounds 10] [--tree FOLDER]``; alone on the machine. In
each round one process imports Typer with Rich (``typer.rich_utils``, by which Typer prints any
help), one is ``rocktune --help``, and one is ``rocktune serve`` on an empty SQLite file until it
answers ``/readyz``, with its worker. Told are medians: wall seconds of the first two with their
ratio, CPU seconds of the third: user and system, of the server and of all processes that it
started. ``--tree`` names another checkout to be measured in turn with this one, and then the share
of its CPU seconds is told. Libraries that only that one needs may be in ``PYTHONPATH``.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import psutil

_ROOT = Path(__file__).parents[1]
_LIBRARIES = ["-c", "import typer, rich, typer.rich_utils"]
_HELP = ["-m", "cli.main", "--help"]
_SERVE = ["-m", "cli.main", "serve", "--port", "0", "--db"]


def environment(tree: Path, folder: Path) -> dict[str, str]:
    """What a process of a checkout sees: its sources, and nothing of the user's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROCKTUNE_")}
    libraries = kept.get("PYTHONPATH", "").split(os.pathsep)
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(tree), *filter(None, libraries)]),
        "ROCKTUNE_BENCH_DIR": str(folder / "bench"),
        "ROCKTUNE_LOCK": str(folder / "lock"),
        "ROCKTUNE_TOKEN_FILE": str(folder / "token"),
    }


def wall_seconds(arguments: Sequence[str], tree: Path, folder: Path) -> float:
    """How long a process of Python takes from its start to its end."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(tree, folder),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began


def server_seconds(tree: Path, folder: Path) -> float:
    """The CPU seconds, user and system, of a server until it is ready.

    Raises:
        RuntimeError: It ended before.
    """
    with subprocess.Popen(
        [sys.executable, *_SERVE, f"{tree.name}.db"],
        cwd=folder,
        env=environment(tree, folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        try:
            for line in server.stderr:
                if '"listening"' in line:
                    with urlopen(f"{json.loads(line)['url']}/readyz") as answer:
                        answer.read()
                    own = psutil.Process(server.pid)
                    alive = [own, *own.children(recursive=True)]
                    # User, system, and both of the children that have ended.
                    return float(sum(sum(each.cpu_times()[:4]) for each in alive))
        finally:
            server.send_signal(signal.SIGTERM)
            server.stderr.read()
    raise RuntimeError("the server ended before it was ready")


def main() -> None:
    """Measures in turn and prints a line for each checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tree", type=Path, action="append", default=[])
    given = parser.parse_args()
    trees = [_ROOT, *(each.resolve() for each in given.tree)]
    libraries: list[float] = []
    helps: dict[Path, list[float]] = {tree: [] for tree in trees}
    servers: dict[Path, list[float]] = {tree: [] for tree in trees}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for tree in trees:  # once untold: its byte code and its database are then there
            wall_seconds(_HELP, tree, folder)
            server_seconds(tree, folder)
        for _ in range(given.rounds):
            libraries.append(wall_seconds(_LIBRARIES, _ROOT, folder))
            for tree in trees:
                helps[tree].append(wall_seconds(_HELP, tree, folder))
                servers[tree].append(server_seconds(tree, folder))
    base = median(libraries)
    print(f"Typer with Rich: {base:.3f} s (median of {given.rounds})")
    for tree in trees:
        shown = median(helps[tree])
        print(
            f"{tree}: --help {shown:.3f} s, {shown / base:.2f} times that; "
            f"a server {median(servers[tree]):.2f} CPU s, "
            f"{median(servers[_ROOT]) / median(servers[tree]):.2f} of that here"
        )


if __name__ == "__main__":
    main()
