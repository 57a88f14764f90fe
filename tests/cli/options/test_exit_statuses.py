"""Exit statuses: scripts rely on the numbers, people on the names."""

from cli.options.exits import Exit


def test_each_number_has_one_name():
    assert list(Exit.__members__) == [status.name for status in Exit]
    assert [status.value for status in Exit] == [0, 1, 2, 3, 130]
    assert Exit(3) is Exit.ANSWER_IS_NO
