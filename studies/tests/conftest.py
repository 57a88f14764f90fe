from tests.conftest import (  # noqa: F401
    installed,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    settings,
)
from tests.optimizer.conftest import unranked  # noqa: F401
from tests.support.db.databases import *  # noqa: F403
from tests.support.db.databases import _server_url, _sqlite_template  # noqa: F401
