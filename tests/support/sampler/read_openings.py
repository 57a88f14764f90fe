"""Reads the openings of a text at once, for the tests."""

from sampler.rocksdb.opening import Opening, openings_in
from sampler.rocksdb.parts import read_contents


def parse_openings(text: str) -> tuple[Opening, ...]:
    return openings_in(read_contents(text))
