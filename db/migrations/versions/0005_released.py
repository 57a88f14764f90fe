"""The tables of the last release, where steps begin: a database without tables is made as of now.

Databases of earlier revisions are refused (``db/connection/migrate.py``).

Revision ID: 0005
Revises:
"""

revision: str = "0005"
down_revision: str | None = None
branch_labels: None = None
depends_on: None = None
