import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Engine, MetaData, Table, insert, select

from db.connection.engine import reading, writing
from db.schema.types import Document, SafeText, UtcDateTime, finite, safe_text, storable

anything = Table(
    "anything",
    MetaData(),
    Column("moment", UtcDateTime),
    Column("text", SafeText),
    Column("document", Document),
)


def kept(engine: Engine, **values: object) -> object:
    with writing(engine) as connection:
        anything.create(connection)
        connection.execute(insert(anything).values(**values))
    with reading(engine) as connection:
        (name,) = values
        return connection.execute(select(anything.c[name])).scalar_one()


class TestMoments:
    def test_a_time_of_another_zone_comes_back_in_utc(self, database: Engine):
        delhi = timezone(timedelta(hours=5, minutes=30))
        moment = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=delhi)

        found = kept(database, moment=moment)

        assert found == moment
        assert isinstance(found, datetime)
        assert found.tzinfo is UTC

    def test_a_session_in_another_zone_changes_nothing(self, database: Engine):
        moment = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
        kept(database, moment=moment)
        with reading(database) as connection:
            if database.dialect.name == "postgresql":
                connection.exec_driver_sql("SET TIME ZONE 'Asia/Kolkata'")
            found = connection.execute(select(anything.c.moment)).scalar_one()
        assert (found, found.tzinfo) == (moment, UTC)

    def test_a_time_without_a_zone_is_refused(self, database: Engine):
        with pytest.raises(Exception, match="has no time zone"):
            kept(database, moment=datetime(2026, 1, 1))


class TestText:
    @pytest.mark.parametrize(
        ("given", "found"),
        [
            ("plain", "plain"),
            ("größer \U0001f600", "größer \U0001f600"),
            ("a\0b", "a\\x00b"),
            ("half \udc80 pair", "half \\udc80 pair"),
            ("", ""),
            (None, None),
        ],
    )
    def test_comes_back_readable(self, database: Engine, given: str | None, found: str | None):
        assert kept(database, text=given) == found

    @given(st.text(st.characters(exclude_categories=())))
    def test_safe_text_is_encodable_and_stays_the_same(self, text: str):
        safe = safe_text(text)
        assert "\0" not in safe
        assert safe.encode("utf-8").decode("utf-8") == safe
        assert safe_text(safe) == safe


class TestDocuments:
    def test_numbers_keys_and_types_come_back_to_the_letter(self, database: Engine):
        document = {
            "z": 1e20,
            "a": 1e23,
            "largest": 1.7976931348623157e308,
            "smallest": 5e-324,
            "negative zero": -0.0,
            "huge": 10**400,
            "truth": True,
            "one": 1,
            "one point": 1.0,
            "nothing": None,
            "list": [1, [2.5, {"deep": "ü"}]],
        }
        assert repr(kept(database, document=document)) == repr(document)

    def test_text_in_it_is_made_safe(self, database: Engine):
        given = {"a\0": ["\udc80", "x\0"]}
        assert kept(database, document=given) == {"a\\x00": ["\\udc80", "x\\x00"]}

    def test_none_is_null(self, database: Engine):
        assert kept(database, document=None) is None
        with reading(database) as connection:
            found = connection.exec_driver_sql(
                "SELECT count(*) FROM anything WHERE document IS NULL"
            )
            assert found.scalar_one() == 1

    @pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
    def test_a_number_that_is_not_finite_is_refused_by_its_place(self, number: float):
        with pytest.raises(ValueError, match=r"forest\.waf\[1\] is (nan|inf|-inf)"):
            storable({"forest": {"waf": [1.0, number]}})

    @pytest.mark.parametrize("value", [object(), {1: 2}, {"when": datetime.now(UTC)}, {1, 2}])
    def test_what_json_cannot_hold_is_refused(self, value: object):
        with pytest.raises(TypeError):
            storable(value)


def test_finite_leaves_out_what_is_not():
    measured = {"waf": math.nan, "sa": 1.5, "rate": math.inf, "count": 3, "name": "x"}
    assert finite(measured) == {"sa": 1.5, "count": 3, "name": "x"}
