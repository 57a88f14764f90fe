#!/bin/sh
# reproduction.sh NAME: goes on with one of the two long jobs of docs/results/reproduction.md; all that was measured is
# in docs/reproduction/NAME.jsonl.gz.
set -eu
name=$1
case $name in
paper) set -- --space paper --workload docs/reproduction/load-100k.toml --cutoff 6 \
    --over compression_type,level0_slowdown_writes_trigger,write_buffer_size,compression_ratio ;;
default) set -- --space default --workload load-quick ;;
*) echo "reproduction.sh: $name is neither paper nor default" >&2 && exit 2 ;;
esac
exec studies/reproduction/kept-job.sh "docs/reproduction/$name.jsonl.gz" "rocktune-reproduction/$name.db" \
    "$@" --strategy genetic --trials 2200 --samples 2000 --start-from none
