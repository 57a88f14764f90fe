"""One run of libFuzzer on one target: fuzz_one.py TARGET [libFuzzer's own arguments]."""

import sys

import atheris

# Not its hook for regular expressions: it fails on patterns of bytes, which the driver of
# PostgreSQL has. The words of a dictionary stand in for it.
with atheris.instrument_imports(include=["sampler", "optimizer", "jobs", "api", "tomllib"]):
    from tests.support.fuzzing.fuzz_targets import TARGETS

if __name__ == "__main__":
    target = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        target(data)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
