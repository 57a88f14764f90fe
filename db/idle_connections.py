"""Connections that a restarted server has dropped are replaced before they are used.

A controller lives for days. To ask the server each time that a connection is taken would be a trip
for every page: one that was in use a moment ago is trusted.
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError

_TRUSTED_SECONDS = 2.0
_SINCE = "rocktune_idle_since"


def replace_dropped_connections(engine: Engine) -> None:
    """Asks the server whether a connection that has been idle still lives."""

    def given_back(_connection: Any, record: Any) -> None:
        record.info[_SINCE] = time.monotonic()

    def taken(connection: Any, record: Any, _proxy: Any) -> None:
        since = record.info.get(_SINCE)
        if since is None or time.monotonic() - since < _TRUSTED_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except Exception as error:
            raise DisconnectionError("the server has dropped the connection") from error

    event.listen(engine, "checkin", given_back)
    event.listen(engine, "checkout", taken)
