from tests.support.cli.fixtures import (  # noqa: F401
    client,
    desk,
    here,
    service,
    small_disk,
    zygote,
)
