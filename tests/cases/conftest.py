from tests.support.cli.fixtures import desk, here

__all__ = ["desk", "here"]
