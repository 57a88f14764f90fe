"""What sst_dump makes of live tables."""

from pathlib import Path

import pytest

from sampler.profile.reading import read_profile
from tests.support.sampler.real_databases import fill, fingerprints

pytestmark = pytest.mark.db_bench


def test_tables_without_a_codec_tell_how_values_compress(tmp_path: Path):
    database = fill(
        tmp_path / "db", "fillrandom,flush", num=40_000, value_size=400, compression_type="none"
    )
    before = fingerprints(database)
    (family,) = read_profile(database).families
    assert family.compression_ratio == pytest.approx(0.5, rel=0.05)
    assert family.codecs["Snappy"] == pytest.approx(0.53, abs=0.03)
    assert family.codecs["ZSTD"] < family.codecs["LZ4"] < 1
    assert "sst_dump" in family.sources["codecs"].where
    assert fingerprints(database) == before


def test_without_sst_dump_they_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    database = fill(tmp_path / "db", "fillrandom", num=20_000, compression_type="none")
    monkeypatch.setenv("PATH", str(tmp_path))
    profile = read_profile(database)
    (family,) = profile.families
    assert (family.compression_ratio, dict(family.codecs)) == (None, {})
    assert any("sst_dump" in each.how for each in profile.unknown)
