from pathlib import Path
from typing import Any

import pytest

from jobs.execution.assembly import assemble
from jobs.report.options_file import about_configuration, describe
from jobs.results import export
from jobs.results.export import ExportRefusedError, export_options
from jobs.specification.named_files import specify
from jobs.specification.resolved_job import ResolvedJob
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.rocksdb.application import FIRST
from sampler.rocksdb.options_file import CF, DB, TABLE, parse_options
from tests.support.jobs.instant import write_space, write_workload
from tests.support.jobs.small_result import small_result

GIB = 2**30


@pytest.fixture
def assembly(settings: Settings) -> ResolvedJob:
    return assemble(specify(), settings)


def test_what_rocksdb_keeps_is_exported(assembly: ResolvedJob):
    tuned = {
        "write_buffer_size": 33554432,
        "compression_type": "zstd",
        "bloom_bits": 12,
        "max_background_jobs": 8,
    }
    text = export_options(assembly.plan, assembly.installed, tuned, ["first", "second"])
    first, _, rest = text.partition("# first\n")
    assert first.startswith(f"# {FIRST}\n# - block cache: its capacity is not in this file\n")
    assert rest.startswith("# second\n[Version]\n")
    options = parse_options(text)
    assert options.get(CF, "write_buffer_size") == "33554432"
    assert options.get(CF, "compression") == "kZSTD"
    assert options.get(TABLE, "filter_policy") == "bloomfilter:12:false"
    assert options.get(DB, "max_background_jobs") == "8"


@pytest.mark.parametrize("space", ["default", "universal", "blob"])
def test_whatever_the_search_draws_is_exported(space: str, settings: Settings):
    assembly = assemble(specify(space=space, workload="load"), settings)
    for share in (0.05, 0.35, 0.65, 0.95):
        tuned = assembly.problem.configuration(dict.fromkeys(assembly.problem.space.names, share))
        assert export_options(assembly.plan, assembly.installed, tuned, [])


@pytest.mark.parametrize(
    ("name", "tuned"),
    [
        (
            "soft_pending_compaction_bytes_limit",
            {
                "soft_pending_compaction_bytes_limit": 48 * GIB,
                "hard_pending_compaction_bytes_limit": 32 * GIB,
            },
        ),
        (
            "level0_slowdown_writes_trigger",
            {"level0_file_num_compaction_trigger": 8, "level0_slowdown_writes_trigger": 4},
        ),
        (
            "min_write_buffer_number_to_merge",
            {"max_write_buffer_number": 3, "min_write_buffer_number_to_merge": 3},
        ),
    ],
)
def test_what_rocksdb_would_change_is_refused(
    assembly: ResolvedJob, name: str, tuned: dict[str, int]
):
    with pytest.raises(ExportRefusedError, match=rf"changes the file: .*{name}: requested"):
        export_options(assembly.plan, assembly.installed, tuned, [])


def test_a_default_that_rocksdb_would_change_is_refused(assembly: ResolvedJob):
    """A default is not in the file, but it was measured all the same."""
    tuned = {
        "soft_pending_compaction_bytes_limit": 64 * GIB,
        "hard_pending_compaction_bytes_limit": 32 * GIB,
    }
    with pytest.raises(ExportRefusedError, match="soft_pending_compaction_bytes_limit"):
        export_options(assembly.plan, assembly.installed, tuned, [])


def test_what_rocksdb_does_not_know_is_named_at_once_or_kept_apart(
    tmp_path: Path, settings: Settings
):
    file = tmp_path / "OPTIONS"
    file.write_text(
        "[Version]\n  rocksdb_version=9.1.1\n[DBOptions]\n  no_such_option=1\n"
        '[CFOptions "default"]\n  compression_opts={level=3;checksum=true;}\n'
    )
    with pytest.raises(InputError, match=r"no_such_option, compression_opts.checksum \(since"):
        assemble(specify(baseline=str(file)), settings)
    assembly = assemble(specify(baseline=str(file), drop_unknown=True), settings)
    measured = assembly.plan.options({"block_size": 8192})
    assert measured.get(DB, "no_such_option") is None
    assert measured.get(CF, "compression_opts.checksum") is None
    text = export_options(assembly.plan, assembly.installed, {"block_size": 8192}, [])
    exported = parse_options(text)
    assert exported.version == (9, 1, 1)
    assert exported.get(DB, "no_such_option") == "1"
    assert exported.get(CF, "compression_opts") == "{level=3;checksum=true;}"
    assert exported.get(TABLE, "block_size") == "8192"
    assert "# Not measured as in your file: no_such_option, compression_opts.checksum" in text


def test_without_a_db_bench_it_is_written_untried(tmp_path: Path, settings: Settings):
    workload, space = write_workload(tmp_path), write_space(tmp_path)
    assembly = assemble(specify(workload=str(workload), space=str(space)), settings)
    text = export_options(
        assembly.plan, assembly.installed, {"codec": "fast", "level": 2}, ["mine"]
    )
    assert text.startswith(f"# {FIRST}\n")
    assert "\n# mine\n" in text
    assert "codec" not in parse_options(text).sections[CF]


def described(assembly: ResolvedJob, best: dict[str, Any]) -> list[str]:
    """The comment of the file of a best configuration, without a verdict."""
    known = {"trial": 9, "metrics": {}, "fitness": 1.0, "runs": 3}
    result = small_result(best=known | best)
    return describe(assembly.problem, result, tried=assembly.installed is not None)


def test_its_comments_say_what_it_rests_on(settings: Settings):
    assembly = assemble(specify(space="all", workload="load", objective="waf"), settings)
    best = {
        "configuration": {"cache_size": 16777216, "write_buffer_size": 33554432},
        "change": {"waf": {"percent": -12.34, "low": -15.0, "high": -9.87, "p": 0.001}},
    }
    lines = described(assembly, best)
    assert lines[0].endswith(
        "the workload load (settle = wait, measured at scale 1/64), objective waf"
    )
    assert "waf -12.3% [-15.0, -9.9]" in lines[1]
    assert lines[2] == "Memtables and block cache: 80 MiB"
    assert lines[3] == (
        "Set cache_size = 16777216 in the application: an OPTIONS file cannot hold it"
    )


def test_a_block_cache_that_was_not_tuned_is_not_asked_for(settings: Settings):
    """RocksDB's default was measured where nothing tells that of the application."""
    assembly = assemble(specify(space="all", workload="load", objective="waf"), settings)
    lines = about_configuration(assembly.problem, {"cache_size": 8388608})
    assert lines[1] == (
        "cache_size = 8388608: measured as in the baseline; keep that of the application, which "
        "an OPTIONS file cannot hold"
    )


def test_its_comments_name_workload_factors(settings: Settings):
    assembly = assemble(specify(space="paper", workload="load", objective="waf"), settings)
    best = {
        "configuration": {"threads": 4, "compression_ratio": 0.5},
        "change": {"waf": {"percent": -1.0, "low": -2.0, "high": -0.5, "p": 0.001}},
    }
    lines = described(assembly, best)
    assert "Measured with threads = 4: a setting of the workload, not an option" in lines


def test_its_comments_hold_what_rocksdb_does_not_know(settings: Settings, tmp_path: Path):
    space, workload = write_space(tmp_path), write_workload(tmp_path)
    assembly = assemble(
        specify(space=str(space), workload=str(workload), objective="waf"), settings
    )
    best = {
        "configuration": {"codec": "fast", "level": 3},
        "change": {"waf": {"percent": -1.0, "low": -2.0, "high": -0.5, "p": 0.001}},
    }
    lines = described(assembly, best)
    assert lines[-3:] == [
        "Measured by your own command: RocksDB has not loaded this file",
        "Set codec = fast yourself: not an option of RocksDB",
        "Set level = 3 yourself: not an option of RocksDB",
    ]


def test_a_changed_file_that_cannot_be_read_back_is_refused_and_not_an_error(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "OPTIONS"
    file.write_text('[Version]\n  rocksdb_version=7.8.3\n[DBOptions]\n[CFOptions "default"]\n')
    assembly = assemble(specify(baseline=str(file)), settings)
    # No file is known of which the patch could not be read; it must not cost a job's results.
    monkeypatch.setattr(export, "patched", lambda *_, **__: "no section\n")
    with pytest.raises(ExportRefusedError, match="cannot be read after the changes"):
        export_options(assembly.plan, None, {"write_buffer_size": 33554432}, [])
