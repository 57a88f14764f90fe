"""Lines as RocksDB writes them into its LOG."""

import json

FLUSH_BEGINS = "2026/11/21-06:00:02.500000 77 [DEBUG] [default] Manual flush start.\n"
FLUSH_ENDS = "2026/11/21-06:00:03.250000 77 [DEBUG] [default] Manual flush finished, status: OK\n"
OPENED = "2026/11/21-06:00:00.000001 77 DB pointer 0x55\n"
AT_6 = 1_795_240_800.0  # 2026-11-21 06:00:00 UTC


def event(name: str, moment: float, job: int = 3) -> str:
    told = json.dumps({"time_micros": round(moment * 1e6), "event": name, "job": job})
    return f"2026/11/21-06:00:01.000000 77 EVENT_LOG_v1 {told}\n"


def dump(written: int, percent: float = 1.5) -> str:
    return (
        "2026/11/21-06:00:04.000000 77 [WARN] [db/db_impl/db_impl.cc:1] STATISTICS:\n"
        f" rocksdb.bytes.written COUNT : {written}\n"
        f"rocksdb.flush.write.bytes COUNT : {written * 2}\n"
        "rocksdb.db.get.micros P50 : 0.000000 P95 : 0.0 COUNT : 0 SUM : 0\n"
        f"Cumulative stall: 00:00:0.543 H:M:S, {percent} percent\n"
    )
