"""A db_bench that is upgraded while it measures: its runs are not mixed with the first one's."""

import os
from pathlib import Path

import pytest

from sampler.bench.db_bench import DbBench
from sampler.bench.installed import find_db_bench, probe, require_same_version
from sampler.bench.outcome import TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from tests.support.sampler.real_runs import tiny_plan

pytestmark = pytest.mark.db_bench
WRAPPER = '#!/bin/sh\nexec db_bench "$@"\n'
# As where the library under a program is replaced: the file stays, what it says does not.
OTHER_LIBRARY = """#!/bin/sh
[ -e "{mark}" ] || exec db_bench "$@"
{{ db_bench "$@" 2>&1 >&3 | sed 's/version [0-9]*/version 99/' >&2; }} 3>&1
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "my_db_bench"
    path.write_text(WRAPPER)
    path.chmod(0o755)
    return path


def runner_of(program: Path, settings: Settings) -> LocalRunner:
    installed = probe(find_db_bench(str(program)))
    return LocalRunner(DbBench(installed, tiny_plan(installed)), settings)


def test_another_file_is_refused_before_it_runs(program: Path, settings: Settings):
    runner = runner_of(program, settings)
    assert runner.run({}).state is TrialState.DONE
    program.write_text(WRAPPER + "# of today\n")
    with pytest.raises(InputError, match="my_db_bench was replaced during the job") as refused:
        runner.run({})
    assert refused.value.field == "db_bench" and "`warm_start`" in refused.value.problem
    program.write_text(WRAPPER)
    assert runner.run({}).state is TrialState.DONE


def test_the_same_content_is_the_same_program(program: Path, settings: Settings):
    runner = runner_of(program, settings)
    fresh = program.with_name("fresh")
    fresh.write_text(WRAPPER)
    fresh.chmod(0o755)
    os.utime(fresh, (1, 1))
    fresh.replace(program)
    assert runner.run({}).state is TrialState.DONE


def test_a_program_that_is_gone_is_told_by_its_path(program: Path, settings: Settings):
    runner = runner_of(program, settings)
    program.unlink()
    with pytest.raises(InputError, match=r"cannot read .*my_db_bench: No such file"):
        runner.run({})


def test_another_library_under_the_same_file_is_refused(program: Path, settings: Settings):
    mark = program.with_name("upgraded")
    program.write_text(OTHER_LIBRARY.format(mark=mark))
    runner = runner_of(program, settings)
    assert runner.run({}).state is TrialState.DONE
    mark.touch()
    with pytest.raises(InputError, match=r"was RocksDB [0-9.]+ and is now RocksDB 99\.[0-9.]+"):
        runner.run({})
    assert not list(settings.bench_dir.glob("trial-*")), "nothing of the run is left"
    mark.unlink()
    assert runner.run({}).state is TrialState.DONE


def test_what_says_no_version_is_not_doubted(program: Path):
    require_same_version(program, "7.8.3", None)
