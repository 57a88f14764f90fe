from tests.conftest import (  # noqa: F401
    pytest_collection_finish,
    pytest_collection_modifyitems,
)
from tests.support.db.databases import *  # noqa: F403
from tests.support.db.databases import _server_url, _sqlite_template  # noqa: F401
