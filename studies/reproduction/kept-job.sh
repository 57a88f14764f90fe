#!/bin/sh
# kept-job.sh KEPT DB ARGUMENTS: goes on with the job of `rocktune tune ARGUMENTS`, to its end or until it is
# stopped; either way all that was measured is in the archive KEPT, from which a later call, here or on
# another machine, goes on.
set -eu
kept=$1 db=$2
shift 2
rocktune=.venv/bin/rocktune
mkdir -p "${db%/*}" "${kept%/*}"
if [ -f "$kept" ] && [ ! -f "$db" ]; then # whole or not at all: half a database would start anew
    rm -f "$db.new"*
    $rocktune db restore "$kept" --db "$db.new" && mv "$db.new" "$db"
fi
$rocktune tune "$@" --resume --db "$db" --out "${db%.db}" &
job=$! status=0
trap 'kill -TERM "$job"' INT TERM
while wait "$job" || status=$?; kill -0 "$job" 2>/dev/null; do status=0; done
if $rocktune show 2 --db "$db" >/dev/null 2>&1; then
    echo "$kept is of another specification than today's: move it and $db away" >&2 && exit 1
fi
$rocktune db archive 1 "$kept" --db "$db"
# 3: nothing was proven better, which is a result too.
[ "$status" -eq 3 ] || exit "$status"
