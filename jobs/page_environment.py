"""How pages are made of templates: nothing that is missing passes, and every word is escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def page_environment() -> Environment:
    """The templates of ``jobs/templates``, without any filters."""
    return Environment(
        loader=PackageLoader("jobs"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
