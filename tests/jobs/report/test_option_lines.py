"""Which options of two OPTIONS files are shown as changed."""

import pytest

from jobs.report.options_file import OptionLine


@pytest.mark.parametrize(
    ("before", "after", "default", "differs"),
    [
        ("4", "8", "4", True),
        (None, "8", "4", True),
        ("8", None, "4", True),
        (None, "4", "4", False),
        ("4", None, "4", False),
        (None, "4", None, True),
        ("4", None, None, True),
    ],
)
def test_to_name_the_default_is_no_change(
    before: str | None, after: str | None, default: str | None, differs: bool
):
    assert OptionLine("s", "k", before, after, default, None).differs is differs
