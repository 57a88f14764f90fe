from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from optimizer.trials.problem import SearchSettings
from sampler.bench.command_bench import CommandBench
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench, try_options
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import CF, DB, TABLE, format_options
from sampler.rocksdb.parameters import catalogue
from sampler.space.space import memory_bytes
from sampler.space.space_file import SHIPPED
from tests.support.jobs.instant import write_space, write_workload

DEFAULT_MEMORY = 134217728 + 8388608
USERS_FILE = """\
[Version]
  rocksdb_version=7.0.0
  options_file_version=1.1
[DBOptions]
  max_open_files=500
  max_background_jobs=6
[CFOptions "default"]
  write_buffer_size=33554432
  level0_file_num_compaction_trigger=8
  compression=kZlibCompression
  merge_operator=nullptr
[TableOptions/BlockBasedTable "default"]
  block_size=32768
  checksum=kCRC32c
"""


def refused(settings: Settings, **asked: object) -> InputError:
    with pytest.raises(InputError) as caught:
        assemble(specify(**asked), settings)  # type: ignore[arg-type]
    return caught.value


@pytest.fixture
def older(installed: InstalledDbBench, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a RocksDB 5.0.0 that does not know an option in place of the one on this machine."""

    def without(option: str) -> None:
        found = replace(
            installed, version="5.0.0", defaults=installed.defaults.without(CF, [option])
        )
        monkeypatch.setattr("sampler.bench.builds.probe", lambda _program: found)

    return without


class TestABenchmarkOfTheUsersOwn:
    def test_needs_no_db_bench(self, tmp_path: Path, settings: Settings):
        nowhere = settings.model_copy(update={"db_bench": "no-such-program"})
        workload, space = write_workload(tmp_path), write_space(tmp_path)
        assembly = assemble(specify(workload=str(workload), space=str(space)), nowhere)
        assert assembly.installed is None
        assert isinstance(assembly.benchmark, CommandBench)
        assert assembly.warnings == ()
        assert assembly.problem.space.default_configuration() == {"codec": "slow", "level": 1}

    def test_takes_its_own_parameters_and_rocksdbs(self, tmp_path: Path, settings: Settings):
        text = write_space(tmp_path).read_text() + '[[parameter]]\nname = "block_size"\n'
        space = write_space(tmp_path, text)
        specification = specify(workload=str(write_workload(tmp_path)), space=str(space))
        assembly = assemble(specification, settings)
        assert assembly.problem.space.names == ("codec", "level", "block_size")
        exported = assembly.plan.export({"codec": "fast", "level": 3, "block_size": 8192})
        assert exported.sections == {TABLE: {"block_size": "8192"}}


class TestTheMemoryBudget:
    def test_is_the_baselines(self, settings: Settings):
        assert assemble(specify(), settings).problem.memory == DEFAULT_MEMORY

    def test_is_that_of_the_users_file(self, tmp_path: Path, settings: Settings):
        file = tmp_path / "OPTIONS"
        file.write_text(USERS_FILE)
        assembly = assemble(specify(workload="load", baseline=str(file)), settings)
        assert assembly.problem.memory == 2 * 33554432 + 8388608

    def test_is_what_was_asked_for(self, settings: Settings):
        assert assemble(specify(workload="load", memory=2**28), settings).problem.memory == 2**28

    def test_binds_every_configuration(self, settings: Settings):
        problem = assemble(specify(memory=2**26), settings).problem
        for share in (0.0, 0.3, 0.5, 0.8, 1.0):
            values = problem.configuration(dict.fromkeys(problem.space.names, share))
            assert memory_bytes(problem.space.complete(values)) <= 2**26

    def test_is_refused_below_what_the_space_needs(self, settings: Settings):
        error = refused(settings, memory=2 * 8388608 + 8388608 - 1)
        assert error.field == "memory"
        assert "24 MiB" in error.problem
        at_least = specify(memory=2 * 8388608 + 8388608)
        assert assemble(at_least, settings).problem.memory == 25165824

    def test_counts_what_the_space_fixes(self, tmp_path: Path, settings: Settings):
        text = (
            'name = "big"\n[fixed]\nwrite_buffer_size = 1073741824\n'
            '[[parameter]]\nname = "block_size"\n'
        )
        space = str(write_space(tmp_path, text))
        assert refused(settings, workload="load", space=space).field == "memory"

    def test_holds_in_the_papers_space_when_asked_for(self, settings: Settings):
        assert refused(settings, space="paper", memory=1).field == "memory"


class TestALoadThatIsTooSmall:
    def test_is_refused_with_the_numbers(self, tmp_path: Path, settings: Settings):
        workload = tmp_path / "small.toml"
        workload.write_text('name = "small"\nnum = 32000\n')
        error = refused(settings, workload=str(workload))
        assert error.field == "workload (small)"
        for number in ("31.74 MiB", "128 MiB", "1/64", "32 MiB"):
            assert number.replace("1/", "") in error.problem
        workload.write_text('name = "small"\nnum = 32300\n')
        (shallow,) = assemble(specify(workload=str(workload)), settings).warnings
        assert "fills levels 0 to 2" in shallow  # and nothing of memory

    def test_may_be_enough_at_another_scale(self, tmp_path: Path, settings: Settings):
        workload = tmp_path / "small.toml"
        workload.write_text('name = "small"\nnum = 16200\n')
        assert refused(settings, workload=str(workload)).field == "workload (small)"
        assembly = assemble(specify(workload=str(workload), scale=128), settings)
        assert assembly.problem.workload.scale == 128
        assert assembly.plan.workload.scale == 128

    def test_is_told_of_in_the_papers_space(self, tmp_path: Path, settings: Settings):
        workload = tmp_path / "small.toml"
        workload.write_text('name = "small"\nnum = 1000\n')
        warnings = assemble(specify(workload=str(workload), space="paper"), settings).warnings
        assert any("16 times" in warning and "small" in warning for warning in warnings)

    def test_a_scale_at_which_rocksdb_changes_the_memtables(
        self, tmp_path: Path, settings: Settings
    ):
        """RocksDB raises a write buffer below 64 KiB, so the budget would not be kept."""
        workload = tmp_path / "small.toml"
        workload.write_text('name = "small"\nnum = 100000\nscale = 1024\n')
        assert "scale" in str(refused(settings, workload=str(workload)))


class TestShippedSpaces:
    # The space warlo is of a command, not of RocksDB's options.
    @pytest.mark.parametrize("name", [name for name in SHIPPED if name != "warlo"])
    def test_assemble(self, name: str, settings: Settings):
        assembly = assemble(specify(workload="load", space=name), settings)
        assert isinstance(assembly.benchmark, DbBench)
        few = name.startswith("samsung")
        assert len(assembly.problem.space.parameters) >= (12 if few else 20)

    @pytest.mark.parametrize(
        ("name", "key", "text"),
        [
            ("universal", "compaction_style", "kCompactionStyleUniversal"),
            ("blob", "enable_blob_files", "true"),
        ],
    )
    def test_keep_what_they_fix(self, name: str, key: str, text: str, settings: Settings):
        assembly = assemble(specify(space=name), settings)
        space = assembly.problem.space
        drawn = assembly.problem.configuration(dict.fromkeys(space.names, 0.5))
        assert assembly.plan.options(drawn).get(CF, key) == text
        assert assembly.plan.export(drawn).get(CF, key) == text
        baseline = assembly.plan.options(space.default_configuration())
        assert baseline.get(CF, key) in (None, "kCompactionStyleLevel", "false")

    def test_the_papers_names_its_workload_factors(self, settings: Settings):
        assembly = assemble(specify(space="paper", workload="load"), settings)
        factors = [warning for warning in assembly.warnings if "threads" in warning]
        assert len(factors) == 1
        assert "compression_ratio" in factors[0]
        assert assembly.problem.memory is None
        # db_bench's own defaults are the paper's baseline.
        assert assembly.problem.space.context["compression_type"] == "snappy"
        assert assembly.problem.space.baseline == "db_bench"
        ours = assemble(specify(space="paper", workload="load", baseline="library"), settings)
        differ = {
            name
            for name in catalogue()
            if ours.problem.space.context[name] != assembly.problem.space.context[name]
        }
        assert differ

    def test_samsungs_compare_with_the_settings_that_they_began_with(self, settings: Settings):
        """Their figures: nothing that only the library's defaults would have."""
        assembly = assemble(specify(space="samsung", workload="samsung-80-20"), settings)
        context = assembly.problem.space.context
        assert (context["write_buffer_size"], context["cache_size"]) == (256 * 2**20, 2**30)
        assert (context["max_background_jobs"], context["compression_type"]) == (34, "snappy")
        assert assembly.problem.memory is None
        assert not any("16 times" in warning for warning in assembly.warnings)
        written = assembly.plan.options(assembly.problem.space.default_configuration())
        assert written.get(CF, "level0_stop_writes_trigger") == "46"
        assert written.get(CF, "write_buffer_size") == str(2 * 2**20)  # at 1/128
        plain = assemble(specify(space="samsung-uncompressed"), settings).problem.space
        assert plain.context == {**context, "compression_type": "none", "threads": 1}

    def test_leave_out_what_this_rocksdb_does_not_know(
        self, settings: Settings, older: Callable[[str], None]
    ):
        older("compaction_pri")
        assembly = assemble(specify(), settings)
        assert "compaction_pri" not in assembly.problem.space.names
        assert assembly.warnings[0] == (
            "RocksDB 5.0.0 does not know compaction_pri: left out of the space"
        )

    def test_are_refused_when_what_they_fix_is_unknown(
        self, settings: Settings, older: Callable[[str], None]
    ):
        older("enable_blob_files")
        assert refused(settings, space="blob").field == "space.parameter (enable_blob_files)"


class TestAUsersSpace:
    def test_is_refused_when_this_rocksdb_does_not_know_an_option(
        self, tmp_path: Path, settings: Settings, older: Callable[[str], None]
    ):
        older("compaction_pri")
        space = write_space(tmp_path, 'name = "own"\n[[parameter]]\nname = "compaction_pri"\n')
        error = refused(settings, space=str(space))
        assert error.field == "space.parameter (compaction_pri)"
        assert "5.0.0" in error.problem

    def test_is_refused_when_it_describes_an_option_of_its_own(
        self, tmp_path: Path, settings: Settings
    ):
        error = refused(settings, space=str(write_space(tmp_path)))
        assert error.field == "space.parameter (codec)"

    def test_keeps_its_search_settings(self, settings: Settings):
        search = SearchSettings(top=3, generations=4, fitness=100.0, stop_early=True)
        asked = search.model_dump(exclude={"detect_metric"})
        problem = assemble(specify(strategy="genetic", seed=7, **asked), settings).problem
        assert (problem.search, problem.seed) == (search, 7)


class TestTheUsersFileAsBaseline:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "OPTIONS-000005"
        path.write_text(USERS_FILE)
        return path

    @pytest.fixture
    def specification(self, file: Path) -> Specification:
        return specify(workload="load", baseline=str(file))

    def test_is_what_trials_are_compared_with(
        self, specification: Specification, settings: Settings
    ):
        assembly = assemble(specification, settings)
        space = assembly.problem.space
        configuration = space.default_configuration()
        assert configuration["write_buffer_size"] == 33554432
        assert configuration["level0_file_num_compaction_trigger"] == 8
        assert configuration["compression_type"] == "zlib"
        assert configuration["block_size"] == 32768
        assert configuration["max_background_jobs"] == 6
        measured = assembly.plan.options(configuration)
        assert measured.get(CF, "write_buffer_size") == str(33554432 // 64)
        assert measured.get(DB, "max_open_files") == "500"

    def test_is_exported_as_it_was_but_for_what_was_tuned(
        self, specification: Specification, settings: Settings, installed: InstalledDbBench,
        tmp_path: Path,
    ):  # fmt: skip
        assembly = assemble(specification, settings)
        space = assembly.problem.space
        tuned = {**space.default_configuration(), "block_size": 65536, "bloom_bits": 10}
        exported = assembly.plan.export(tuned)
        assert exported.get(DB, "max_open_files") == "500"
        assert exported.get(CF, "merge_operator") == "nullptr"
        assert exported.get(CF, "compression") == "kZlibCompression"
        assert exported.get(TABLE, "checksum") == "kCRC32c"
        assert exported.get(TABLE, "block_size") == "65536"
        assert exported.get(TABLE, "filter_policy") == "bloomfilter:10:false"
        assert exported.get(CF, "write_buffer_size") == "33554432"
        folder = tmp_path / "tried"
        folder.mkdir()
        text = format_options(exported, rocksdb_version=installed.version)
        written = try_options(installed.program, text, folder).options
        assert written.get(DB, "max_open_files") == "500"
        assert written.get(TABLE, "block_size") == "65536"
        assert written.get(TABLE, "checksum") == "kCRC32c"

    def test_the_folders_of_the_database_in_use_are_left_alone(
        self, settings: Settings, installed: InstalledDbBench, tmp_path: Path
    ):
        """With them a trial wrote its log there, or was refused for a log that it found."""
        theirs = {name: tmp_path / name for name in ("wal_dir", "db_log_dir")}
        for name, folder in theirs.items():
            folder.mkdir()
            (folder / "000003.log").write_text(f"of the {name} in use")
        lines = "".join(f"  {name}={folder}\n" for name, folder in theirs.items())
        file = tmp_path / "OPTIONS-000009"
        file.write_text(USERS_FILE.replace("[DBOptions]\n", f"[DBOptions]\n{lines}"))
        assembly = assemble(specify(workload="load", baseline=str(file)), settings)
        assert any("wal_dir, db_log_dir" in warning for warning in assembly.warnings)
        assert not any("LOG shows" in warning for warning in assembly.warnings)
        quiet = "[DBOptions]\n  max_log_file_size=9\n"
        file.write_text(file.read_text().replace("[DBOptions]\n", quiet))
        told = assemble(specify(workload="load", baseline=str(file)), settings).warnings
        assert any(each.startswith("max_log_file_size of your OPTIONS") for each in told)
        configuration = assembly.problem.space.default_configuration()
        exported = assembly.plan.export(configuration)
        text = format_options(exported, rocksdb_version=installed.version)
        assert all(f"{name}={folder}" in text for name, folder in theirs.items())
        for place, options in (("t", assembly.plan.options(configuration)), ("e", text)):
            own = tmp_path / place
            own.mkdir()
            written = try_options(installed.program, options, own).options
            assert str(tmp_path / "wal_dir") not in (written.get(DB, "wal_dir") or "")
            assert not written.get(DB, "db_log_dir")
        for name, folder in theirs.items():
            (only,) = folder.iterdir()
            assert only.read_text() == f"of the {name} in use"

    def test_a_value_tuned_back_to_the_librarys_default_is_exported(
        self, specification: Specification, settings: Settings
    ):
        assembly = assemble(specification, settings)
        configuration = assembly.problem.space.default_configuration()
        tuned = {**configuration, "write_buffer_size": 67108864}
        assert assembly.plan.export(tuned).get(CF, "write_buffer_size") == "67108864"
        assert assembly.plan.options(tuned).get(CF, "write_buffer_size") == "1048576"


def test_no_db_bench(settings: Settings):
    nowhere = settings.model_copy(update={"db_bench": "no-such-program"})
    error = refused(nowhere)
    assert error.field == "ROCKTUNE_DB_BENCH"
    assert "rocksdb-tools" in error.problem


def test_a_program_that_is_no_db_bench(settings: Settings):
    assert refused(settings.model_copy(update={"db_bench": "true"})).field == "ROCKTUNE_DB_BENCH"
