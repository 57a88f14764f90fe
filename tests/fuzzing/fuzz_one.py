"""One run of libFuzzer on one target: fuzz_one.py TARGET [libFuzzer's own arguments]."""

import sys

import atheris

with atheris.instrument_imports(include=["sampler", "optimizer", "jobs", "api", "tomllib"]):
    from fuzz_targets import TARGETS

if __name__ == "__main__":
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
