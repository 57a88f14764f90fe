"""db_bench is upgraded while a job runs: the job stops, and goes on with the first one alone."""

import sqlite3

import pytest

from tests.support.cli.terminal import Desk

pytestmark = pytest.mark.slow

WORKLOAD = """\
name = "tiny"
benchmarks = ["fillseq"]
num = 10000
scale = 256
settle = "flush"
"""
SPACE = """\
name = "blocks"
[[parameter]]
name = "block_size"
low = 16384
high = 65536
"""
# Becomes another program at its fifth benchmark, as an upgrade of the package does.
WRAPPER = """\
#!/bin/sh
case "$*" in
*num=10000*)
    echo run >>"{folder}/runs"
    [ "$(wc -l <"{folder}/runs")" -ne 5 ] || {{
        cp "$0" "{folder}/new" && echo '# newer' >>"{folder}/new" && mv "{folder}/new" "$0"
    }} ;;
esac
exec db_bench "$@"
"""


@pytest.mark.db_bench
def test_a_job_never_mixes_two_builds(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    program = desk.folder / "my_db_bench"
    first = WRAPPER.format(folder=desk.folder)
    program.write_text(first)
    program.chmod(0o755)
    monkeypatch.setenv("ROCKTUNE_DB_BENCH", str(program))
    (desk.folder / "tiny.toml").write_text(WORKLOAD)
    (desk.folder / "blocks.toml").write_text(SPACE)
    tune = (
        "tune", "--workload", "tiny.toml", "--space", "blocks.toml", "--objective", "sa",
        "--strategy", "lhs", "--trials", 12, "--db", desk.database, "--no-price",
    )  # fmt: skip
    stopped = desk.run(*tune)
    assert stopped.returncode == 2, stopped.stderr
    assert "my_db_bench was replaced during the job" in stopped.stderr
    assert measured(desk) == 5
    refused = desk.run(*tune, "--resume")
    assert refused.returncode == 2, refused.stderr
    assert "job 1 was measured with RocksDB 7.8.3 (SHA-256 " in refused.stderr
    assert "--warm-start 1" in refused.stderr
    assert measured(desk) == 5
    program.write_text(first)
    ended = desk.run(*tune, "--resume")
    assert ended.returncode in (0, 3), ended.stderr
    assert measured(desk) == 12
    assert len((desk.folder / "runs").read_text().splitlines()) == 12


def measured(desk: Desk) -> int:
    with sqlite3.connect(desk.database) as connection:
        (count,) = connection.execute("SELECT count(*) FROM trial WHERE state = 'done'").fetchone()
    return count
