#!/bin/sh
# Prints where uv is. Where there is none, or an old one, makes .venv/uv to hold it and nothing else.
set -eu
own=.venv/uv/bin/uv
if [ ! -x "$own" ]; then
    if uv pip install --help 2>/dev/null | grep -q -e --require-build-hashes; then
        command -v uv
        exit
    fi
    python=$(scripts/python.sh)
    # Debian keeps ensurepip in a package of its own, and lets no pip into its own Python.
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        scripts/install.sh "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    fi
    echo "making .venv/uv" >&2
    "$python" -m venv .venv/uv >&2
    .venv/uv/bin/python -m pip install --quiet --disable-pip-version-check \
        --require-hashes --requirement requirements/setup.txt >&2
fi
echo "$own"
