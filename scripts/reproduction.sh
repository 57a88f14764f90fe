#!/bin/sh
# reproduction.sh NAME: goes on with one of the two long jobs of docs/reproduction.md, to its end or until it
# is stopped; either way all that was measured is in docs/reproduction/NAME.jsonl.gz, from which a
# later call, here or on another machine, goes on.
set -eu
name=$1
kept=docs/reproduction/$name.jsonl.gz
db=rocktune-reproduction/$name.db
case $name in
paper) set -- --space paper --workload docs/reproduction/load-100k.toml --cutoff 6 \
    --over compression_type,level0_slowdown_writes_trigger,write_buffer_size,compression_ratio ;;
default) set -- --space default --workload load-quick ;;
*) echo "reproduction.sh: $name is neither paper nor default" >&2 && exit 2 ;;
esac
rocktune=.venv/bin/rocktune
mkdir -p "${db%/*}"
if [ -f "$kept" ] && [ ! -f "$db" ]; then # whole or not at all: half a database would start anew
    rm -f "$db.new"*
    $rocktune db restore "$kept" --db "$db.new" && mv "$db.new" "$db"
fi
$rocktune tune "$@" --trials 2200 --samples 2000 --resume --db "$db" --out "${db%.db}" &
job=$! status=0
trap 'kill -TERM "$job"' INT TERM
while wait "$job" || status=$?; kill -0 "$job" 2>/dev/null; do status=0; done
if $rocktune show 2 --db "$db" >/dev/null 2>&1; then
    echo "$kept is of another specification than today's: move it and $db away" >&2 && exit 1
fi
$rocktune db archive 1 "$kept" --db "$db"
# 3: nothing was proven better, which is a result too.
[ "$status" -eq 3 ] || exit "$status"
