"""Trials of every kind for properties, and a job that holds them."""

from collections.abc import Iterable
from datetime import UTC, datetime

from hypothesis import strategies as st
from sqlalchemy import Engine, insert

from db.connection.engine import writing
from db.jobs.job_store import JobStore
from db.schema.tables import MAIN_METRICS, trial
from db.trials.trial_rows import proposal
from optimizer.trials.trial import Basis, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState

_awkward = st.sampled_from(
    ["", " ", ",", '"', "\n", "\r\n", "\r", "\t", "=1+1", "+x", "-1", "@a", "'", "'=", "''-1",
     "-.5e3", "\u2028", "null", "true", "\\", '"],[', "a,b", 'say "x"', "\n=2", "ü\U0001f600"]
)  # fmt: skip
texts = st.one_of(_awkward, st.text(st.characters(exclude_categories=()), max_size=12))
names = st.one_of(
    st.sampled_from(["number", "failure", "p99", "waf", "metric.why", "why", "a", "b"]), texts
)
wholes = st.one_of(
    st.integers(), st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, -(10**400)])
)
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e16, 1e22, 1e23, 2.0**63, 2.0**64, -0.0, 5e-324, 1.7976931348623157e308]),
)
values = st.one_of(st.booleans(), wholes, floats, texts)
moments = st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 2))
# Of one kind each, as they are in a real job.
parameters = st.fixed_dictionaries(
    {}, optional={"flag": st.booleans(), "size": st.integers(-(2**63), 2**63 - 1), "x": floats,
                  "half": st.one_of(floats, st.integers(-9, 9)), "codec": texts},
)  # fmt: skip
configurations = st.one_of(parameters, st.dictionaries(names, values, max_size=4))
measured = st.dictionaries(
    st.one_of(st.sampled_from(MAIN_METRICS), names), st.floats(), max_size=4
)
any_trial = st.builds(
    Trial,
    number=st.integers(1, 40),
    phase=st.sampled_from(Phase),
    purpose=st.sampled_from(Purpose),
    seed=st.integers(0, 2**63 - 1),
    configuration=configurations,
    digest=texts,
    point=st.none() | st.dictionaries(names, floats, max_size=4),
    subject=st.none() | st.integers(1, 10**6),
    why=texts,
    basis=st.none() | st.sampled_from(Basis),
    attempt=st.integers(1, 100),
    given=st.booleans(),
    round=st.none() | st.integers(1, 10**6),
    state=st.sampled_from(TrialState),
    metrics=measured,
    counters=measured,
    effective=st.none() | configurations,
    failure=st.none() | texts,
    warnings=st.lists(texts, max_size=2).map(tuple),
    bench_seconds=st.floats(0, 1e9),
    host=st.none() | texts,
    started_at=st.none() | moments,
    finished_at=st.none() | moments,
)
any_trials = st.lists(any_trial, max_size=9, unique_by=lambda each: each.number)


def plain_trial(number: int) -> Trial:
    """A trial of a few parameters and metrics, all made of its number."""
    return Trial(
        number=number,
        phase=Phase.SAMPLE,
        purpose=Purpose.CANDIDATE,
        seed=number,
        configuration={"size": number * 10, "ratio": number / 3, "flag": number % 2 == 0},
        digest=f"digest-{number}",
        why=f"draw {number}",
        state=TrialState.DONE,
        metrics={"p99": number / 7, "waf": number * 1.5},
        effective={"size": number * 10, "ratio": number / 3, "flag": number % 2 == 0},
        bench_seconds=number / 11,
        host="bench-1",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        finished_at=datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
    )


def job_of(engine: Engine, trials: Iterable[Trial]) -> int:
    """A new job with these trials."""
    job_id = JobStore(engine).create_job({}, "digest")
    add_trials(engine, job_id, trials)
    return job_id


def add_trials(engine: Engine, job_id: int, trials: Iterable[Trial]) -> None:
    """More trials for a job."""
    rows = [{**proposal(each), "job_id": job_id, "lease_epoch": 1} for each in trials]
    if rows:
        with writing(engine) as connection:
            connection.execute(insert(trial), rows)
