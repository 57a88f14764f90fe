"""Loads that come over the network: nothing of them names a program, a file or a place."""

from typing import Any

import pytest

from sampler.common.errors import InputError
from sampler.workload.workload_file import (
    SHIPPED,
    load_workload,
    require_no_place,
    workload_document,
)


def own(**fields: Any) -> dict[str, Any]:
    return {"name": "mine", **fields}


@pytest.mark.parametrize("name", SHIPPED)
def test_of_the_shipped_ones_those_of_db_bench_are_taken(name: str):
    document = workload_document(load_workload(name))
    if {"command", "external"} & document.keys():
        with pytest.raises(InputError, match="not accepted over HTTP"):
            require_no_place(document)
    else:
        require_no_place(document)


WORDS = {"value_size_distribution_type": "normal", "merge_operator": "put",
         "column_family_distribution": "10,30,60", "expire_style": "delete"}  # fmt: skip


def test_words_and_numbers_are_taken_as_flags():
    flags = {**WORDS, "duration": 5, "sync": True, "mix_put_ratio": 0.5, "keys_per_prefix": 10}
    require_no_place(own(flags=flags, prepare={"benchmarks": ["fillrandom"], "flags": flags}))


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (own(command={"argv": ["/bin/sh"]}), "workload.command"),
        (own(external=True), "workload.external"),
        (own(trace="/tmp/trace"), "workload.trace"),
        (own(checkpoint="/var/lib/db"), "workload.checkpoint"),
        *(
            (own(flags={name: value}), f"workload.flags.{name}")
            for name in (
                "flagfile", "report_file", "trace_file", "read_cache_path", "wal_dir", "env_uri",
                "fs_uri", "secondary_cache_uri", "block_cache_trace_path", "io_trace_file",
                "simulate_hybrid_fs_file", "fromenv", "tryfromenv",
            )
            for value in ("x", 1, True)
        ),
        (own(flags={"truth_db": "x"}), "workload.flags.truth_db"),
        (own(flags={"statistics_string": "x"}), "workload.flags.statistics_string"),
        (own(flags={"skew_labels": "/x"}), "workload.flags.skew_labels"),
        (own(flags={"merge_operator": "/x"}), "workload.flags.merge_operator"),
        (own(flags={"merge_operator": "put\n--db=/x"}), "workload.flags.merge_operator"),
        (own(flags={"merge_operator": "put --db=x"}), "workload.flags.merge_operator"),
        (own(prepare={"flags": {"report_file": "x"}}), "workload.prepare.flags.report_file"),
    ],
)  # fmt: skip
def test_what_may_name_a_place_is_refused_by_its_name(document: dict[str, Any], field: str):
    with pytest.raises(
        InputError, match=r"not accepted over HTTP.*ROCKTUNE_WORKLOADS_DIR"
    ) as said:
        require_no_place(document)
    assert said.value.field == field


def test_all_that_is_refused_is_told_at_once():
    with pytest.raises(InputError) as said:
        require_no_place(own(command={}, flags={"report_file": "x"}, help="fine"))
    assert [each.field for each in said.value.errors] == [  # type: ignore[attr-defined]
        "workload.command", "workload.flags.report_file",
    ]  # fmt: skip


@pytest.mark.parametrize("flags", [[], "x", {"a": [1]}, None])
def test_what_is_no_table_is_left_to_whoever_reads_it(flags: Any):
    require_no_place(own(flags=flags, prepare=flags))
