#!/bin/sh
# Locks again in a folder of its own, keeping the versions, and fails if anything comes out different.
set -eu
root=$PWD
uv=$(scripts/uv.sh)
case $uv in /*) ;; *) uv=$root/$uv ;; esac
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R pyproject.toml requirements "$copy"
cd "$copy"
if ! UV=$uv "$root/scripts/lock.sh" 2>"$copy/log"; then
    echo "pyproject.toml cannot be locked: $(tr -s '\n ' ' ' <"$copy/log" | cut -c -300)" >&2
    exit 1
fi
for file in requirements/*.txt; do
    if ! cmp -s "$file" "$root/$file"; then
        echo "$file is not what pyproject.toml asks for: run 'make lock' and commit it" >&2
        exit 1
    fi
done
