"""How pages are made of templates: nothing that is missing passes, and every word is escaped."""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def page_environment(*packages: str) -> Environment:
    """The templates of ``jobs/templates``, after those of other packages; without any filters."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "jobs")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
