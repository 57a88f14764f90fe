"""Brings a known version of RocksDB's db_bench to this machine, beside the system's.

``python scripts/fetch_db_bench.py VERSION``, or ``make db_bench VERSION=...``. It goes into the
user's cache, outside of the sources (``ROCKTUNE_BUILD_DIR`` names another folder), where
``--db-bench VERSION`` finds it. Nothing of the system is changed but for the packages that a build
needs. Of the standard library alone: it runs before there is an environment.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# Debian's suites have it as a package; apt checks what it fetches against the suite's signature.
DEBIAN = {"9.10.0": "trixie", "9.11.2": "sid"}
# The crate librocksdb-sys carries RocksDB's whole source: its version, and its SHA-256.
CRATES = {
    "8.10.0": (
        "0.16.0+8.10.0",
        "ce3d60bc059831dc1c83903fb45c103f75db65c5a7bf22272764d9cc683e348c",
    ),
    "10.4.2": (
        "0.17.3+10.4.2",
        "cef2a00ee60fe526157c9023edab23943fae1ce2ab6f4abb2a807c1746835de9",
    ),
    "11.8.1": (
        "0.19.0+11.8.1",
        "4f45e86edad8e88efe97dbf384b4e48e1ff0f111eabf154c7b09d7a1e5fb573c",
    ),
}
VERSIONS = sorted((*DEBIAN, *CRATES), key=lambda version: [*map(int, version.split("."))])
PROGRAMS = ("db_bench", "ldb", "sst_dump")  # the last two read what the first has written
_LIBRARIES = ("gflags", "snappy", "lz4", "zstd", "bz2")
_CMAKE = (
    "-DCMAKE_BUILD_TYPE=Release", "-DWITH_TESTS=OFF", "-DWITH_BENCHMARK_TOOLS=ON",
    "-DWITH_GFLAGS=ON", "-DWITH_SNAPPY=ON", "-DWITH_LZ4=ON", "-DWITH_ZSTD=ON", "-DWITH_ZLIB=ON",
    "-DWITH_BZ2=ON", "-DROCKSDB_BUILD_SHARED=OFF", "-DPORTABLE=1",
    "-DFAIL_ON_WARNINGS=OFF",  # GCC 12 sees overlapping copies where there are none
)  # fmt: skip


class Refused(Exception):
    """Why it cannot be brought, in one line."""


def build_folder() -> Path:
    """Where builds are kept, as ``sampler/bench/settings.py`` says."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("ROCKTUNE_BUILD_DIR") or cache / "rocktune" / "builds").absolute()


def fetch(version: str, folder: Path) -> Path:
    """Brings a version into a folder of its own, and says which program it is.

    What is interrupted leaves nothing behind.

    Raises:
        Refused: It is not known here, or cannot be fetched or built.
    """
    if version not in VERSIONS:
        raise Refused(
            f"VERSION is none of {', '.join(VERSIONS)}; a build of your own needs no such step: "
            "--db-bench PATH, or ROCKTUNE_BUILDS=NAME=PATH"
        )
    program = folder / version / "db_bench"
    if all((folder / version / name).exists() for name in PROGRAMS):
        _say(version, f"is there: {program}")
        return program
    folder.mkdir(parents=True, exist_ok=True)
    # What a killed compiler still writes must not keep the folder from being removed.
    with tempfile.TemporaryDirectory(
        dir=folder, prefix=f".{version}.", ignore_cleanup_errors=True
    ) as work:
        made = Path(work) / "made"
        made.mkdir()
        if version in DEBIAN:
            _from_debian(version, DEBIAN[version], Path(work), made, program.parent)
        else:
            _from_crate(version, *CRATES[version], Path(work), made)
        put_in_place(made, program.parent)
    _say(version, f"made: {program}; use it as --db-bench {version}")
    return program


def put_in_place(made: Path, target: Path) -> None:
    """Moves a build to where it belongs; what an earlier fetch has put there stays as it is."""
    if not target.exists():
        made.rename(target)
        return
    for path in made.iterdir():
        if not (target / path.name).exists():
            path.rename(target / path.name)


def suite_of(sources: str, own: str, suite: str) -> str:
    """A machine's list of sources with another suite; sid has neither updates nor security.

    ``sources`` is in either of apt's forms, ``own`` the code name of the machine's release.

    Raises:
        Refused: The list does not name the release.
    """
    if not own or not re.search(rf"\b{own}\b", sources):
        raise Refused("needs Debian's own sources, and apt's list does not name this release")
    replaced = re.sub(rf"\b{own}\b", suite, sources)
    if suite == "sid":
        stanzas = "\n\n" if "URIs:" in sources else "\n"
        kept = [part for part in replaced.split(stanzas) if "security" not in part]
        replaced = re.sub(r" sid-\w+", "", stanzas.join(kept))
    return replaced


def _from_debian(version: str, suite: str, work: Path, made: Path, target: Path) -> None:
    """Debian's package with all of its libraries, C's too, started by their own loader."""
    if shutil.which("apt-get") is None:
        raise Refused("needs Debian: there is no apt-get here")
    release = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M)
    lists = [Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")]
    list_of_sources = next((path for path in lists if path.exists()), None)
    text = list_of_sources.read_text() if list_of_sources else ""
    own = work / f"own{list_of_sources.suffix if list_of_sources else ''}"
    own.write_text(suite_of(text, release.group(1) if release else "", suite))
    for name in ("lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True)
    (work / "status").touch()
    options = {
        "Dir::Etc::sourcelist": own, "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": work / "lists", "Dir::State::status": work / "status",
        "Dir::Cache": work / "cache",
        "APT::Sandbox::User": "", "Debug::NoLocking": "true",
    }  # fmt: skip
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    _say(version, f"reading the list of {suite}'s packages")
    _run(*apt, "update")
    _say(version, "fetching rocksdb-tools with its libraries")
    _run(*apt, "install", "--yes", "--no-install-recommends", "--download-only", "rocksdb-tools")
    packages = sorted((work / "cache" / "archives").glob("*.deb"))
    if not any(path.name.startswith(f"rocksdb-tools_{version}-") for path in packages):
        names = [path.name for path in packages if path.name.startswith("rocksdb-tools")]
        raise Refused(f"{suite} has another version now: {', '.join(names)}")
    root = made / "root"
    for package in packages:
        _run("dpkg-deb", "--extract", str(package), str(root))
    loader = next(path for path in sorted(root.rglob("ld-linux*.so.*")) if path.is_file())
    library = next(iter(sorted(root.rglob("librocksdb.so.*"))))
    start, libraries = (target / path.relative_to(made) for path in (loader, library.parent))
    for name in PROGRAMS:
        program = root / "usr" / "bin" / name
        real = target / program.relative_to(made)
        # The sum makes this program another one when what it starts is another one.
        launcher = made / name
        launcher.write_text(
            f"#!/bin/sh\n# RocksDB {version} of Debian's {suite}, {_sha256(program)}\n"
            f'exec "{start}" --library-path "{libraries}" "{real}" "$@"\n'
        )
        launcher.chmod(0o755)


def _from_crate(version: str, crate: str, digest: str, work: Path, made: Path) -> None:
    """RocksDB's source, built for release: half an hour on two cores."""
    programs = {"cargo": "cargo", "cmake": "cmake", "ninja": "ninja-build", "g++": "g++"}
    needed = [package for program, package in programs.items() if shutil.which(program) is None]
    headers = Path("/usr/include")
    for name in (*_LIBRARIES, "z"):
        patterns = (f"{name}*", f"{name}lib.h", f"*/{name}*")
        found = [path for pattern in patterns for path in headers.glob(pattern)]
        needed += [] if found else ["zlib1g-dev" if name == "z" else f"lib{name}-dev"]
    for package in needed:
        subprocess.run(["scripts/install.sh", package], check=True)
    _say(version, f"fetching the crate librocksdb-sys {crate}")
    project = work / "fetch"
    (project / "src").mkdir(parents=True)
    (project / "src" / "lib.rs").touch()
    (project / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n'
        f'librocksdb-sys = {{ version = "={crate.split("+")[0]}", default-features = false }}\n'
    )
    _run("cargo", "fetch", "--quiet", "--manifest-path", str(project / "Cargo.toml"))
    cargo = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    kept = [*(cargo / "registry" / "cache").glob(f"*/librocksdb-sys-{crate}.crate")]
    if not kept or _sha256(kept[0]) != digest:
        raise Refused(
            f"the crate librocksdb-sys {crate} is not the known one: its SHA-256 differs"
        )
    _run("tar", "-xzf", str(kept[0]), "-C", str(work))
    _say(version, "building: about half an hour on two cores")
    source, build = work / f"librocksdb-sys-{crate}" / "rocksdb", work / "build"
    _run("cmake", "-G", "Ninja", "-S", str(source), "-B", str(build), *_CMAKE)
    shown = {**os.environ, "NINJA_STATUS": f"db_bench {version}: built %f of %t files, %es: "}
    command = ["ninja", "-C", str(build), *PROGRAMS]
    if subprocess.run(command, env=shown, check=False).returncode:
        raise Refused("it does not compile here; what failed stands above")
    for name in PROGRAMS:
        found = next(path for path in (build / name, build / "tools" / name) if path.exists())
        _run("strip", str(found))
        found.rename(made / name)


def _run(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        said = [line for line in (ended.stderr + ended.stdout).splitlines() if line.strip()]
        error = next((line for line in said if re.search("error|^E:", line, re.I)), said[-1:])
        raise Refused(f"{command[0]} failed: {''.join(error).strip()}")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _say(version: str, what: str) -> None:
    print(f"db_bench {version}: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        fetch(wanted, build_folder())
    except Refused as error:
        sys.exit(f"db_bench {wanted}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
