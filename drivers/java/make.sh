#!/bin/sh
# Makes the Java driver: fetches the rocksdbjni of db_bench's own version with Maven, compiles.
# Needs a JDK of 17 or later, and Maven. ROCKSDBJNI=FILE.jar: that jar instead of Maven's.
set -eu
[ -z "${ROCKSDBJNI:-}" ] || ROCKSDBJNI=$(realpath -- "$ROCKSDBJNI")
cd -- "$(dirname -- "$0")"
db_bench=${ROCKTUNE_DB_BENCH:-db_bench}
rm -rf build
mkdir -p build/classes build/native
trap '[ $? -eq 0 ] || rm -rf build' EXIT
if [ -n "${ROCKSDBJNI:-}" ]; then
    cp -- "$ROCKSDBJNI" build/rocksdbjni.jar
else
    version=${ROCKSDB_VERSION:-$("$db_bench" --version | sed -n 's/.*version \([0-9.]*\).*/\1/p')}
    [ -n "$version" ] || { echo "$db_bench does not tell its version" >&2; exit 1; }
    echo "fetching rocksdbjni $version"
    mvn -q -B dependency:copy -Dartifact="org.rocksdb:rocksdbjni:$version" \
        -DoutputDirectory=build -Dmdep.stripVersion=true
fi
case $(uname -m) in
    x86_64) platform=linux64 ;;
    *) platform=linux-$(uname -m) ;;
esac
# Out of the jar once: else every run would write it into the temporary folder first.
(cd build/native && jar xf ../rocksdbjni.jar "librocksdbjni-$platform.so")
javac --release 17 -Xlint:all -Werror -cp build/rocksdbjni.jar -d build/classes src/rocktune/*.java
echo "made drivers/java/rocksjava-bench"
