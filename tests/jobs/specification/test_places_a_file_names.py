"""Paths and addresses that an OPTIONS file names: the real db_bench never goes there."""

import socket
import subprocess
from pathlib import Path

import pytest

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from sampler.bench.installed import InstalledDbBench
from sampler.bench.settings import Settings
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.options_file import (
    CF,
    DB,
    TABLE,
    format_options,
    parse_options,
    within_its_folder,
)

FILE = """\
[Version]
  rocksdb_version=7.0.0
  options_file_version=1.1
[DBOptions]
  max_open_files=500
[CFOptions "default"]
  compression=kZlibCompression
[TableOptions/BlockBasedTable "default"]
  block_size=32768
"""
# What RocksDB 7.8.3 would follow; whatever else names a place it does not know as an option, or
# only looks for among what it was built with.
LEFT_OUT = ("wal_dir", "db_log_dir", "env")
# PATH is a folder of theirs, PORT one that something listens at.
CHROOT = "{id=ChrootFS;chroot_dir=PATH;}"
LEADING = [
    (DB, "wal_dir=PATH"),
    (DB, "db_log_dir=PATH"),
    (DB, "env=MockEnv"),
    (DB, "env={id=MockEnv;}"),
    (DB, "env={id=CompositeEnv;file_system=" + CHROOT + ";}"),
    (DB, "env=http://127.0.0.1:PORT/"),
    (DB, "env=hdfs://127.0.0.1:PORT/db"),
    (DB, "env.id=MockEnv"),
    (DB, "env.file_system=" + CHROOT),
    (DB, "file_system=" + CHROOT),
    (DB, "fs_uri=file://PATH"),
    (DB, "db_paths=[{path=PATH;target_size=1;}]"),
    (DB, "info_log=PATH/LOG"),
    (DB, "row_cache=http://127.0.0.1:PORT/"),
    (DB, "db_host_id=http://127.0.0.1:PORT/"),
    (DB, "secondary_path=PATH"),
    (DB, "statistics=http://127.0.0.1:PORT/"),
    (DB, "listeners=file://PATH"),
    (CF, "cf_paths=[{path=PATH;target_size=1;}]"),
    (CF, "compaction_filter_factory=http://127.0.0.1:PORT/"),
    (TABLE, "persistent_cache={path=PATH;}"),
    (TABLE, "block_cache={capacity=8388608;secondary_cache=http://127.0.0.1:PORT/;}"),
    (TABLE, "block_cache=file://PATH"),
]


def opens(program: Path, text: str, folder: Path) -> bool:
    """Whether db_bench takes an OPTIONS file; what it then writes is where it was told."""
    folder.mkdir()
    (folder / "OPTIONS.ini").write_text(text)
    argv = [
        str(program), f"--options_file={folder / 'OPTIONS.ini'}", f"--db={folder / 'db'}",
        "--num=1", "--benchmarks=fillseq",
    ]  # fmt: skip
    ended = subprocess.run(argv, cwd=folder, capture_output=True, timeout=60, check=False)
    # Neither in memory alone nor by way of something else: it is there.
    assert (folder / "db" / "CURRENT").exists() == (ended.returncode == 0), ended.stderr
    return ended.returncode == 0


@pytest.mark.db_bench
@pytest.mark.parametrize(("section", "line"), LEADING)
def test_a_run_stays_in_its_folder_wherever_the_file_leads(
    settings: Settings, installed: InstalledDbBench, tmp_path: Path, section: str, line: str
):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "000003.log").write_text("of a database in use")
    file = tmp_path / "OPTIONS-000009"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        line = line.replace("PATH", str(theirs))
        line = line.replace("PORT", str(listening.getsockname()[1]))
        file.write_text(FILE.replace(f"[{section}]\n", f"[{section}]\n  {line}\n"))
        asked = specify(workload="load", baseline=str(file), drop_unknown=True)
        assembly = assemble(asked, settings)
        configuration = assembly.problem.space.default_configuration()
        version = installed.version
        measured = format_options(assembly.plan.options(configuration), rocksdb_version=version)
        exported = format_options(assembly.plan.export(configuration), rocksdb_version=version)
        key = line.partition("=")[0].partition(".")[0]
        said = read_user_options(file.read_text()).get(section, key)
        assert said and parse_options(exported).get(section, key) == said  # theirs stays theirs
        left_out = line.partition("=")[0] in LEFT_OUT
        if left_out:
            assert parse_options(measured).get(section, key) is None
        assert opens(installed.program, measured, tmp_path / "measured")
        exported = within_its_folder(exported)
        assert opens(installed.program, exported, tmp_path / "exported") or not left_out
        with pytest.raises(BlockingIOError):
            listening.accept()
    (only,) = theirs.iterdir()
    assert only.read_text() == "of a database in use"
