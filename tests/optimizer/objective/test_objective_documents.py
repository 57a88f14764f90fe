import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.objective.objective import Limit, Objective, Term
from optimizer.objective.objective_file import (
    SHIPPED,
    load_objective,
    objective_document,
    objective_from_document,
)
from sampler.common.errors import InputError

DATA = Path(__file__).parent / "data" / "objectives"
GOOD = sorted((DATA / "good").glob("*.toml"))
BAD = sorted((DATA / "bad").glob("*.toml"))
assert len(GOOD) >= 3 and len(BAD) >= 20


def name_of(path: Path) -> str:
    return path.stem


class TestShippedObjectives:
    def test_the_papers_has_four_terms_of_equal_weight(self):
        paper = load_objective("paper")
        assert [(t.metric, t.direction, t.weight) for t in paper.terms] == [
            ("waf", "min", 1.0),
            ("sa", "min", 1.0),
            ("time", "min", 1.0),
            ("rate", "max", 1.0),
        ]
        assert not paper.limits and not paper.pareto

    def test_are_named_as_they_are_asked_for_and_explained(self):
        assert set(SHIPPED) == {"paper", "waf", "sa", "rate", "pareto", "reading", "stalls"}
        for name in SHIPPED:
            found = load_objective(name)
            assert (found.name, bool(found.help), found.pareto) == (name, True, name == "pareto")
        for name, direction in (("waf", "min"), ("sa", "min"), ("rate", "max")):
            assert load_objective(name).terms == (Term(name, direction),)


class TestFiles:
    @pytest.mark.parametrize("path", GOOD, ids=name_of)
    def test_good_ones_are_read_and_written_back(self, path: Path):
        objective = load_objective(str(path))
        assert objective.name == path.stem
        assert objective_from_document(objective_document(objective)) == objective

    def test_weights_and_limits_are_read(self):
        limited = load_objective(str(DATA / "good" / "limited.toml"))
        assert limited.terms == (Term("rate", "max", 0.5),)
        assert limited.limits == (
            Limit("write_p99", at_most=250.0),
            Limit("memory", at_most=536870912.0, at_least=1048576.0),
        )
        assert objective_document(limited)["limit"][0] == {"metric": "write_p99", "at_most": 250.0}

    def test_bounds_relative_to_the_baseline_are_read(self):
        assert load_objective(str(DATA / "good" / "relative.toml")).limits == (
            Limit("rate", at_least_baseline=0.95),
            Limit("write_p99", at_most=250.0, at_most_baseline=1.1),
        )

    @pytest.mark.parametrize("path", BAD, ids=name_of)
    def test_bad_ones_are_refused_with_the_field_named(self, path: Path):
        field = path.read_text().splitlines()[0].removeprefix("# field: ")
        with pytest.raises(InputError) as refused:
            load_objective(str(path))
        named = refused.value.field
        assert named == field or (field == "objective" and named.startswith(field))
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize("given", ["papper", "missing.toml"])
    def test_what_is_not_there_is_refused(self, given: str):
        with pytest.raises(InputError, match="objective"):
            load_objective(given)


NAMES = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=20)
WEIGHTS = st.floats(min_value=1e-6, max_value=1e6)
LIMITS = st.builds(
    Limit,
    NAMES,
    st.floats(min_value=0, max_value=1e12),
    st.floats(min_value=-1e12, max_value=0) | st.just(float("-inf")),
    st.none() | st.floats(min_value=1, max_value=1e6),
    st.none() | st.floats(min_value=1e-6, max_value=1),
)
OBJECTIVES = st.builds(
    Objective,
    NAMES,
    st.lists(
        st.builds(Term, NAMES, st.sampled_from(["min", "max"]), WEIGHTS),
        min_size=1,
        max_size=5,
        unique_by=lambda term: term.metric,
    ).map(tuple),
    st.lists(LIMITS, max_size=3).map(tuple),
    st.booleans(),
    st.text(max_size=20),
)


class TestDocument:
    @given(OBJECTIVES)
    def test_reads_back_as_the_same_objective(self, objective: Objective):
        assert objective_from_document(objective_document(objective)) == objective

    def test_of_a_shipped_one_says_what_its_file_says(self):
        written = objective_document(load_objective("pareto"))
        text = Path(load_objective.__globals__["__file__"]).parents[1] / "objectives/pareto.toml"
        read = tomllib.loads(text.read_text())
        assert {**read, "metric": None} == {**written, "metric": None}
        assert [m["name"] for m in read["metric"]] == [m["name"] for m in written["metric"]]
