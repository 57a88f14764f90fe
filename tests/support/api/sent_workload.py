"""A workload as somebody sends it, with all that may be sent with it."""

from typing import Any

from tests.support.api.callers import OPTIONS

WORKLOAD: dict[str, Any] = {
    "name": "my-db", "help": "like ours", "num": 100_000, "key_size": 20, "value_size": 400,
    "benchmarks": ["fillrandom", "overwrite"],
}  # fmt: skip
PROFILE: dict[str, Any] = {
    "families": [
        {
            "name": "default",
            "key_size": 20,
            "value_size": {"mean": 400.5, "p50": 380, "p99": None},
            "operations": {"put": 0.75, "get": 0.25, "seek": None},
            "overwrite_share": 0.5,
            "entries": 1_234_567,
            "codec": "Snappy",
            "levels": [{"level": 0, "files": 2, "bytes": 2**26}],
            "sources": {"key_size": {"where": "LOG: 41 flushes", "sure": "counted"}},
        },
        {"name": "<b>meta</b>"},
    ],
    "rocksdb_version": "7.8.3",
    "stall_percent": 1.5,
    "unknown": [{"what": "the mix of reads", "how to learn it": "open it with statistics"}],
    "workload": "/home/me/my-db.toml",
}  # fmt: skip
BASELINE = OPTIONS.replace('[CFOptions "default"]', '[CFOptions "default"]\n  ttl=86400')
SENT = {"workload": WORKLOAD, "profile": PROFILE, "baseline_options": BASELINE}
