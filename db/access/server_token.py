"""The token of whoever runs the server: kept in a file, and known to the server's database.

Several servers of one user share the file, whatever their databases: each lets its token in. So do
several processes on one database that start at once: one of them makes the file, all use it.
"""

import re
import socket
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from db.access.token_file import (
    keep_token,
    make_private_folder,
    new_token,
    read_token,
    replace_token,
)
from db.access.tokens import admit_token


@dataclass(frozen=True)
class ServerToken:
    """A token that the database knows."""

    text: str
    is_new: bool  # whether it was made just now


def server_token(engine: Engine, path: Path) -> ServerToken:
    """The token of a file, made where there is none, and replaced where it was revoked.

    Args:
        engine: The database of the server.
        path: The file; its folder is made where there is none.

    Raises:
        InputError: The file holds something else, could be read by others, or cannot be written.
    """
    name = f"serve@{re.sub(r'[^A-Za-z0-9.-]', '-', socket.gethostname())[:50]}"
    make_private_folder(path)
    is_new = False
    while True:
        found = read_token(path)
        if found is None:
            is_new = keep_token(path, new_token()) or is_new
        elif admit_token(engine, found, name):
            return ServerToken(found, is_new)
        else:
            replace_token(path, new_token())
            is_new = True
