#!/bin/sh
# lock.sh [OPTION...]: writes requirements/ from pyproject.toml: every version, with its hashes, for
# all systems and every Python that it allows. Versions already written stay unless told --upgrade.
set -eu
uv=${UV:-$(scripts/uv.sh)}
options=$*
export UV_PYTHON_DOWNLOADS=never

compile() {
    output=$1
    shift
    # shellcheck disable=SC2086
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
        $options --output-file "$output" "$@" >/dev/null
}

mkdir -p requirements
compile requirements/runtime.txt pyproject.toml
compile requirements/dev.txt pyproject.toml --group dev --constraints requirements/runtime.txt
compile requirements/compare.txt pyproject.toml --extra compare --constraints requirements/dev.txt
compile requirements/tuner.txt pyproject.toml --extra tuner --constraints requirements/dev.txt
compile requirements/fuzz.txt --group fuzz
compile requirements/audit.txt --group audit --constraints requirements/dev.txt
compile requirements/setup.txt --group setup
