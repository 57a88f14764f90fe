"""The moment of a statement."""

from sqlalchemy import Engine, func, literal, select

from db.connection.engine import moment_of, reading


def test_however_often_it_stands_in_a_statement_it_is_one_moment(database: Engine):
    rows = select(literal(1).label("number")).cte("rows", recursive=True)
    rows = rows.union_all(select(rows.c.number + 1).where(rows.c.number < 20_000))
    times = select(
        func.count(func.distinct(moment_of(database))), func.count(rows.c.number)
    ).select_from(rows)
    with reading(database) as connection:
        assert connection.execute(times).one() == (1, 20_000)
