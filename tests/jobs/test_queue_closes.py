"""The queue is closed just when a run has ended."""

import logging
import threading
from typing import Any

import pytest
from dbos import DBOS
from dbos._sys_db import SystemDatabase
from sqlalchemy import Engine

from jobs.queue import durable_queue
from jobs.queue.durable_queue import DurableQueue, migrate_queue


def test_the_end_of_the_last_run_is_written_down_before(
    database: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    begun, go_on = threading.Event(), threading.Event()
    real = DBOS.destroy
    order: list[str] = []

    def slow(self: SystemDatabase, *arguments: Any, **more: Any) -> bool:
        begun.set()
        assert go_on.wait(20)
        order.append("written down")
        return written(self, *arguments, **more)

    def destroy(**more: Any) -> None:
        order.append("closed")
        go_on.set()
        real(**more)

    written = SystemDatabase.update_workflow_outcome
    monkeypatch.setattr(SystemDatabase, "update_workflow_outcome", slow)
    monkeypatch.setattr(DBOS, "destroy", destroy)
    monkeypatch.setattr(durable_queue, "_OUTCOME_SECONDS", 20.0)
    migrate_queue(database)
    queue = DurableQueue(database, lambda *_: None)
    queue.open()
    logging.getLogger("dbos").addHandler(caplog.handler)
    try:
        queue.put(1, 1, 0)
        assert begun.wait(20)
        closing = threading.Thread(target=queue.close)
        closing.start()
        closing.join(0.2)  # whoever does not wait is done or far by now
        go_on.set()
        closing.join(20)
        assert not closing.is_alive()
    finally:
        go_on.set()
        logging.getLogger("dbos").removeHandler(caplog.handler)
    assert [record.getMessage() for record in caplog.records if record.name == "dbos"] == []
    assert order == ["written down", "closed"]
