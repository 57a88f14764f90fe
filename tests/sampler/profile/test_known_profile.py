"""A profile that is sent: what is known of it is taken as it is, and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.common.errors import InputError
from sampler.profile.profile import (
    OPERATIONS,
    DatabaseProfile,
    FamilyProfile,
    Level,
    Skew,
    Source,
    Unknown,
    ValueSize,
    known_profile,
    profile_document,
)

figures = st.none() | st.floats(0, 1e15)
counts = st.integers(0, 2**40)
names = st.text(min_size=1, max_size=40)
sources = st.dictionaries(
    names,
    st.builds(Source, names, st.sampled_from(["counted", "estimated", "assumed"])),
    max_size=3,
)
families = st.builds(
    FamilyProfile,
    name=names, key_size=figures, value_size=st.builds(ValueSize, figures, figures, figures),
    compression_ratio=figures, codec=st.none() | names, entries=st.none() | counts,
    operations=st.dictionaries(st.sampled_from(OPERATIONS), st.floats(0, 1e9)),
    overwrite_share=figures, waf=figures, hit_rate=figures, scan_length=figures,
    levels=st.lists(st.builds(Level, counts, counts, counts, figures), max_size=3).map(tuple),
    skew=st.builds(Skew, figures, figures), sources=sources,
)  # fmt: skip
profiles = st.builds(
    DatabaseProfile,
    families=st.lists(families, min_size=1, max_size=3).map(tuple), version=st.none() | names,
    seconds=figures, batch_size=figures, ingest_rate=figures, ingest_peak=figures,
    stall_percent=figures, sync_share=figures, wal=st.none() | st.booleans(),
    latency=st.dictionaries(names, st.floats(0, 1e9), max_size=3), sources=sources,
    unknown=st.lists(st.builds(Unknown, names, names), max_size=3).map(tuple),
)  # fmt: skip


@given(profiles)
def test_what_the_terminal_prints_is_taken_to_the_letter(profile: DatabaseProfile):
    document = profile_document(profile)
    known = known_profile(document)
    assert (known.pop("column_family"), known.pop("not_expressed")) == (None, [])
    assert known == document
    assert known_profile(known) == {"column_family": None, "not_expressed": [], **known}


def test_what_is_not_known_is_left_out_at_every_depth():
    level = {"level": 1, "files": 2, "bytes": 3}
    sent: dict[str, Any] = {
        "families": [{"name": "a", "path": "/etc", "levels": [{**level, "file": "/x"}]}],
        "options": {"path": "/etc"},
        "workload": "/home/me/my-db.toml",
        "column_family": "a",
    }
    known = known_profile(sent)
    assert "workload" not in known and "path" not in known["families"][0]
    assert known["column_family"] == "a"
    assert known["families"][0]["levels"] == [{**level, "write_amplification": None}]


def family(**fields: Any) -> dict[str, Any]:
    return {"families": [{"name": "a", **fields}]}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (
            {},
            "profile.families: is missing; write the families of the object",
        ),
        ({"families": []}, "profile.families: is empty; send the families of"),
        ({"families": [{}]}, r"profile.families\[1\].name: is missing"),
        ({"families": {}}, "profile.families: {} is not a list"),
        ({"families": ["a"]}, r"profile.families\[1\]: 'a' is not an object"),
        (family(key_size="16"), r"families\[1\].key_size: '16' is not a number of at least 0"),
        (family(key_size=True), "is not a number"),
        (family(waf=-1), "-1 is not a number"),
        (family(waf=float("inf")), "inf is not a number"),
        (family(value_size=[1]), r"value_size: \[1\] is not an object"),
        (family(operations={"put": "all"}), "operations.put: 'all' is not a number"),
        (family(sources={"waf": {"where": 3}}), "sources.waf.where: 3 is not a string"),
        (family(sources={"waf": {"where": "a"}}), "sources.waf.sure: is missing"),
        (family(levels=[{"level": 1}]), r"levels\[1\].files: is missing"),
        (family(codec="x" * 1001), "codec: .* has more than 1000 characters"),
        ({**family(), "wal": "yes"}, "profile.wal: 'yes' is not true or false"),
    ],
)
def test_another_shape_is_refused_by_its_place(sent: dict[str, Any], said: str):
    with pytest.raises(InputError, match=said):
        known_profile(sent)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(
            st.sampled_from(["families", "name", "levels", "sources", "operations"]), each
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["families", "sources", "latency", "unknown"]), json_values)
)
def test_any_json_is_taken_or_refused(document: dict[str, Any]):
    try:
        assert known_profile(document)["families"]
    except InputError as error:
        assert error.field.startswith("profile")
