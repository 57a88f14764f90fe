"""Writes what docs/reference takes from the code: `python -m studies.reference`."""

from studies.reference.commands import PARTS, written
from studies.reference.parameters import PAGE, parameters_page

for page, name, make in PARTS:
    page.write_text(written(page.read_text(encoding="utf-8"), name, make()), encoding="utf-8")
PAGE.write_text(parameters_page(), encoding="utf-8")
