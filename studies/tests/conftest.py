from tests.conftest import (  # noqa: F401
    installed,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    settings,
)
from tests.optimizer.conftest import unranked  # noqa: F401
