"""The profile of a trace: of one written by hand, of a real one, and of what is damaged."""

import os
import random
import shutil
from pathlib import Path

import pytest

from sampler.common.errors import InputError
from sampler.profile import trace as reading
from sampler.profile.compressibility import ratio_of_values
from sampler.profile.profile import DatabaseProfile, FamilyProfile, profile_document
from sampler.profile.trace import read_trace_profile
from tests.support.sampler.traces import FAMILIES, MIXED, get, header, multiget, seek, whole, write


def profiled(folder: Path, *records: bytes) -> DatabaseProfile:
    path = folder / "made.trace"
    path.write_bytes(whole(*records))
    return read_trace_profile(path)


def only(profile: DatabaseProfile) -> FamilyProfile:
    (family,) = profile.families
    return family


def test_a_trace_of_db_bench_has_the_mix_that_it_printed():
    profile = read_trace_profile(MIXED)
    family = only(profile)
    # randomwithverify: 150 gets, 120 puts and 30 deletes, each of three keys of 16 + 1 bytes.
    assert {name: count for name, count in family.operations.items() if count} == {
        "get": 450, "put": 360, "delete": 90,
    }  # fmt: skip
    assert (family.name, family.key_size, family.value_size.mean) == ("default", 17, 40)
    assert (profile.version, profile.batch_size) == ("7.8", 3)
    assert profile.seconds
    assert profile.ingest_rate == pytest.approx((360 * 57 + 90 * 17) / profile.seconds)
    shares = profile_document(profile)["families"][0]["operations"]
    assert shares == {"put": 0.4, "delete": 0.1, "merge": 0, "get": 0.5, "seek": 0, "multiget": 0}


def test_each_figure_says_where_it_comes_from_and_what_the_trace_does_not_tell():
    family = only(profile := read_trace_profile(MIXED))
    assert family.sources["operations"].where == "trace: 600 records"
    assert "the keys from before the trace" in family.sources["overwrite_share"].where
    assert {"scan_length", "hit_rate, latency"} <= {each.what for each in profile.unknown}
    assert family.scan_length is None
    assert family.hit_rate is None


def test_an_overwrite_is_a_put_of_a_key_that_was_written_and_is_there(tmp_path: Path):
    put = [("put", 0, key, b"v") for key in (b"a", b"a", b"b", b"a")]
    family = only(
        profiled(
            tmp_path,
            write(1, *put),
            write(2, ("delete", 0, b"a", b"")),
            write(3, put[0], ("merge", 0, b"c", b"v"), ("put", 0, b"c", b"v")),
        )
    )
    assert family.overwrite_share == pytest.approx(3 / 6)


def test_families_are_counted_apart_and_all_kinds_of_operations(tmp_path: Path):
    profile = profiled(
        tmp_path,
        write(1, ("put", 0, b"key", b"value"), ("put", 3, b"k", b"v" * 9)),
        write(2, ("merge", 3, b"k", b"m"), ("delete_range", 3, b"a", b"b")),
        get(3, 3, b"k"),
        seek(4, 0, b"ke"),
        multiget(5, (0, b"key"), (3, b"k"), (3, b"j")),
    )
    first, other = profile.families
    assert (first.name, other.name) == ("default", "id 3")
    assert {k: v for k, v in first.operations.items() if v} == {"put": 1, "seek": 1, "multiget": 1}
    assert {k: v for k, v in other.operations.items() if v} == {
        "put": 1, "merge": 1, "delete": 1, "get": 1, "multiget": 2,
    }  # fmt: skip
    assert first.key_size == 3  # not of the scan's prefix
    assert other.value_size.mean == 5
    assert "1 range deletes" in other.sources["operations"].where
    assert profile.batch_size == 2


def test_sizes_of_values_have_their_percentiles(tmp_path: Path):
    sizes = [10] * 60 + [1000] * 38 + [100_000, 200_000]
    records = [write(n, ("put", 0, b"k%d" % n, b"v" * size)) for n, size in enumerate(sizes, 1)]
    size = only(profiled(tmp_path, *records)).value_size
    assert (size.mean, size.p50) == (sum(sizes) / 100, 10)
    assert size.p99 == pytest.approx(100_000, rel=1e-3)


def test_half_of_the_operations_on_few_keys_is_skew(tmp_path: Path):
    keys = [b"hot"] * 50 + [b"%d" % n for n in range(50)]
    reads = [get(n, 0, key) for n, key in enumerate(keys, 1)]
    writes = [write(100 + n, ("put", 0, b"%d" % n, b"")) for n in range(10)]
    skew = only(profiled(tmp_path, *reads, *writes)).skew
    assert skew.reads == pytest.approx(1 / 51)
    assert skew.writes == pytest.approx(0.5)


def test_rates_and_the_busiest_second(tmp_path: Path):
    second = 10**6
    records = [write(n * second // 10, ("put", 0, b"k", b"v" * 99)) for n in range(1, 21)]
    burst = [write(2 * second + n, ("put", 0, b"k", b"v" * 99)) for n in range(1, 31)]
    profile = profiled(tmp_path, *records, *burst)
    assert profile.seconds == pytest.approx(1.90003)
    assert profile.ingest_rate == pytest.approx(5000 / 1.90003)
    assert profile.ingest_peak == 3100


@pytest.fixture(name="few_keys")
def _few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_KEYS", 3_000)
    monkeypatch.setattr(reading, "_STEP_BYTES", 20_000)
    monkeypatch.setattr("sampler.profile.trace._HOT_KEYS", 300)


def zipf(tmp_path: Path, steepness: int = 4) -> Path:
    """50,000 puts of 30,000 keys, of which the first few take most."""
    draw = random.Random(5)
    path = tmp_path / "zipf.trace"
    keys = [int(30_000 * draw.random() ** steepness) for _ in range(50_000)]
    records = (write(n, ("put", 0, b"%05d" % key, b"")) for n, key in enumerate(keys, 1))
    path.write_bytes(whole(*records))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("steepness", [4, 8])
def test_what_does_not_fit_in_memory_is_a_sample_that_tells_nearly_the_same(
    tmp_path: Path, request: pytest.FixtureRequest, steepness: int
):
    exact = only(read_trace_profile(zipf(tmp_path, steepness)))
    request.getfixturevalue("few_keys")
    sampled = only(read_trace_profile(tmp_path / "zipf.trace"))
    assert "one key in " in sampled.sources["skew"].where
    assert sampled.sources["skew"].sure == "estimated"
    assert exact.skew.writes
    assert sampled.skew.writes == pytest.approx(exact.skew.writes, rel=0.1)
    assert sampled.overwrite_share == pytest.approx(exact.overwrite_share, abs=0.03)
    assert sampled.operations == exact.operations


@pytest.mark.usefixtures("few_keys")
def test_no_more_keys_are_held_than_are_allowed(tmp_path: Path):
    whole_trace = reading._Whole()
    path = zipf(tmp_path)
    with path.open("rb") as file:
        records = reading.Records(file, "trace")
        for n, (time, kind, payload) in enumerate(records):
            whole_trace.add(records, time, kind, payload)
            if not n % 500:
                whole_trace.bound()
            assert len(whole_trace.families[0].counts) <= 3_500


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("KEYS", 3_000), ("SAMPLED", 30_000), ("SIZES", 6_000)):
        monkeypatch.setattr(reading, f"MOST_{name}", most)


@pytest.mark.slow
@pytest.mark.usefixtures("bounds")
@pytest.mark.parametrize("families", [1, 60, 900])
def test_memory_is_bounded_however_many_families_there_are(families: int):
    """Keys used most are kept, but not all keys of many small families."""
    draw = random.Random(7)
    held = reading._Whole()
    for number in range(20_000):
        tally = held.families[number % families]
        tally.add("put", b"%d" % number, draw.randbytes(draw.randrange(20, 9_000)))
        if not number % 500:
            held.bound()
    held.bound()
    tallies = held.families.values()
    assert sum(len(each.counts) for each in tallies) <= 3_000
    assert sum(each.sampled for each in tallies) <= 30_000
    assert sum(map(len, (each.sample[0] for each in tallies))) <= 30_000
    assert sum(len(each.sizes) for each in tallies) <= 6_000
    sizes = [size for each in tallies for size in each.sizes.elements()]
    assert len(sizes) == 20_000
    assert sum(sizes) / len(sizes) == pytest.approx(4_500, rel=0.35)


def test_a_trace_of_more_families_than_a_database_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reading, "MOST_FAMILIES", 50)
    assert len(profiled(tmp_path, *(get(1, n, b"a") for n in range(50))).families) == 50
    with pytest.raises(InputError, match="trace: has operations on more than 50 column families"):
        profiled(tmp_path, *(get(1, n, b"a") for n in range(51)))


def test_progress_is_told_in_percents_of_the_bytes(tmp_path: Path):
    lines: list[str] = []
    read_trace_profile(zipf(tmp_path), told=lines.append)
    assert 90 <= len(lines) <= 100
    assert lines[0].startswith("1% of zipf.trace, ")
    assert lines[-1] == "100% of zipf.trace, 50,000 records" or lines[-1].startswith("99%")


@pytest.mark.parametrize(
    ("rest", "why"),
    [(b"", ": it is truncated after"), (os.urandom(10_000) + MIXED.read_bytes()[30_000:], "")],
    ids=["cut", "garbage"],
)
def test_a_damaged_trace_is_read_as_far_as_it_goes(tmp_path: Path, rest: bytes, why: str):
    path = tmp_path / "cut.trace"
    path.write_bytes(MIXED.read_bytes()[:20_000] + rest)
    profile = read_trace_profile(path)
    assert 100 < sum(only(profile).operations.values()) < 500
    assert f"incomplete{why}" in only(profile).sources["operations"].where
    assert profile.unknown[0].how == "record it again"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"\0" * 200, "is not a RocksDB trace"),
        (header(), "contains no operation: it ends after 103 bytes, without an end record"),
        (whole(), "contains no operation; record it again"),
        (header("9.9"), "has trace version 9.9"),
    ],
)
def test_what_tells_nothing_is_refused(tmp_path: Path, data: bytes, problem: str):
    path = tmp_path / "bad.trace"
    path.write_bytes(data)
    with pytest.raises(InputError) as refused:
        read_trace_profile(path)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_refused(tmp_path: Path):
    path = tmp_path / "closed.trace"
    path.write_bytes(whole())
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read_trace_profile(path)


LOG = (
    "2026/11/27-00:16:11.43 11051 [db/version_set.cc:5590] Column family [default] (ID 0), log "
    "number is 0\n"
    "2026/11/27-00:16:11.44 11051 [db/db_impl/db_impl.cc:3102] Created column family [a b] "
    "(ID 2)\n"
)


def names(path: Path) -> list[str]:
    return [family.name for family in read_trace_profile(path).families]


@pytest.mark.slow
def test_families_have_the_names_of_the_log_or_the_options_file_beside_it(tmp_path: Path):
    path = Path(shutil.copy(FAMILIES, tmp_path / "t"))
    assert names(path) == ["default", "id 1", "id 2"]
    (tmp_path / "LOG").write_text(LOG)
    assert names(path) == ["default", "id 1", "a b"]
    sections = "".join(f'[CFOptions "{name}"]\n' for name in ("default", "one", "two"))
    version = "[Version]\nrocksdb_version=7.8.3\noptions_file_version=1.1\n[DBOptions]\n"
    (tmp_path / "OPTIONS-000007").write_text(version + sections)
    assert names(path) == ["default", "one", "a b"]


def test_compressibility_is_that_of_repeats_alone():
    draw = random.Random(3)
    noise = [draw.randbytes(500) for _ in range(50)]
    halves = [each[:250] * 2 for each in noise]
    assert ratio_of_values(noise) == pytest.approx(1.0, abs=0.02)
    assert ratio_of_values(halves) == pytest.approx(0.5, abs=0.05)
    assert ratio_of_values([b"", b""]) is None


def test_only_the_logs_of_a_database_are_opened_beside_a_trace(tmp_path: Path):
    os.mkfifo(tmp_path / "LOG.pipe")  # to open it would wait for ever
    told = "Created column family [{}] (ID 1)\n"
    for name, family in (("LOG.old.9", "former"), ("LOG", "later"), ("LOGS.txt", "none")):
        (tmp_path / name).write_text(told.format(family))
    path = tmp_path / "my.trace"
    path.write_bytes(whole(get(1, 1, b"a")))
    assert names(path) == ["later"]


@pytest.mark.parametrize("kind", ["a pipe", "a link", "a link to a pipe", "nested"])
def test_of_options_files_beside_a_trace_only_plain_ones_are_read(tmp_path: Path, kind: str):
    path = tmp_path / "my.trace"
    path.write_bytes(whole(get(1, 1, b"a")))
    text = '[DBOptions]\n[CFOptions "default"]\n[CFOptions "{}"]\n'
    (tmp_path / "OPTIONS-000005").write_text(text.format("mine"))
    odd, elsewhere = tmp_path / "OPTIONS-000009", tmp_path / "elsewhere"
    if kind == "a pipe":
        os.mkfifo(odd)  # to open it would wait for ever
    elif kind == "nested":
        odd.write_text(text.format("theirs") + "  a=" + "{b=" * 900 + "}" * 900)
    else:
        odd.symlink_to(elsewhere)
        if kind == "a link":
            elsewhere.write_text(text.format("theirs"))
        else:
            os.mkfifo(elsewhere)
    assert names(path) == ["mine"]
