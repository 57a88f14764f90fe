"""Writes the lines of a LOG that tell of tables, as RocksDB 7.8 does, for the tests."""

from __future__ import annotations

import json

BEGIN = ("x SST files in db dir, Total Num: 0, files: ", "x Recovered from manifest file:db/M-1")


def event(name: str, **fields: object) -> str:
    return "x EVENT_LOG_v1 " + json.dumps({"time_micros": 1, "event": name, **fields})


def table(number: int, entries: int, job: int, **more: object) -> str:
    told = {"num_entries": entries, "raw_key_size": 24 * entries, "raw_value_size": 100 * entries}
    properties = {**told, "num_deletions": 0, "data_size": 60 * entries, **more}
    return event(
        "table_file_creation", cf_name="default", job=job, file_number=number, file_size=100,
        table_properties=properties,
    )  # fmt: skip


def flush(number: int, entries: int, kept: int, *, commit: bool = True) -> list[str]:
    lines = [
        f"x [default] [JOB {number}] Flushing memtable with next log file: 9",
        event("flush_started", job=number, num_entries=entries, num_deletes=0),
        table(number, kept, number),
    ]
    committed = f"x [default] Level-0 commit table #{number}: memtable #1 done"
    return lines + ([committed] if commit else [])


def compaction(
    job: int, inputs: list[int], made: dict[int, int], *, done: bool = True
) -> list[str]:
    return [
        f"x [default] [JOB {job}] Compacting {len(inputs)}@0 files to L1, score 1",
        event("compaction_started", job=job, files_L0=inputs),
        *(table(number, entries, job) for number, entries in made.items()),
        *([f"x [default] [JOB {job}] Compacted {len(inputs)}@0 files to L1"] if done else []),
        event(
            "compaction_finished", job=job, output_level=1, total_output_size=100 * len(made),
            num_input_records=200, num_output_records=sum(made.values()),
        ),
        *(event("table_file_deletion", file_number=n) for n in (inputs if done else made)),
    ]  # fmt: skip
