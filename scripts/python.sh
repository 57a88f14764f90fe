#!/bin/sh
# Prints the name of a Python that is new enough: $PYTHON if it is set, else the first that is found.
set -eu
for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "$python"
        exit
    fi
done
echo "rocktune needs Python 3.11 or later, and ${PYTHON:-python3} is not: name one with PYTHON=..." >&2
exit 1
