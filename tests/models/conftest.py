from tests.support.models.planted import planted  # noqa: F401
