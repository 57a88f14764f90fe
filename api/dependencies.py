"""What routes need, from the application's state."""

from typing import Annotated

from fastapi import Depends, Request

from db.job_store import Store


def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


StoreDep = Annotated[Store, Depends(_store)]
