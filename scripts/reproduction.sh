#!/bin/sh
# reproduction.sh NAME: goes on with one of the two long jobs of docs/reproduction.md, to its end or until it
# is interrupted; either way all that was measured is in docs/reproduction/NAME.jsonl.gz, from which
# a later call, here or on another machine, goes on.
set -eu
name=$1
folder=rocktune-reproduction
kept=docs/reproduction/$name.jsonl.gz
db=$folder/$name.db
case $name in
paper) set -- --space paper --workload docs/reproduction/load-100k.toml --cutoff 6 \
    --over compression_type,level0_slowdown_writes_trigger,write_buffer_size,compression_ratio ;;
default) set -- --space default --workload load-quick ;;
*) echo "reproduction.sh: $name is neither paper nor default" >&2 && exit 2 ;;
esac

mkdir -p "$folder"
[ -f "$db" ] || [ ! -f "$kept" ] || .venv/bin/rocktune db restore "$kept" --db "$db"
trap : INT TERM # the job ends by itself, and is archived then
status=0
.venv/bin/rocktune tune "$@" --trials 2200 --samples 2000 --resume \
    --db "$db" --out "$folder/$name" || status=$?
.venv/bin/rocktune db archive 1 "$kept" --db "$db"
# 3: nothing was proven better, which is a result too.
[ "$status" -eq 3 ] || exit "$status"
