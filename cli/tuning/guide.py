"""`rocktune guide`: options from the size of a database, by KIOXIA's tuning guide."""

import sys
from pathlib import Path
from typing import Annotated

from rich.table import Table
from typer import Option

from cli.options.exits import complain
from cli.render.screen import bare_table, json_alone, print_json, screen
from jobs.results.output_folder import require_folder
from sampler.common.atomic_write import write_output
from sampler.common.byte_size import format_decimal
from sampler.kioxia_guide.document import (
    COUNTERPARTS,
    PRESET,
    guide_document,
    rocksdb_values,
    settings,
)
from sampler.kioxia_guide.guide import Guide, compute_guide, read_planned, whole

EXAMPLES = """
Examples:
  rocktune guide --keys 8e9 --key-size 20 --value-size 800 --cpu-threads 48 --memory 128GB
  rocktune guide --keys 1e9 --key-size 16 --value-size 400 --cpu-threads 16 --memory 64GiB --out guided
  rocktune guide --keys 8e9 --key-size 20 --value-size 800 --cpu-threads 48 --memory 128GB --json
  rocktune tune --space blob --start-from guide       starts a search from these options
"""  # noqa: E501
_SIZES = ("target_file_size_base", "max_bytes_for_level_base")


def guide_command(
    keys: Annotated[str, Option(help="Number of key-value pairs, such as 8e9.")],
    key_size: Annotated[str, Option(help="Key size in bytes, such as 20.")],
    value_size: Annotated[str, Option(help="Value size in bytes, such as 800 or 4KiB.")],
    cpu_threads: Annotated[str, Option(help="Number of hardware threads, such as 48.")],
    memory: Annotated[str, Option(help="Memory of the machine, such as 128GB or 64GiB.")],
    open_files: Annotated[
        str, Option(help="Limit of open files: half for keys, half for values.")
    ] = "80000",
    out: Annotated[
        Path | None,
        Option(help="Folder for OPTIONS.trocksdb.ini and OPTIONS.rocksdb.ini."),
    ] = None,
    as_json: Annotated[bool, json_alone("one JSON document")] = False,
) -> None:
    """Computes options from the size of a database, by KIOXIA's tuning guide.

    The options are for TRocksDB, which keeps keys and values in separate files, and
    translated for RocksDB with integrated BlobDB. Nothing is measured. How good they
    are: docs/explanation/kioxia-guide.md.
    """
    planned = read_planned(
        keys=keys,
        key_size=key_size,
        value_size=value_size,
        cpu_threads=cpu_threads,
        memory=memory,
        open_files=open_files,
    )
    if out is not None:
        require_folder(out)
    found = compute_guide(planned)
    document = guide_document(found)
    # Before anything is printed: whoever reads it may leave after the first lines.
    written = [] if out is None else [out / name for name in document["options"]]
    for path in written:
        write_output(path, document["options"][path.name].encode())
    if as_json:
        print_json(document)
    else:
        console = screen()
        console.print(_settings(found))
        for table in (_levels(found), _translated(found)):
            console.print()
            console.print(table)
    for each in document["warnings"]:
        complain(f"warning: {each['setting']}: {each['text']}")
    for path in written:
        (sys.stderr if as_json else sys.stdout).write(f"Written to {path}\n")


def _settings(found: Guide) -> Table:
    planned = found.planned
    per_file = f"{found.keys_per_file:,}"
    buffers = f"{found.max_write_buffer_number} write buffers: {format_decimal(found.memtables)}"
    why = {
        "max_background_jobs": "CPU threads",
        "num_threads": "CPU threads; --threads of db_bench",
        "max_write_buffer_number": "a quarter of the CPU threads, plus 1",
        "level0_file_num_compaction_trigger": "fixed",
        "level0_slowdown_writes_trigger": "three quarters of the CPU threads",
        "level0_stop_writes_trigger": "CPU threads",
        "target_file_size_base": f"{per_file} keys per file, {planned.key_bytes} B each with the "
        f"pointer; {found.key_files:,} files",
        "max_bytes_for_level_base": "8 files",
        "max_bytes_for_level_multiplier": "fixed",
        "vlogfile_max_size": f"{per_file} values per file, {planned.value_size} B each; "
        f"{found.value_files:,} files",
        "write_buffer_size": f"a file of keys plus a file of values; {buffers}",
        "cache_size": "80% of the memory left by the write buffers; set in the application",
    }
    table = bare_table(("setting",), ("value", ""), ("why",))
    for name, value in settings(found).items():
        in_bytes = name.endswith("_size") or name in _SIZES
        table.add_row(name, str(value), format_decimal(value) if in_bytes else "", why[name])
    return table


def _levels(found: Guide) -> Table:
    table = bare_table(("level",), ("files", "bytes", ""))
    for each in found.levels:
        size = format_decimal(each.size)
        table.add_row(str(each.number), str(each.files), str(each.size), size)
    files, size_of_all = whole(found.levels)
    table.add_row("total", str(files), str(size_of_all), format_decimal(size_of_all))
    return table


def _translated(found: Guide) -> Table:
    values = rocksdb_values(found)
    there = {**PRESET, "vlogfile_max_size": str(found.vlogfile_max_size)}
    table = bare_table(("TRocksDB", "", "RocksDB with BlobDB", ""))
    for old, new in COUNTERPARTS.items():
        table.add_row(old, there[old], new, str(values[new]))
    return table
