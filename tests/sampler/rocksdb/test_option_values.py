import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.rocksdb.option_values import read_values, scaled, write_values
from sampler.rocksdb.options_file import CF, DB, TABLE, OptionsFile
from sampler.rocksdb.parameters import Parameter, Value, catalogue
from sampler.space.space_file import SHIPPED, load_space
from tests.support.sampler.real_runs import drawn

OPTIONS = [parameter for parameter in catalogue().values() if parameter.is_option]
DEFAULTS = {name: known.default for name, known in catalogue().items()}


def values_of(parameter: Parameter) -> st.SearchStrategy[Value]:
    """Any value of a parameter, special ones included; sizes on the step that scaling keeps."""
    if not parameter.is_numeric:
        return st.sampled_from(parameter.values)
    assert parameter.low is not None and parameter.high is not None
    if parameter.kind == "float":
        numbers = st.floats(parameter.low, parameter.high).map(lambda x: float(f"{x:.4g}"))
    else:
        step = 64 if parameter.scaled else 1
        unit = 2**20 if parameter.multiple_of else 1
        low, high = int(parameter.low) * unit, int(parameter.high) * unit
        numbers = st.integers(-(-low // step), high // step).map(lambda n: n * step)
    special = [st.sampled_from(parameter.special)] if parameter.special else []
    return st.one_of(numbers, *special)


@pytest.mark.parametrize("scale", [1, 64])
@pytest.mark.parametrize("parameter", OPTIONS, ids=lambda parameter: parameter.name)
def test_every_value_of_an_option_survives_being_written_and_read(
    parameter: Parameter, scale: int
):
    context = {**DEFAULTS, "num_levels": 8}

    @given(values_of(parameter))
    def survives(value: Value) -> None:
        values = {**context, parameter.name: value}
        file = write_values(OptionsFile(), values, [parameter], scale=scale)
        read = read_values(file, [parameter])
        assert read == {parameter.name: scaled(parameter, value, scale)}
        assert type(read[parameter.name]) is type(value)

    survives()


@pytest.mark.parametrize("scale", [1, 64])
@pytest.mark.parametrize("name", SHIPPED)
def test_every_drawn_configuration_survives_being_written_and_read(name: str, scale: int):
    space = load_space(name)
    for configuration in drawn(space, 100):
        asked = [space.known[n] for n in configuration if space.known[n].is_option]
        file = write_values(OptionsFile(), space.complete(configuration), asked, scale=scale)
        expected = {p.name: scaled(p, configuration[p.name], scale) for p in asked}
        assert read_values(file, asked) == pytest.approx(expected)


def text_of(name: str, value: Value, **others: Value) -> str | None:
    known = catalogue()[name]
    values = {**DEFAULTS, **others, name: value}
    file = write_values(OptionsFile(), values, [known], scale=1)
    title = {"DBOptions": DB, "CFOptions": CF, "Table": TABLE}[known.section]
    return file.get(title, known.key)


NONE = "kNoCompression"


@pytest.mark.parametrize(
    ("name", "value", "others", "written"),
    [
        ("bloom_bits", 10, {}, "bloomfilter:10:false"),
        ("bloom_bits", 0, {}, "nullptr"),
        ("compression_type", "zstd", {}, "kZSTD"),
        ("bottommost_compression", "same", {}, "kDisableCompressionOption"),
        # A list of codecs, one for each level.
        ("min_level_to_compress", 2, {"num_levels": 4, "compression_type": "lz4"},
         f"{NONE}:{NONE}:kLZ4Compression:kLZ4Compression"),
        ("min_level_to_compress", 3, {"num_levels": 3}, f"{NONE}:{NONE}:{NONE}"),
    ],
)  # fmt: skip
def test_values_have_the_text_that_rocksdb_reads(name, value, others, written: str):
    assert text_of(name, value, **others) == written


def test_all_levels_compressed_leaves_the_list_out_also_of_the_user_s_own_file():
    known = catalogue()["min_level_to_compress"]
    before = OptionsFile({CF: {known.key: "kNoCompression:kZSTD"}})
    after = write_values(before, DEFAULTS, [known], scale=1)
    assert after.get(CF, known.key) is None


def test_what_no_options_file_can_carry_is_passed_over():
    outside = [parameter for parameter in catalogue().values() if not parameter.is_option]
    assert {p.name for p in outside} == {"cache_size", "threads", "compression_ratio"}
    assert write_values(OptionsFile(), DEFAULTS, outside, scale=1) == OptionsFile()


@pytest.mark.parametrize(
    ("name", "value", "measured"),
    [
        ("write_buffer_size", 64 * 2**20, 2**20), ("write_buffer_size", 32, 1),
        ("block_size", 4096, 4096), ("max_compaction_bytes", 0, 0),
        ("max_write_buffer_number", 4, 4), ("cache_size", 64 * 2**20, 2**20),
    ],
)  # fmt: skip
def test_sizes_are_divided_and_everything_else_is_not(name: str, value: int, measured: int):
    assert scaled(catalogue()[name], value, 64) == measured


def read_one(name: str, text: str, title: str = CF) -> Value | None:
    known = catalogue()[name]
    file = OptionsFile().with_values(title, {known.key: text})
    return read_values(file, [known]).get(name)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8388608", 8388608), ("8M", 8388608), ("8MB", 8388608), ("8k", 8192), ("1G", 2**30),
        # RocksDB 7.8.3 takes the leading digits of each of these.
        ("8388608 ;", 8388608), ("12345;", 12345), ("8 M", 8), ("1e6", 1), ("0.5M", 0),
    ],
)  # fmt: skip
def test_sizes_are_read_as_rocksdb_reads_them(text: str, size: int):
    assert read_one("write_buffer_size", text) == size


def test_numbers_that_no_float_can_hold_are_exact_and_other_text_is_left_out():
    largest = 2**64 - 1
    assert read_one("hard_pending_compaction_bytes_limit", str(largest)) == largest
    for text in ("", "much", "M", "e9", "nan", "--5", "9" * 5000):
        assert read_one("write_buffer_size", text) is None, text


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("nullptr", 0), ("bloomfilter:10:false", 10), ("rocksdb.BloomFilter:12:false", 12),
        ("bloomfilter:9.5:false", 9.5), ("ribbonfilter:10:1", 10), ("{id=bloomfilter:9}", 9),
        ("rocksdb.BuiltinBloomFilter", 0), ("bloomfilter", None),
    ],
)  # fmt: skip
def test_filter_policies_are_read_as_bits(text: str, bits: Value | None):
    assert read_one("bloom_bits", text, TABLE) == bits


def test_a_choice_outside_of_the_catalogue_keeps_rocksdb_s_name():
    assert read_one("compression_type", "kSomethingNew") == "kSomethingNew"
    assert read_one("compaction_style", "kCompactionStyleFIFO") == "kCompactionStyleFIFO"
    assert read_one("compression_type", "snappy") is None  # RocksDB refuses it


LISTED = "kNoCompression:kSnappyCompression:kZSTD"


def moved(**changes: Value) -> str | None:
    """The list of codecs of a file with three, after a move."""
    file = OptionsFile({CF: {"compression_per_level": LISTED, "num_levels": "3"}})
    own = read_values(file, OPTIONS)
    assert (own["min_level_to_compress"], own["compression_type"]) == (1, "zstd")
    values = {**DEFAULTS, **own, **changes}
    asked = [catalogue()[name] for name in (*changes, "min_level_to_compress")]
    return write_values(file, values, asked, scale=1).get(CF, "compression_per_level")


def test_a_list_of_codecs_keeps_those_that_are_not_moved():
    none, snappy, zstd = LISTED.split(":")
    assert moved(num_levels=5) == LISTED  # RocksDB gives levels 3 and 4 the last
    assert moved(min_level_to_compress=2, num_levels=4) == ":".join([none, none, zstd, zstd])
    assert moved(min_level_to_compress=-1) == ":".join([snappy, snappy, zstd])
    lz4 = "kLZ4Compression"
    assert moved(compression_type="lz4") == ":".join([none, lz4, lz4])
    assert moved(compression_type="lz4", min_level_to_compress=-1) is None


def test_a_ribbon_filter_stays_one():
    file = OptionsFile({TABLE: {"filter_policy": "ribbonfilter:10:3"}})
    after = write_values(
        file, {**DEFAULTS, "bloom_bits": 14}, [catalogue()["bloom_bits"]], scale=1
    )
    assert after.get(TABLE, "filter_policy") == "ribbonfilter:14:3"


@given(st.sampled_from(OPTIONS), st.text())
def test_no_text_breaks_the_reader(parameter: Parameter, text: str):
    title = {"DBOptions": DB, "CFOptions": CF, "Table": TABLE}[parameter.section]
    file = OptionsFile().with_values(title, {parameter.key: text})
    for value in read_values(file, [parameter]).values():
        assert isinstance(value, bool | int | float | str) and value == value
