from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from db.leases import read_hosts, see_host


def test_hosts_are_listed_by_name_with_what_they_are(database: Engine):
    see_host(database, "bench-2", {"cpu": "Xeon", "cores": 2, "warnings": []}, 7)
    see_host(database, "bench-1", {}, None)
    first, second = read_hosts(database)
    assert (first.name, first.job_id, first.environment) == ("bench-1", None, {})
    assert (second.name, second.job_id) == ("bench-2", 7)
    assert second.environment == {"cpu": "Xeon", "cores": 2, "warnings": []}
    assert abs(second.seen_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_one_that_shows_up_again_is_one_host(database: Engine):
    see_host(database, "bench", {"cores": 2}, 7)
    (before,) = read_hosts(database)
    see_host(database, "bench", {"cores": 4}, None)
    (after,) = read_hosts(database)
    assert (after.job_id, after.environment) == (None, {"cores": 4})
    assert after.seen_at > before.seen_at


def test_what_is_not_finite_is_refused(database: Engine):
    with pytest.raises(ValueError, match=r"environment\.load is inf"):
        see_host(database, "bench", {"load": float("inf")}, None)
    assert read_hosts(database) == []
