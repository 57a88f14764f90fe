from tests.support.cli.fixtures import client, desk, here, service, zygote  # noqa: F401
