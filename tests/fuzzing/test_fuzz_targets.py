"""The small version of `make prove-fuzz`: seeds, what was kept and found, and some changes."""

import gzip
import json
import random

import pytest

from jobs.archive import SCHEMA
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError
from tests.support.fuzzing import fuzz_seeds
from tests.support.fuzzing.fuzz_seeds import keep, kept, requests, seeds
from tests.support.fuzzing.fuzz_service import routes
from tests.support.fuzzing.fuzz_targets import LONGEST, TARGETS

CHANGED = 60
SOME = 60  # requests: each takes milliseconds
SERVED = ("body", "request")
QUICK = sorted(TARGETS.keys() - set(SERVED))
# Each stopped a reader once, with another exception than it promises.
OPTIONS = b'[DBOptions]\n[CFOptions "default"]\n'
FOUND = {
    "space": [b"a=" + b"[" * 5000, b"a" + b".a" * 5000 + b"=1", b"a=1" + b"0" * 5000],
    "workload": [b"a=" + b"[" * 5000],
    "objective": [b"a=" + b"{b=" * 3000, b"a" + b".a" * 32_000 + b"=1"],
    # Each in a call of its own, by the first byte: limit, power, size, warm start, weights.
    "words": [bytes([which]) + b"9" * 5000 for which in range(5)],
    "batch": [b"a=" + b"[" * 5000],
    "options": [
        OPTIONS + b"  a=" + b"{b=" * 900 + b"x" * 63_000 + b"}" * 900,
        OPTIONS + b"  a=" + b"{b=" * 5000 + b"}" * 5000,
    ],
    "archive": [
        b"\x01" + b"[" * 100_000,
        b'\x01{"rocktune_archive":%d,"specification":' % SCHEMA + b"[" * 100_000,
    ],
}


def changed(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """An input with a part taken out, doubled, changed or replaced by one of another."""
    first, last = sorted(rng.choices(range(len(data) + 1), k=2))
    other = rng.choice(others)
    start = rng.randrange(len(other) + 1)
    middle = rng.choice(
        [
            b"",
            data[first:last] * 2,
            bytes([rng.randrange(256)]),
            other[start : start + rng.randrange(40)],
            rng.choice([b"\x00", b"\xff\xfe", b"1e999", b"-1", b"9" * 5000, b"{", b'"', b"nan"]),
            rng.choice([b"{a=", b"a.", b"[", b"}", b"a=1;"]) * rng.choice([2, 20, 3000]),
        ]
    )
    return data[:first] + middle + data[last:]


@pytest.mark.slow
@pytest.mark.parametrize("target", QUICK)
def test_seeds_and_what_was_kept_are_read_or_refused(target: str):
    inputs = seeds(target)
    assert inputs and all(len(each) <= LONGEST for each in inputs)
    taken = [TARGETS[target](each) for each in inputs]
    assert any(taken), "none leads beyond the first refusal"


@pytest.mark.slow
@pytest.mark.parametrize("target", SERVED)
def test_what_was_kept_of_requests_is_answered(target: str):
    every = 1 + len(seeds(target)) // SOME
    taken = [TARGETS[target](each) for each in seeds(target)[::every]]
    assert any(taken)


@pytest.mark.slow
def test_a_request_reaches_every_route_and_most_take_what_is_shown():
    taken = dict.fromkeys(routes(), False)
    # What deletes a job comes last: another request may have ended it by then.
    last = sorted(enumerate(routes()), key=lambda each: each[1][0] == "DELETE")
    for number, route in last:
        for each in requests(number, route):
            taken[route] |= TARGETS["request"](each)
    refused = sorted(route for route, was in taken.items() if not was)
    assert len(refused) < len(taken) / 2, refused


@pytest.mark.parametrize("target", [*QUICK, *SERVED])
def test_changed_seeds_are_read_or_refused(target: str):
    rng, others = random.Random(7), seeds(target)
    for _ in range(40 if target in SERVED else CHANGED):
        data = rng.choice(others)
        for _ in range(rng.randrange(1, 4)):
            data = changed(data, others, rng)
        try:
            TARGETS[target](data)
        except Exception as error:
            error.add_note(f"{target} was given {data[:300]!r}")
            raise


@pytest.mark.parametrize(
    ("target", "number"), [(name, n) for name, found in FOUND.items() for n in range(len(found))]
)
def test_what_was_found_stays_mended(target: str, number: int):
    TARGETS[target](FOUND[target][number])


def test_a_document_that_cannot_be_shown_is_refused_by_what_it_is():
    with pytest.raises(InputError, match="--space: is nested more than 16 levels deep"):
        parse_toml("a" + ".a" * 17 + "=1", field="--space")
    assert parse_toml("a" + ".a" * 15 + "=1", field="--space")


def test_a_target_that_breaks_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "tests.support.fuzzing.fuzz_targets.parse_options", lambda _: json.loads("[")
    )
    with pytest.raises(json.JSONDecodeError):
        TARGETS["options"](b"")


def test_a_corpus_is_kept_as_it_is(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fuzz_seeds, "KEPT", tmp_path)
    keep("log", [b"b", b"", b"aa", b"b"])
    assert kept("log") == [b"", b"b", b"aa"]
    first = (tmp_path / "log.tar.gz").read_bytes()
    keep("log", [b"aa", b"b", b""])
    assert (tmp_path / "log.tar.gz").read_bytes() == first
    assert gzip.decompress(first)
