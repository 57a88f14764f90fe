"""Other builds of RocksDB, as far as one can have them with one: the real db_bench in a wrapper.

What a wrapper changes it changes for real: the program that measures is always RocksDB's own.
"""

import shutil
from pathlib import Path

REAL = shutil.which("db_bench")
HEAD = """\
#!/bin/sh
for each in "$@"; do
    case "$each" in
        --options_file=*) file=${each#--options_file=} ;;
        --db=*) database=${each#--db=} ;;
    esac
done
"""
# Where the file does not name the option, it has another value than RocksDB's own default.
OTHER_DEFAULT = """\
if [ -n "$file" ] && ! grep -q '^ *%(key)s=' "$file"; then
    sed 's/^\\[%(section)s\\]$/&\\n  %(key)s=%(value)s/' "$file" > "$file.other"
    set -- "$@" "--options_file=$file.other"
fi
"""
# As if the option had been removed: a file that names it is refused, in RocksDB's words.
REFUSES = """\
if [ -n "$file" ] && grep -q '^ *%(key)s=' "$file"; then
    echo "Unable to load options file $file --- Invalid argument:" \\
        "Could not find option: : %(key)s" >&2
    exit 1
fi
"""
# What RocksDB has written is edited: here an option goes, there another comes.
WRITES = """\
%(program)s "$@"
status=$?
[ -n "$database" ] && sed -i '%(sed)s' "$database"/OPTIONS-*
exit $status
"""


def build(
    folder: Path, name: str, body: str = "", *, last: str = 'exec %(program)s "$@"\n'
) -> Path:
    """A db_bench of one's own: the real one, but for what the body does before it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(HEAD + body + last % {"program": REAL})
    path.chmod(0o755)
    return path


def with_default(folder: Path, name: str, key: str, value: str, *, section: str = "CF") -> Path:
    """A build with another default of one option."""
    title = {"CF": 'CFOptions "default"', "DB": "DBOptions"}[section]
    return build(folder, name, OTHER_DEFAULT % {"section": title, "key": key, "value": value})


def without_option(folder: Path, name: str, key: str) -> Path:
    """A build that no longer has an option: it neither takes nor writes it."""
    sed = f"/^ *{key}=/d"
    last = WRITES % {"program": REAL, "sed": sed}
    return build(folder, name, REFUSES % {"key": key}, last=last.replace("%", "%%"))


def of_version(folder: Path, name: str, version: str, body: str = "") -> Path:
    """A build that says that it is of another version."""
    last = """\
out=$(mktemp)
%(program)s "$@" 2> "$out"
status=$?
sed 's/version 7[.]8[.]3/version VERSION/' "$out" >&2
rm -f "$out"
exit $status
""".replace("VERSION", version)
    return build(folder, name, body, last=last)
