"""Exit statuses: scripts rely on the numbers, people on the names."""

import pytest

from cli.options.exits import Exit, spelled
from sampler.common.errors import InputError


def test_each_number_has_one_name():
    assert list(Exit.__members__) == [status.name for status in Exit]
    assert [status.value for status in Exit] == [0, 1, 2, 3, 130]
    assert Exit(3) is Exit.ANSWER_IS_NO


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("limits[1]", "--limit"),
        ("space.parameter[1].low", "--space parameter[1].low"),
        ("space mine.toml", "--space mine.toml"),
        # A batch file of the same name as an option is no option.
        ("space.toml: name", "space.toml: name"),
        ("the baseline", "the baseline"),
    ],
)
def test_a_field_is_spelled_as_it_is_typed(field: str, typed: str):
    names = {"limit": "--limit", "space": "--space", "baseline": "--baseline"}
    assert spelled(InputError(field, "is wrong"), names).field == typed
