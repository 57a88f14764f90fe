#!/bin/sh
# install.sh PACKAGE [stopped]: installs a Debian package, or says in one line what to do. With
# `stopped` the service of its name neither runs nor starts with the machine.
set -u
package=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fail() {
    echo "rocktune needs the package $package ($1): run 'apt-get install $package' as root" >&2
    exit 1
}
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; elif [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
}
apt() {
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1
}

command -v apt-get >/dev/null || fail "there is no apt-get here"
as_root true 2>/dev/null || fail "neither root nor sudo"
echo "installing the package $package" >&2
# The lists of packages are read anew only where they turn out to be missing or old.
apt install --yes --no-install-recommends "$package" \
    || { apt update && apt install --yes --no-install-recommends "$package"; } \
    || fail "$(grep '^E:' "$log" | head -n 1)"
if [ "${2:-}" = stopped ]; then # a container may have no service to stop
    as_root service "$package" stop >"$log" 2>&1 || true
    as_root update-rc.d "$package" disable >"$log" 2>&1 || true
fi
