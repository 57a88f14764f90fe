"""RocksDB's own library, the one under db_bench, by its C interface (rocksdb/c.h)."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, POINTER, byref, c_char_p, c_int, c_ubyte, c_void_p
from pathlib import Path

import pytest

from sampler.rocksdb.options_file import OptionsFile, parse_options

_TEXTS = POINTER(c_char_p)
_CALLS = {
    "options_create": (c_void_p, []),
    "options_set_create_if_missing": (None, [c_void_p, c_ubyte]),
    "get_options_from_string": (None, [c_void_p, c_char_p, c_void_p, _TEXTS]),
    "open": (c_void_p, [c_void_p, c_char_p, _TEXTS]),
    "set_options": (None, [c_void_p, c_int, _TEXTS, _TEXTS, _TEXTS]),
    "close": (None, [c_void_p]),
}


class RocksDbLibrary:
    """Opens databases with option strings and changes them while they run."""

    def __init__(self, program: Path) -> None:
        """The library of a ``db_bench``; skips the test where it has it inside."""
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        found = re.search(r"librocksdb\S* => (\S+)", linked.stdout)
        if shutil.which("ldd") is None or found is None:
            pytest.skip("this db_bench brings RocksDB inside")
        library = CDLL(found[1])
        for name, (result, arguments) in _CALLS.items():
            call = getattr(library, f"rocksdb_{name}")
            call.restype, call.argtypes = result, arguments
        self._library = library

    @contextmanager
    def database(self, folder: Path, *strings: str) -> Iterator[int]:
        """A new database that is opened with option strings, one after the other."""
        options, error = self._library.rocksdb_options_create(), c_char_p()
        self._library.rocksdb_options_set_create_if_missing(options, 1)
        for text in strings:
            self._library.rocksdb_get_options_from_string(
                options, text.encode(), options, byref(error)
            )
            assert error.value is None, (error.value, text)
        database = self._library.rocksdb_open(options, str(folder).encode(), byref(error))
        assert error.value is None, error.value
        yield database
        self._library.rocksdb_close(database)

    def set_options(self, database: int, **values: str) -> str | None:
        """``SetOptions`` of the default family; what RocksDB says against it, or None."""
        error, of = c_char_p(), c_char_p * len(values)
        keys, texts = of(*map(str.encode, values)), of(*map(str.encode, values.values()))
        self._library.rocksdb_set_options(database, len(values), keys, texts, byref(error))
        return None if error.value is None else error.value.decode()


def written_options(folder: Path) -> OptionsFile:
    """The newest OPTIONS file of a database."""
    return parse_options(max(folder.glob("OPTIONS-*")).read_text(encoding="utf-8"))
