#!/bin/sh
# setup.sh REQUIREMENTS: makes or completes .venv with these very files, by hash, and rocktune itself.
set -eu
uv=$(scripts/uv.sh)
export UV_PYTHON_DOWNLOADS=never
if ! .venv/bin/python -c '' 2>/dev/null; then
    "$uv" venv --quiet --allow-existing --python "$(scripts/python.sh)" .venv
fi
echo "installing $1 into .venv" >&2
"$uv" pip install --quiet --python .venv/bin/python --require-hashes --requirement "$1"
# What builds rocktune is locked too.
"$uv" pip install --quiet --python .venv/bin/python --no-deps --editable . \
    --require-build-hashes --build-constraints requirements/setup.txt
