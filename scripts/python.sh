#!/bin/sh
# Prints the name of a Python that is new enough: $PYTHON if it is set, else the first that is found.
# Where there is no python3 at all, Debian's is installed.
set -eu
find_python() {
    for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}
find_python && exit
if [ -z "${PYTHON:-}" ] && ! command -v python3 >/dev/null; then
    scripts/install.sh python3
    find_python && exit
fi
echo "rocktune needs Python 3.11 or later, and ${PYTHON:-python3} is not: name one with PYTHON=..." >&2
exit 1
